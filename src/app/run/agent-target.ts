import { createHash } from "node:crypto";
import { basename } from "node:path";
import { judgeSettings } from "../../commands/flags/judge-flags.js";
import { chosenScorers } from "../../commands/flags/scorer-flags.js";
import type { RunFlags } from "../../commands/run/run-flags.js";
import { agentSettingsSchema } from "../../domain/agents/agent.js";
import type { AgentTarget } from "../../domain/agents/agent-target.js";
import { UserError } from "../../domain/errors.js";
import type { RunSettings } from "../../domain/runs/benchmark-result.js";
import { trimEndOf } from "../../domain/trim-end.js";
import { parseModelName } from "../../models/model-name.js";
import { splitShellWords } from "../../platform/shell-words.js";
import type { Environment } from "../settings/env-file.js";
import { playgroundUrlOf } from "../settings/settings.js";

/** What a program is offered over MCP. */
const PROGRAM_TOOLS = ["email_search", "email_get"];

type Given = Readonly<Record<string, unknown>>;

/** The flags that say nothing about an agent of each kind, by their names in the parsed line. */
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

const FLAG_OF = { api: "--api-url", command: "--agent-command", endpoint: "--agent-url" } as const;

/** Where the agent of a new run lives; undefined: in this program. */
export function agentTargetOf(flags: RunFlags, env: Environment): AgentTarget | undefined {
  const { apiUrl, agentCommand, agentUrl, workspace } = flags;
  const given = Object.entries({
    "--api-url": apiUrl,
    "--agent-command": agentCommand,
    "--agent-url": agentUrl,
  }).filter(([, value]) => value !== undefined);
  if (given.length > 1) {
    throw contradiction(`${given.map(([flag]) => flag).join(" and ")} name different agents`, "Leave one of them out.");
  }
  const url = apiUrl ?? (given.length === 0 ? playgroundUrlOf(env) : undefined);
  if (url === undefined && (workspace !== undefined || flags.tellTask)) {
    throw contradiction(
      `${workspace === undefined ? "--tell-task" : "--workspace"} is for --api-url, which is not given`,
      "Add --api-url URL (or API_URL), or leave it out: the agent then runs in this program.",
    );
  }
  if (url !== undefined) {
    const flag = apiUrl === undefined ? "API_URL" : "--api-url";
    const inWorkspace = workspace ?? (env.WORKSPACE_ID || null);
    return { kind: "api", url: checkUrl(flag, url), workspace: inWorkspace, tellTask: flags.tellTask };
  }
  if (agentUrl !== undefined) return { kind: "endpoint", url: checkUrl("--agent-url", agentUrl) };
  if (agentCommand === undefined) return undefined;
  const argv = splitShellWords(agentCommand, "--agent-command");
  if (argv.length > 0) return { kind: "command", argv };
  throw new UserError("flag_invalid", "--agent-command: expected a program.", "Name one: 'python my_agent.py'.");
}

/** What the command line asks for beyond a run's own agent; the environment has no say in a run that was begun. */
export function requestedAgentTarget(stored: AgentTarget | undefined, flags: RunFlags): AgentTarget | undefined {
  const { apiUrl, agentCommand, agentUrl, workspace, tellTask } = flags;
  if (apiUrl === undefined && agentCommand === undefined && agentUrl === undefined && stored?.kind === "api") {
    return { ...stored, workspace: workspace ?? stored.workspace, tellTask: tellTask || stored.tellTask };
  }
  const env = stored?.kind === "api" && stored.workspace !== null ? { WORKSPACE_ID: stored.workspace } : {};
  const asked = agentTargetOf(flags, env) ?? stored;
  return asked?.kind === "api" && stored?.kind === "api" ? { ...asked, tellTask: tellTask || stored.tellTask } : asked;
}

/** Refuses what an agent elsewhere would not hear of. */
export function refuseFlagsTargetIgnores({ kind }: AgentTarget, argv: Given): void {
  const unheard = NOT_FOR[kind].find((name) => argv[name] !== undefined);
  if (unheard !== undefined) {
    const flag = `--${unheard.replace(/[A-Z]/g, (letter) => `-${letter.toLowerCase()}`)}`;
    throw contradiction(`${flag} does not reach an agent of ${FLAG_OF[kind]}`, "Leave it out.");
  }
  if (argv.cutoff === "off" && kind !== "command") {
    throw contradiction(`--cutoff off has no say in what an agent of ${FLAG_OF[kind]} may see`, "Leave it out.");
  }
}

/** The name of the model where nobody but the agent knows it. */
export function targetModelName(where: AgentTarget, agentId: string, flags: RunFlags): string {
  if (where.kind === "command") return `command/${basename(where.argv[0] ?? "")}`;
  if (where.kind === "endpoint") return `endpoint/${agentId}`;
  const { modelId, modelProvider } = flags;
  return modelId === undefined ? `playground/${agentId}` : parseModelName(modelId, modelProvider ?? null).id;
}

/** The settings of a run whose agent nobody here knows: what it does not hear of stands at its default. */
export function agentTargetSettings(
  where: AgentTarget,
  agentId: string,
  flags: RunFlags,
  env: Environment,
): RunSettings {
  const { limit, minRealism, maxSources, ids, inbox, excludeKnownBad, shuffle, seed } = flags;
  const tools = where.kind === "command" ? PROGRAM_TOOLS : [];
  const { maxTurns, maxTokens, toolCalls, toolChoice } = agentSettingsSchema.parse({});
  const judge = judgeSettings(flags, null, null, env);
  return {
    agentId,
    agentVersion: 0,
    elsewhere: where,
    model: targetModelName(where, agentId, flags),
    baseUrl: null,
    wireApi: null,
    prompt: "",
    tools,
    toolsDigest: createHash("sha256").update(JSON.stringify(tools)).digest("hex"),
    maxTurns: flags.maxTurns ?? maxTurns,
    maxTokens,
    temperature: null,
    toolCalls,
    toolChoice,
    cutoff: flags.cutoff,
    taskTimeoutMs: flags.taskTimeout * 1_000,
    maxTaskCostUsd: null,
    price: flags.price ?? null,
    concurrency: flags.concurrency,
    epochs: flags.epochs,
    scorers: chosenScorers(flags.scorers, judge !== null),
    judge,
    selection: { limit, minRealism, maxSources, ids, inbox, excludeKnownBad, shuffle, seed },
  };
}

/** Whether the agent reads the mail of this file: it lives here, or is a program that is given our tools. */
export function usesMailHere(elsewhere: AgentTarget | undefined): boolean {
  return elsewhere === undefined || elsewhere.kind === "command";
}

function checkUrl(flag: string, given: string): string {
  const url = URL.parse(given.trim());
  const isPlain = url !== null && url.username === "" && url.password === "" && url.search === "" && url.hash === "";
  if (!isPlain || !/^https?:$/.test(url.protocol)) {
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
