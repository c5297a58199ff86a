import { join } from "node:path";
import { type JsonFileCache, openJsonFileCache } from "../models/cache.js";
import type { Model } from "../models/model.js";
import { parseModelName } from "../models/names.js";
import { openModel, serverOf } from "../models/open-model.js";
import type { AppSettings } from "../platform/context.js";
import { UserError } from "../platform/errors.js";
import { chooseSandbox } from "../sandbox/choose-sandbox.js";
import { JUDGE_TIMEOUT_MS } from "../scoring/judge-settings.js";
import type { EvalDefinition } from "./definition.js";
import { failedOutcome } from "./eval-outcome.js";
import { runPythonEval } from "./run-python.js";
import { runRubric } from "./run-rubric.js";
import type { EvalBackend, EvalBackends } from "./run-rules.js";

const runPythonHere: EvalBackend<"python"> = async (definition, traces, signal) => {
  const choice = await chooseSandbox();
  if (!choice.ok) throw new Error(`Python cannot be run here: ${choice.why}`);
  return runPythonEval(definition, traces, choice.sandbox, signal);
};

/** What runs evals here. Whatever does not work, a sandbox or a model, is an error of each outcome. */
export function openEvalBackends(settings: AppSettings): EvalBackends {
  const models = new Map<string, Promise<RubricModel>>();
  const modelOf = (model: string) => {
    const opened = models.get(model) ?? openRubricModel(model, settings);
    models.set(model, opened);
    return opened;
  };
  const cache = rubricCache(settings);
  return {
    python: runsOrFails(runPythonHere),
    rubric: runsOrFails(async (definition, traces, signal) =>
      runRubric(definition, traces, { ...(await modelOf(definition.model)), cache }, signal),
    ),
  };
}

/** The same without any model: rubrics are not asked for. */
export const BACKENDS_WITHOUT_MODELS: EvalBackends = {
  python: runsOrFails(runPythonHere),
  rubric: runsOrFails(async () => {
    throw new Error("rubrics are not asked for here");
  }),
};

function runsOrFails<K extends keyof EvalBackends>(backend: EvalBackend<K>): EvalBackend<K> {
  return async (definition, traces, signal) => {
    try {
      return await backend(definition, traces, signal);
    } catch (error) {
      signal.throwIfAborted();
      return traces.map(() => failedOutcome((error as Error).message));
    }
  };
}

/** Throws where this machine cannot run one of the evals: no sandbox, or no key for a rubric's model. */
export async function requireRunnable(definitions: readonly EvalDefinition[], settings: AppSettings): Promise<void> {
  for (const definition of definitions) {
    if (definition.kind === "rubric") await openRubricModel(definition.model, settings);
    if (definition.kind === "python") await requireSandbox(`The eval ${definition.name} is written in Python`);
  }
}

export async function requireSandbox(reason: string): Promise<void> {
  const choice = await chooseSandbox();
  if (!choice.ok)
    throw new UserError("sandbox_missing", `${reason}, which needs a sandbox: ${choice.why}.`, choice.hint);
}

/** A model that reads rubrics, and where it lives. */
interface RubricModel {
  readonly model: Model;
  /** Null: the provider's own server. */
  readonly server: string | null;
}

/** The model that an eval names, at its provider or where the environment says. Throws a UserError without a key. */
export async function openRubricModel(modelId: string, settings: AppSettings): Promise<RubricModel> {
  const name = parseModelName(modelId, null);
  const server = serverOf(name.provider, undefined, settings.env);
  const { model } = await openModel(name, { baseUrl: server, timeoutMs: JUDGE_TIMEOUT_MS }, settings);
  return { model, server };
}

/** What rubrics gave before, beside the judge's verdicts. */
export function rubricCache({ cacheDir }: AppSettings): JsonFileCache {
  return openJsonFileCache(join(cacheDir, "verdicts"));
}
