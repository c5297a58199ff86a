import { performance } from "node:perf_hooks";
import type { Model } from "../models/model.js";
import { parseModelName } from "../models/model-names.js";
import { openModel, serverOf } from "../models/open-model.js";
import type { AppSettings } from "../platform/app-context.js";
import { UserError } from "../platform/errors.js";
import { chooseSandbox } from "../sandbox/choose-sandbox.js";
import { JUDGE_TIMEOUT_MS, verdictCache } from "../scoring/judge-settings.js";
import { type DataEval, type EvalDefinition, type EvalOf, type EvaluatedTrace, isDataEval } from "./definition.js";
import { failedOutcome, type MeasuredOutcome } from "./eval-outcome.js";
import { runPythonEval } from "./run-python-evals.js";
import { runRubric } from "./run-rubric.js";
import { runDataEvals } from "./run-rules.js";

/** What is read of an eval of one kind that needs more than this process. */
interface BackendInput {
  readonly python: Pick<EvalOf<"python">, "code" | "reference">;
  readonly rubric: Pick<EvalOf<"rubric">, "rubric" | "model">;
}

/** Runs an eval of one kind over traces; an outcome for each. Throws only the signal's reason. */
type EvalBackend<K extends keyof BackendInput> = (
  definition: BackendInput[K],
  traces: readonly EvaluatedTrace[],
  signal: AbortSignal,
) => Promise<MeasuredOutcome[]>;

/** What runs the kinds of evals that need more than this process. */
export interface EvalBackends {
  readonly python: EvalBackend<"python">;
  readonly rubric: EvalBackend<"rubric">;
}

/** Runs evals over traces: an outcome for each trace, of each eval in order. */
export async function runEvals(
  definitions: readonly EvalDefinition[],
  traces: readonly EvaluatedTrace[],
  backends: EvalBackends,
  signal: AbortSignal,
): Promise<MeasuredOutcome[][]> {
  const columns = new Map<EvalDefinition, readonly MeasuredOutcome[]>();
  for (const definition of definitions) {
    if (definition.kind === "python") columns.set(definition, await backends.python(definition, traces, signal));
    if (definition.kind === "rubric") columns.set(definition, await backends.rubric(definition, traces, signal));
  }
  const data = definitions.filter(isDataEval);
  return traces.map((trace, i) => {
    const ofData = data.length === 0 ? [] : runMeasured(data, trace);
    return definitions.flatMap((definition) => columns.get(definition)?.[i] ?? ofData.shift() ?? []);
  });
}

function runMeasured(definitions: readonly DataEval[], trace: EvaluatedTrace): MeasuredOutcome[] {
  const start = performance.now();
  const outcomes = runDataEvals(definitions, trace);
  const ms = (performance.now() - start) / definitions.length;
  return outcomes.map((outcome) => ({ ...outcome, ms, costUsd: 0 }));
}

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
  const cache = verdictCache(settings);
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
