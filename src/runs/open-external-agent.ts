import type { AgentBackend } from "../agents/agent.js";
import { AgentProcesses } from "../agents/agent-process.js";
import { endpointAgent, withAgentRetry } from "../agents/endpoint-agent.js";
import { playgroundAgent } from "../agents/playground-agent.js";
import { NO_KEY } from "../models/endpoint.js";
import { playgroundTokenOf } from "../models/open-model.js";
import { openExtras, type SentExtras } from "../models/request-extras.js";
import type { AppContext, AppSettings } from "../platform/app-context.js";
import type { Environment } from "../platform/environment.js";
import { programVersion } from "../platform/installation.js";
import type { Db } from "../store/open-store.js";
import { offeredTools } from "../tools/load-tools.js";
import type { ToolResources } from "../tools/tool-handler.js";
import type { AgentTarget, ExternalRunSettings } from "../traces/run-settings.js";
import type { CreatedModel } from "./model-of-run.js";
import type { RunOptions } from "./run-options.js";

export interface OpenAgentTarget {
  readonly backend: AgentBackend;
  close(): Promise<void>;
}

export async function openAgentTarget(
  db: Db,
  run: ExternalRunSettings,
  {
    model,
    options,
    context: { settings, openPerson },
    resources,
  }: { model: CreatedModel; options: RunOptions; context: AgentContext; resources: ToolResources },
): Promise<OpenAgentTarget> {
  const { externalAgent: where } = run;
  if (where.kind === "human") return askPerson(db, openPerson, resources);
  if (where.kind === "command") return openCommand(db, where.argv, model, settings, resources);
  const once =
    where.kind === "api"
      ? overApi(where, run, options, settings.env)
      : overEndpoint(where, run, openExtras(run, options, settings.env), model, settings.env);
  return { backend: withAgentRetry(run.model, once, model.throttle), close: async () => {} };
}

type AgentContext = Pick<AppContext, "settings" | "openPerson">;

async function askPerson(
  db: Db,
  openPerson: AppContext["openPerson"],
  resources: ToolResources,
): Promise<OpenAgentTarget> {
  if (openPerson === undefined) throw new Error("a person is asked only from the command line");
  const { humanAgent } = await import("../agents/human-agent.js");
  const person = openPerson();
  return {
    backend: humanAgent({ person, toolsFor: offeredTools(db, resources) }),
    close: async () => person.close(),
  };
}

type Where<K extends AgentTarget["kind"]> = Extract<AgentTarget, { kind: K }>;

function overApi(
  { url, workspace, tellTask }: Where<"api">,
  run: ExternalRunSettings,
  options: RunOptions,
  env: Environment,
) {
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

function overEndpoint(
  { url }: Where<"endpoint">,
  run: ExternalRunSettings,
  extras: SentExtras,
  { priceOf }: CreatedModel,
  env: Environment,
) {
  const apiKey = env.OPENAI_API_KEY?.trim() || NO_KEY;
  // One request is an entire answer and can take as long as the task.
  const endpoint = { apiKey, baseUrl: url, timeoutMs: run.taskTimeoutMs, extras };
  return endpointAgent({ name: run.agentId, endpoint, priceOf });
}

/** Opens the user's own program. It receives the environment of art-e, including keys, as in the user's shell. */
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
  const programs = new AgentProcesses({ argv, env }, settings.agentStderr ?? (() => {}), secretsOf(settings.env));
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
