// External agents: a person, a server with the playground API, a program (command agent), an OpenAI-compatible endpoint
// or a function of the calling program. Each takes the place of the agent loop. Everything around it stays the same.
import { basename } from "node:path";
import { noteEachOnce } from "../models/call-cost.js";
import { NO_KEY } from "../models/endpoint.js";
import type { PriceOf } from "../models/model.js";
import { parseModelName } from "../models/model-names.js";
import { playgroundTokenOf, playgroundUrlOf } from "../models/open-model.js";
import type { RateLimiter } from "../models/rate-limiter.js";
import { type GivenExtras, openExtras } from "../models/request-extras.js";
import type { AppContext } from "../platform/app-context.js";
import { splitShellWords } from "../platform/command-line.js";
import type { Environment } from "../platform/environment.js";
import { UserError } from "../platform/errors.js";
import { parseServerUrl } from "../platform/http.js";
import { programVersion } from "../platform/program-files.js";
import { trimEndOf } from "../platform/trim-end.js";
import type { Db } from "../store/open-store.js";
import { offeredTools } from "../tools/load-tools.js";
import type { ToolResources } from "../tools/tool-handler.js";
import type { AgentTarget, ExternalRunSettings } from "../traces/run-settings.js";
import type { AgentBackend } from "./agent-backend.js";
import type { AgentFunction } from "./agent-function.js";

/** The options of a run that select and connect an external agent. */
interface ExternalAgentOptions {
  readonly agent?: string | undefined;
  readonly modelProvider?: string | undefined;
  readonly modelId?: string | undefined;
  readonly apiUrl?: string | undefined;
  readonly agentCommand?: string | undefined;
  readonly agentUrl?: string | undefined;
  readonly workspace?: string | undefined;
  readonly tellTask: boolean;
  readonly agentFunction?: NamedAgentFunction | undefined;
}

/** A function that answers tasks, and its name in results. */
export interface NamedAgentFunction {
  readonly name: string;
  readonly answer: AgentFunction;
}

export interface OpenExternalAgent {
  readonly backend: AgentBackend;
  close(): Promise<void>;
}

const HUMAN = "human";

export const FLAG_OF = {
  human: "-a human",
  api: "--api-url",
  command: "--agent-command",
  endpoint: "--agent-url",
  function: "a function",
} as const;

/** Returns the external agent of a new run, or undefined for art-e's own agent loop. */
export function externalAgentOf(options: ExternalAgentOptions, env: Environment): AgentTarget | undefined {
  const { apiUrl, agentCommand, agentUrl, workspace, agentFunction } = options;
  if (agentFunction !== undefined) return { kind: "function", name: agentFunction.name };
  const flags = Object.entries({
    "--api-url": apiUrl,
    "--agent-command": agentCommand,
    "--agent-url": agentUrl,
  }).filter(([, value]) => value !== undefined);
  if (flags.length > 1) {
    throw contradiction(`${flags.map(([flag]) => flag).join(" and ")} select different agents`, "Remove one of them.");
  }
  if (options.agent === HUMAN && flags.length === 0) return { kind: "human" };
  const url = apiUrl ?? (flags.length === 0 ? playgroundUrlOf(env) : undefined);
  if (url === undefined && (workspace !== undefined || options.tellTask)) {
    throw contradiction(
      `${workspace === undefined ? "--tell-task" : "--workspace"} requires --api-url`,
      "Pass --api-url URL (or set API_URL), or remove the flag to run the agent in art-e.",
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
  throw new UserError(
    "flag_invalid",
    "--agent-command: expected a program.",
    "Pass a command line, such as 'python my_agent.py'.",
  );
}

/**
 * Returns a stored run's external agent with the options given now. The environment does not change a stored run.
 * Throws a UserError if the agent is a function, and the caller does not provide it.
 */
export function requestedExternalAgent(stored: AgentTarget, options: ExternalAgentOptions): AgentTarget {
  const { apiUrl, agentCommand, agentUrl, workspace, tellTask } = options;
  if (apiUrl === undefined && agentCommand === undefined && agentUrl === undefined && stored.kind === "api") {
    return { ...stored, workspace: workspace ?? stored.workspace, tellTask: tellTask || stored.tellTask };
  }
  const env = stored.kind === "api" && stored.workspace !== null ? { WORKSPACE_ID: stored.workspace } : {};
  const requested = externalAgentOf(options, env) ?? stored;
  if (requested.kind === "function" && options.agentFunction === undefined) throw functionMissing(requested.name);
  return requested.kind === "api" && stored.kind === "api"
    ? { ...requested, tellTask: tellTask || stored.tellTask }
    : requested;
}

/** Returns the model name in results for an external agent, which chooses its own model. */
export function externalModelName(where: AgentTarget, agentId: string, options: ExternalAgentOptions): string {
  if (where.kind === "human") return "human/terminal";
  if (where.kind === "command") return `command/${basename(where.argv[0] ?? "")}`;
  if (where.kind === "endpoint") return `endpoint/${agentId}`;
  if (where.kind === "function") return `function/${where.name}`;
  const { modelId, modelProvider } = options;
  return modelId === undefined ? `playground/${agentId}` : parseModelName(modelId, modelProvider ?? null).id;
}

/** Whether the agent reads this database's mail, because it runs in this process or as a subprocess with our tools. */
export function usesMailHere(agent: AgentTarget | undefined): boolean {
  return agent === undefined || hasOwnTools(agent.kind);
}

/** Whether external agents of this kind use the tools of this process. */
export function hasOwnTools(kind: AgentTarget["kind"]): boolean {
  return kind === "command" || kind === "human" || kind === "function";
}

function functionMissing(name: string): UserError {
  return new UserError(
    "agent_function_missing",
    `The agent of this run is the function ${name} of a program.`,
    "Continue the run in that program: resumeArtEBenchmark(RUN, { agent }).",
  );
}

/** Opens an external agent for a run's tasks. Its model has the price and the rate limiter of the run. */
export async function openExternalAgent(
  db: Db,
  run: ExternalRunSettings,
  {
    model: { priceOf, throttle },
    options,
    context: { settings, openPerson, note },
    resources,
  }: {
    readonly model: { readonly priceOf: PriceOf; readonly throttle: RateLimiter | null };
    readonly options: GivenExtras & {
      readonly requestTimeout: number;
      readonly agentFunction?: NamedAgentFunction | undefined;
    };
    readonly context: Pick<AppContext, "settings" | "openPerson" | "note">;
    readonly resources: ToolResources;
  },
): Promise<OpenExternalAgent> {
  const { env } = settings;
  const { externalAgent: agent } = run;
  const retried = async (backend: AgentBackend): Promise<OpenExternalAgent> => {
    const { withAgentRetry } = await import("./external-agent/agent-retries.js");
    return { backend: withAgentRetry(run.model, backend, throttle), close: async () => {} };
  };
  const charging = { priceOf, noteAll: noteEachOnce((text) => note(`${run.agentId}: ${text}`)) };
  switch (agent.kind) {
    case "human": {
      if (openPerson === undefined) throw new Error("a person can answer only from the command line");
      const { humanAgent } = await import("./external-agent/human-agent.js");
      const person = openPerson();
      const backend = humanAgent({ person, toolsFor: offeredTools(db, resources) });
      return { backend, close: async () => person.close() };
    }
    case "command": {
      const { AgentProcesses } = await import("./external-agent/command-agent-process.js");
      const { openCommandAgent } = await import("./external-agent/command-agent.js");
      const onStderr = settings.agentStderr ?? (() => {});
      const programs = new AgentProcesses({ argv: agent.argv, env: definedIn(env) }, onStderr, secretsOf(env));
      const toolsFor = offeredTools(db, resources);
      const backend = await openCommandAgent({ programs, toolsFor, version: programVersion(), ...charging });
      return {
        backend,
        async close() {
          await programs.close();
          await backend.close();
        },
      };
    }
    case "function": {
      if (options.agentFunction === undefined) throw functionMissing(agent.name);
      const { functionAgent } = await import("./external-agent/function-agent.js");
      const backend = functionAgent({ ...options.agentFunction, toolsFor: offeredTools(db, resources), ...charging });
      return { backend, close: async () => {} };
    }
    case "api": {
      const { playgroundApiAgent } = await import("./external-agent/playground-api-agent.js");
      const [provider = ""] = run.model.split("/");
      const { url: apiUrl, workspace, tellTask } = agent;
      return retried(
        playgroundApiAgent({
          apiUrl,
          workspace,
          agentId: run.agentId,
          tellTask,
          model: provider === "playground" ? null : { provider, id: run.model },
          token: playgroundTokenOf(apiUrl, env),
          idleMs: options.requestTimeout * 1_000,
        }),
      );
    }
    case "endpoint": {
      const { endpointAgent } = await import("./external-agent/endpoint-agent.js");
      const apiKey = env.OPENAI_API_KEY?.trim() || NO_KEY;
      // One request is an entire answer and can take as long as the task.
      const endpoint = {
        apiKey,
        baseUrl: agent.url,
        timeoutMs: run.taskTimeoutMs,
        extras: openExtras(run, options, env),
      };
      return retried(endpointAgent({ name: run.agentId, endpoint, ...charging }));
    }
  }
}

/** The environment of the user's own program. It includes keys, as in the user's shell. */
function definedIn(env: Environment): Record<string, string> {
  return Object.fromEntries(
    Object.entries(env).flatMap(([name, value]) => (value === undefined ? [] : [[name, value]])),
  );
}

/**
 * Selects secrets by variable name, because most variables are not secrets. Values shorter than 8 characters are not
 * keys and could be words in an email.
 */
const SECRET_NAME = /(KEY|TOKEN|SECRET|PASSWORD)$/i;

function secretsOf(env: Environment): string[] {
  return Object.entries(env).flatMap(([name, value]) =>
    SECRET_NAME.test(name) && value && value.length >= 8 ? [value] : [],
  );
}

function checkUrl(flag: string, text: string): string {
  const url = parseServerUrl(text);
  if (url === null) {
    throw new UserError(
      "flag_invalid",
      `${flag}: expected a server URL.`,
      "Pass http(s)://host[:port][/path], without user name, password or query.",
    );
  }
  return trimEndOf(url.href, "/");
}

function contradiction(what: string, hint: string): UserError {
  return new UserError("flags_contradict", `${what}.`, hint);
}
