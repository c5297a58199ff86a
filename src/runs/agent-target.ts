import { basename } from "node:path";
import type { AgentBackend } from "../agents/agent.js";
import { AgentProcesses } from "../agents/agent-process.js";
import { parseModelName } from "../models/names.js";
import { playgroundTokenOf, playgroundUrlOf } from "../models/open-model.js";
import { flagName, splitShellWords } from "../platform/command-line.js";
import type { AppSettings } from "../platform/context.js";
import type { Environment } from "../platform/environment.js";
import { UserError } from "../platform/errors.js";
import { parseServerUrl } from "../platform/http.js";
import { programVersion } from "../platform/installation.js";
import { stripControls, trimEndOf } from "../platform/strings.js";
import type { Db } from "../store/open-store.js";
import { offeredTools } from "../tools/load-tools.js";
import type { ToolResources } from "../tools/tool-handler.js";
import type { AgentTarget, RunSettings } from "../traces/run-settings.js";
import type { CreatedModel } from "./model-of-run.js";
import type { RunOptions, RunRequest } from "./options.js";

export interface OpenAgentTarget {
  readonly backend: AgentBackend;
  close(): Promise<void>;
}

export async function openAgentTarget(
  db: Db,
  where: AgentTarget,
  run: RunSettings,
  {
    model,
    options,
    settings,
    resources,
  }: { model: CreatedModel; options: RunOptions; settings: AppSettings; resources: ToolResources },
): Promise<OpenAgentTarget> {
  if (where.kind === "command") return openCommand(db, where.argv, model, settings, resources);
  const { withAgentRetry } = await import("../agents/endpoint-agent.js");
  const once = await (where.kind === "api"
    ? overApi(where, run, options, settings.env)
    : overEndpoint(where, run, model, settings.env));
  return { backend: withAgentRetry(run.model, once, model.throttle), close: async () => {} };
}

type Where<K extends AgentTarget["kind"]> = Extract<AgentTarget, { kind: K }>;

async function overApi(
  { url, workspace, tellTask }: Where<"api">,
  run: RunSettings,
  options: RunOptions,
  env: Environment,
): Promise<AgentBackend> {
  const { playgroundAgent } = await import("../agents/playground-agent.js");
  const [provider = ""] = run.model.split("/");
  return playgroundAgent({
    apiUrl: url,
    workspace,
    agentId: run.agentId,
    model: provider === "playground" ? null : { provider, id: run.model },
    tellTask,
    token: playgroundTokenOf(url, env),
    idleMs: options.requestTimeout * 1_000,
  });
}

async function overEndpoint(
  { url }: Where<"endpoint">,
  run: RunSettings,
  { priceOf }: CreatedModel,
  env: Environment,
): Promise<AgentBackend> {
  const { endpointAgent } = await import("../agents/endpoint-agent.js");
  const apiKey = env.OPENAI_API_KEY?.trim() || "no-key-needed";
  // One request is a whole answer, and may take as long as the task.
  const endpoint = { apiKey, baseUrl: url, timeoutMs: run.taskTimeoutMs };
  return endpointAgent({ name: run.agentId, endpoint, priceOf });
}

/** It is the user's own program: it gets the environment of art-e, keys included, as in their shell. */
async function openCommand(
  db: Db,
  argv: readonly string[],
  { priceOf }: CreatedModel,
  settings: AppSettings,
  resources: ToolResources,
): Promise<OpenAgentTarget> {
  const env = Object.fromEntries(
    Object.entries(settings.env).flatMap(([name, value]) => (value === undefined ? [] : [[name, value]])),
  );
  const onStderr = (text: string) => {
    if (settings.verbose) process.stderr.write(stripControls(text));
  };
  const programs = new AgentProcesses({ argv, env }, onStderr, secretsOf(settings.env));
  const toolsFor = offeredTools(db, resources);
  const { openSubprocessAgent } = await import("../agents/subprocess-agent.js");
  const backend = await openSubprocessAgent({ programs, toolsFor, version: programVersion(), priceOf });
  return {
    backend,
    async close() {
      await programs.close();
      await backend.close();
    },
  };
}

/** By name: most variables are no secrets. Values shorter than 8 are no keys, and could be words of a mail. */
const SECRET_NAME = /(KEY|TOKEN|SECRET|PASSWORD)$/i;

function secretsOf(env: Environment): string[] {
  return Object.entries(env).flatMap(([name, value]) =>
    SECRET_NAME.test(name) && value && value.length >= 8 ? [value] : [],
  );
}

const NOT_FOR: Readonly<Record<AgentTarget["kind"], readonly string[]>> = {
  api: "protocol cache unsafeHostPython baseUrl wireApi maxTokens reasoningTokens temperature record maxTaskCost maxCost maxRunTokens price tpm".split(
    " ",
  ),
  command:
    "protocol cache unsafeHostPython modelId modelProvider baseUrl wireApi maxTokens reasoningTokens temperature record maxTaskCost requestTimeout rpm tpm".split(
      " ",
    ),
  endpoint:
    "protocol cache unsafeHostPython modelId modelProvider baseUrl wireApi maxTokens reasoningTokens temperature record maxTaskCost requestTimeout".split(
      " ",
    ),
};

export const FLAG_OF = { api: "--api-url", command: "--agent-command", endpoint: "--agent-url" } as const;

/** The external agent of a new run; undefined: the agent loop of this program. */
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

/** The external agent of a stored run, with the options given now. The environment does not change a stored run. */
export function requestedAgentTarget(stored: AgentTarget | undefined, options: RunOptions): AgentTarget | undefined {
  const { apiUrl, agentCommand, agentUrl, workspace, tellTask } = options;
  if (apiUrl === undefined && agentCommand === undefined && agentUrl === undefined && stored?.kind === "api") {
    return { ...stored, workspace: workspace ?? stored.workspace, tellTask: tellTask || stored.tellTask };
  }
  const env = stored?.kind === "api" && stored.workspace !== null ? { WORKSPACE_ID: stored.workspace } : {};
  const asked = agentTargetOf(options, env) ?? stored;
  return asked?.kind === "api" && stored?.kind === "api" ? { ...asked, tellTask: tellTask || stored.tellTask } : asked;
}

export function refuseFlagsTargetIgnores({ kind }: AgentTarget, { given, cutoff }: RunRequest): void {
  const ignored = NOT_FOR[kind].find((name) => given.has(name));
  if (ignored !== undefined) {
    throw contradiction(`${flagName(ignored)} does not reach an agent of ${FLAG_OF[kind]}`, "Leave it out.");
  }
  if (given.has("cutoff") && cutoff === "off" && kind !== "command") {
    throw contradiction(`--cutoff off has no say in what an agent of ${FLAG_OF[kind]} may see`, "Leave it out.");
  }
}

/** The model's name in results, where only the external agent knows the model. */
export function targetModelName(where: AgentTarget, agentId: string, options: RunOptions): string {
  if (where.kind === "command") return `command/${basename(where.argv[0] ?? "")}`;
  if (where.kind === "endpoint") return `endpoint/${agentId}`;
  const { modelId, modelProvider } = options;
  return modelId === undefined ? `playground/${agentId}` : parseModelName(modelId, modelProvider ?? null).id;
}

/** Whether the agent reads this database's mail: it runs in this process, or as a subprocess with our tools. */
export function usesMailHere(elsewhere: AgentTarget | undefined): boolean {
  return elsewhere === undefined || elsewhere.kind === "command";
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
