import type { AgentBackend } from "../agents/agent.js";
import { AgentProcesses } from "../agents/agent-process.js";
import { endpointAgent, withAgentRetry } from "../agents/endpoint-agent.js";
import { playgroundAgent } from "../agents/playground-agent.js";
import { NO_KEY } from "../models/endpoint.js";
import { playgroundTokenOf } from "../models/open-model.js";
import { openExtras, type SentExtras } from "../models/request-extras.js";
import type { AppSettings } from "../platform/app-context.js";
import type { Environment } from "../platform/environment.js";
import { programVersion } from "../platform/installation.js";
import type { Db } from "../store/open-store.js";
import { offeredTools } from "../tools/load-tools.js";
import type { ToolResources } from "../tools/tool-handler.js";
import type { AgentTarget, RunSettings } from "../traces/run-settings.js";
import type { CreatedModel } from "./model-of-run.js";
import type { RunOptions } from "./run-options.js";

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
  const once =
    where.kind === "api"
      ? overApi(where, run, options, settings.env)
      : overEndpoint(where, run, openExtras(run, options, settings.env), model, settings.env);
  return { backend: withAgentRetry(run.model, once, model.throttle), close: async () => {} };
}

type Where<K extends AgentTarget["kind"]> = Extract<AgentTarget, { kind: K }>;

function overApi({ url, workspace, tellTask }: Where<"api">, run: RunSettings, options: RunOptions, env: Environment) {
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
  run: RunSettings,
  extras: SentExtras,
  { priceOf }: CreatedModel,
  env: Environment,
) {
  const apiKey = env.OPENAI_API_KEY?.trim() || NO_KEY;
  // One request is a whole answer, and may take as long as the task.
  const endpoint = { apiKey, baseUrl: url, timeoutMs: run.taskTimeoutMs, extras };
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

/** By name: most variables are no secrets. Values shorter than 8 are no keys, and could be words of a mail. */
const SECRET_NAME = /(KEY|TOKEN|SECRET|PASSWORD)$/i;

function secretsOf(env: Environment): string[] {
  return Object.entries(env).flatMap(([name, value]) =>
    SECRET_NAME.test(name) && value && value.length >= 8 ? [value] : [],
  );
}
