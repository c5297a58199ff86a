import { basename } from "node:path";
import { parseModelName } from "../models/model-names.js";
import { playgroundUrlOf } from "../models/open-model.js";
import { flagName, splitShellWords } from "../platform/command-line.js";
import type { Environment } from "../platform/environment.js";
import { UserError } from "../platform/errors.js";
import { parseServerUrl } from "../platform/http.js";
import { trimEndOf } from "../platform/strings.js";
import type { AgentTarget } from "../traces/run-settings.js";
import type { RunOptions, RunRequest } from "./run-options.js";

const NOT_FOR: Readonly<Record<AgentTarget["kind"], readonly string[]>> = {
  api: "protocol cache unsafeHostPython baseUrl wireApi header body maxTokens reasoningTokens reasoningEffort temperature record maxTaskCost maxCost maxRunTokens price tpm".split(
    " ",
  ),
  human:
    "protocol cache unsafeHostPython modelId modelProvider baseUrl wireApi header body maxTokens maxTurns reasoningTokens reasoningEffort temperature record maxTaskCost maxCost maxRunTokens price requestTimeout rpm tpm concurrency suite".split(
      " ",
    ),
  command:
    "protocol cache unsafeHostPython modelId modelProvider baseUrl wireApi header body maxTokens reasoningTokens reasoningEffort temperature record maxTaskCost requestTimeout rpm tpm".split(
      " ",
    ),
  endpoint:
    "protocol cache unsafeHostPython modelId modelProvider baseUrl wireApi maxTokens reasoningTokens reasoningEffort temperature record maxTaskCost requestTimeout".split(
      " ",
    ),
};

export const HUMAN = "human";

export const FLAG_OF = {
  human: "-a human",
  api: "--api-url",
  command: "--agent-command",
  endpoint: "--agent-url",
} as const;

/** Returns the external agent of a new run, or undefined for art-e's own agent loop. */
export function agentTargetOf(options: RunOptions, env: Environment): AgentTarget | undefined {
  const { apiUrl, agentCommand, agentUrl, workspace } = options;
  const given = Object.entries({
    "--api-url": apiUrl,
    "--agent-command": agentCommand,
    "--agent-url": agentUrl,
  }).filter(([, value]) => value !== undefined);
  if (given.length > 1) {
    throw contradiction(`${given.map(([flag]) => flag).join(" and ")} name different agents`, "Leave one of them out.");
  }
  if (options.agent === HUMAN && given.length === 0) return { kind: "human" };
  const url = apiUrl ?? (given.length === 0 ? playgroundUrlOf(env) : undefined);
  if (url === undefined && (workspace !== undefined || options.tellTask)) {
    throw contradiction(
      `${workspace === undefined ? "--tell-task" : "--workspace"} is for --api-url, which is not given`,
      "Add --api-url URL (or API_URL), or leave it out: the agent then runs in this program.",
    );
  }
  if (url !== undefined) {
    const flag = apiUrl === undefined ? "API_URL" : "--api-url";
    const inWorkspace = workspace ?? (env.WORKSPACE_ID || null);
    return { kind: "api", url: checkUrl(flag, url), workspace: inWorkspace, tellTask: options.tellTask };
  }
  if (agentUrl !== undefined) return { kind: "endpoint", url: checkUrl("--agent-url", agentUrl) };
  if (agentCommand === undefined) return undefined;
  const argv = splitShellWords(agentCommand, "--agent-command");
  if (argv.length > 0) return { kind: "command", argv };
  throw new UserError("flag_invalid", "--agent-command: expected a program.", "Name one: 'python my_agent.py'.");
}

/** Returns a stored run's external agent with the options given now. The environment does not change a stored run. */
export function requestedAgentTarget(stored: AgentTarget, options: RunOptions): AgentTarget {
  const { apiUrl, agentCommand, agentUrl, workspace, tellTask } = options;
  if (apiUrl === undefined && agentCommand === undefined && agentUrl === undefined && stored.kind === "api") {
    return { ...stored, workspace: workspace ?? stored.workspace, tellTask: tellTask || stored.tellTask };
  }
  const env = stored.kind === "api" && stored.workspace !== null ? { WORKSPACE_ID: stored.workspace } : {};
  const asked = agentTargetOf(options, env) ?? stored;
  return asked.kind === "api" && stored.kind === "api" ? { ...asked, tellTask: tellTask || stored.tellTask } : asked;
}

export function refuseFlagsTargetIgnores({ kind }: AgentTarget, { given, cutoff }: RunRequest): void {
  const ignored = NOT_FOR[kind].find((name) => given.has(name));
  if (ignored !== undefined) {
    const why = kind === "human" ? "is not for a person" : `does not reach an agent of ${FLAG_OF[kind]}`;
    throw contradiction(`${flagName(ignored)} ${why}`, "Leave it out.");
  }
  if (given.has("cutoff") && cutoff === "off" && kind !== "command" && kind !== "human") {
    throw contradiction(`--cutoff off has no say in what an agent of ${FLAG_OF[kind]} may see`, "Leave it out.");
  }
}

/** Returns the model name in results for an external agent, which chooses its own model. */
export function targetModelName(where: AgentTarget, agentId: string, options: RunOptions): string {
  if (where.kind === "human") return "human/terminal";
  if (where.kind === "command") return `command/${basename(where.argv[0] ?? "")}`;
  if (where.kind === "endpoint") return `endpoint/${agentId}`;
  const { modelId, modelProvider } = options;
  return modelId === undefined ? `playground/${agentId}` : parseModelName(modelId, modelProvider ?? null).id;
}

/** Whether the agent reads this database's mail, because it runs in this process or as a subprocess with our tools. */
export function usesMailHere(target: AgentTarget | undefined): boolean {
  return target === undefined || target.kind === "command" || target.kind === "human";
}

function checkUrl(flag: string, text: string): string {
  const url = parseServerUrl(text);
  if (url === null) {
    throw new UserError(
      "flag_invalid",
      `${flag}: expected the address of a server.`,
      "Give it as http(s)://host[:port][/path], without user name, password or query.",
    );
  }
  return trimEndOf(url.href, "/");
}

function contradiction(what: string, hint: string): UserError {
  return new UserError("flags_contradict", `${what}.`, hint);
}
