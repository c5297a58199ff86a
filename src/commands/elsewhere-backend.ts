import type { Elsewhere } from "../domain/elsewhere.js";
import type { RunSettings } from "../domain/result.js";
import type { AgentBackend } from "../domain/rollout.js";
import { endpointAgent } from "../models/endpoint-agent.js";
import { playgroundAgent } from "../models/playground-agent.js";
import { retriedAgent } from "../models/retried-agent.js";
import { AgentPrograms } from "../programs/agent-program.js";
import { printable } from "../reports/printable.js";
import { openProgramAgent } from "../runner/program-agent.js";
import type { Db } from "../store/open.js";
import { boundMailTools } from "../tools/bound-mail.js";
import type { ToolResources } from "../tools/handler.js";
import type { Environment } from "./env-file.js";
import type { RunFlags } from "./run-flags.js";
import type { ReadyModel } from "./run-model.js";
import { playgroundTokenOf, type Settings } from "./settings.js";
import { programVersion } from "./version.js";

export interface OpenBackend {
  readonly backend: AgentBackend;
  close(): Promise<void>;
}

/** Reaches the agent of a run that lives elsewhere. */
export async function openBackend(
  db: Db,
  where: Elsewhere,
  run: RunSettings,
  {
    model,
    flags,
    settings,
    resources,
  }: { model: ReadyModel; flags: RunFlags; settings: Settings; resources: ToolResources },
): Promise<OpenBackend> {
  if (where.kind === "command") return openCommand(db, where.argv, model, settings, resources);
  const once =
    where.kind === "api" ? overApi(where, run, flags, settings.env) : overEndpoint(where, run, model, settings.env);
  return { backend: retriedAgent(run.model, once, model.throttle), close: async () => {} };
}

type Where<K extends Elsewhere["kind"]> = Extract<Elsewhere, { kind: K }>;

function overApi({ url, workspace, tellTask }: Where<"api">, run: RunSettings, flags: RunFlags, env: Environment) {
  const [provider = ""] = run.model.split("/");
  return playgroundAgent({
    apiUrl: url,
    workspace,
    agentId: run.agentId,
    model: provider === "playground" ? null : { provider, id: run.model },
    tellTask,
    token: playgroundTokenOf(url, env),
    idleMs: flags.requestTimeout * 1_000,
  });
}

function overEndpoint({ url }: Where<"endpoint">, run: RunSettings, { priceOf }: ReadyModel, env: Environment) {
  const apiKey = env.OPENAI_API_KEY?.trim() || "no-key-needed";
  // A whole answer may take as long as its task may.
  const endpoint = { apiKey, baseUrl: url, timeoutMs: run.taskTimeoutMs };
  return endpointAgent({ name: run.agentId, endpoint, priceOf });
}

/** It is the user's own program: it gets the environment that art-e has, keys included, as it would in their shell. */
async function openCommand(
  db: Db,
  argv: readonly string[],
  { priceOf }: ReadyModel,
  settings: Settings,
  resources: ToolResources,
): Promise<OpenBackend> {
  const env = Object.fromEntries(
    Object.entries(settings.env).flatMap(([name, value]) => (value === undefined ? [] : [[name, value]])),
  );
  const onStderr = (text: string) => {
    if (settings.verbose) process.stderr.write(printable(text));
  };
  const programs = new AgentPrograms({ argv, env }, onStderr, secretsOf(settings.env));
  const tools = boundMailTools(db, resources);
  const backend = await openProgramAgent({ programs, tools, version: programVersion(), priceOf });
  return {
    backend,
    async close() {
      await programs.close();
      await backend.close();
    },
  };
}

/** By their names: most of an environment is no secret. What is shorter than 8 is no key, and may be a word. */
const SECRET_NAME = /(KEY|TOKEN|SECRET|PASSWORD)$/i;

function secretsOf(env: Environment): string[] {
  return Object.entries(env).flatMap(([name, value]) =>
    SECRET_NAME.test(name) && value && value.length >= 8 ? [value] : [],
  );
}
