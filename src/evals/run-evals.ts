// Runs evals of any kind over traces: data evals in this process, Python in the sandbox, TypeScript in a process of its
// own, rubrics and judges with a model.
import { performance } from "node:perf_hooks";
import { refuseStoredAddress, serverOf } from "../models/connections.js";
import type { Model } from "../models/model.js";
import { parseModelName } from "../models/model-names.js";
import { openModel } from "../models/open-model.js";
import type { AppSettings, ProgressBar } from "../platform/app-context.js";
import { commandLine } from "../platform/command-line.js";
import { UserError } from "../platform/errors.js";
import { chooseSandbox } from "../sandbox/choose-sandbox.js";
import type { PythonSandbox } from "../sandbox/python.js";
import { protocolVersion } from "../scoring/judge.js";
import { createJudge, JUDGE_TIMEOUT_MS, type JudgeConnection, verdictCache } from "../scoring/judge-settings.js";
import { counted } from "../text/format.js";
import type { Judge, PromptVariant } from "../traces/judgment.js";
import { type DataEval, type EvalDefinition, type EvalOf, type EvaluatedTrace, isDataEval } from "./definition.js";
import { failedOutcome, type MeasuredOutcome, withoutPassOfFailure } from "./eval-outcome.js";
import { runPythonEval } from "./run-evals/run-python-evals.js";
import { runDataEvals } from "./run-evals/run-rules.js";
import { runTypescriptEval, typescriptIsolation } from "./run-evals/run-typescript-evals.js";

/** The parts of an eval that its backend needs. */
interface BackendInput {
  readonly python: Pick<EvalOf<"python">, "code" | "reference">;
  readonly typescript: Pick<EvalOf<"typescript">, "code" | "reference">;
  readonly rubric: Pick<EvalOf<"rubric">, "rubric" | "model">;
  readonly judge: Pick<EvalOf<"judge">, "name" | "judge">;
}

/** Runs an eval of one kind and returns one outcome per trace. Throws only the signal's reason. */
type EvalBackend<K extends keyof BackendInput> = (
  definition: BackendInput[K],
  traces: readonly EvaluatedTrace[],
  signal: AbortSignal,
) => Promise<MeasuredOutcome[]>;

/** Backends for the kinds of evals that this process cannot run itself. */
export interface EvalBackends {
  readonly python: EvalBackend<"python">;
  readonly typescript: EvalBackend<"typescript">;
  readonly rubric: EvalBackend<"rubric">;
  readonly judge: EvalBackend<"judge">;
}

interface BackendOptions {
  /** Whether to call a model even if the cache contains a result, which is replaced. */
  readonly isFresh?: boolean;
  /** Another form of a model's prompt. */
  readonly variant?: PromptVariant | undefined;
  /** Called after each trace. */
  readonly onOutcome?: () => void;
}

/** A rubric's model and its server. */
interface RubricModel {
  readonly model: Model;
  /** Base URL, or null for the provider's default server. */
  readonly server: string | null;
}

/** Returns the outcomes per trace, in the order of the evals. A failed task never passes. */
export async function runEvals(
  definitions: readonly EvalDefinition[],
  traces: readonly EvaluatedTrace[],
  backends: EvalBackends,
  signal: AbortSignal,
): Promise<MeasuredOutcome[][]> {
  const columns = new Map<EvalDefinition, readonly MeasuredOutcome[]>();
  for (const definition of definitions) {
    if (definition.kind === "python") columns.set(definition, await backends.python(definition, traces, signal));
    if (definition.kind === "typescript")
      columns.set(definition, await backends.typescript(definition, traces, signal));
    if (definition.kind === "rubric") columns.set(definition, await backends.rubric(definition, traces, signal));
    if (definition.kind === "judge") columns.set(definition, await backends.judge(definition, traces, signal));
  }
  const data = definitions.filter(isDataEval);
  return traces.map((trace, i) => {
    const ofData = data.length === 0 ? [] : runMeasured(data, trace);
    return definitions
      .flatMap((definition) => columns.get(definition)?.[i] ?? ofData.shift() ?? [])
      .map((outcome) => withoutPassOfFailure(outcome, trace.ending));
  });
}

function runMeasured(definitions: readonly DataEval[], trace: EvaluatedTrace): MeasuredOutcome[] {
  const start = performance.now();
  const outcomes = runDataEvals(definitions, trace);
  const ms = (performance.now() - start) / definitions.length;
  return outcomes.map((outcome) => ({ ...outcome, ms, costUsd: 0 }));
}

function pythonBackend(onOutcome?: () => void): EvalBackend<"python"> {
  return runsOrFails(async (definition, traces, signal) => {
    const choice = await chooseSandbox();
    if (!choice.ok) throw new Error(`Cannot run Python: ${choice.why}`);
    return runPythonEval(definition, traces, choice.sandbox, signal, onOutcome);
  });
}

function typescriptBackend(onOutcome?: () => void): EvalBackend<"typescript"> {
  return runsOrFails(async (definition, traces, signal) =>
    runTypescriptEval(definition, traces, await typescriptIsolation(), signal, onOutcome),
  );
}

/** Opens the backends on this machine. A missing sandbox or model becomes an error in each outcome. */
export function openEvalBackends(
  settings: AppSettings,
  { isFresh = false, variant, onOutcome }: BackendOptions = {},
): EvalBackends {
  const models = new Map<string, Promise<RubricModel>>();
  const modelOf = (model: string) => {
    const opened = models.get(model) ?? openRubricModel(model, settings);
    models.set(model, opened);
    return opened;
  };
  const stored = verdictCache(settings);
  const cache = isFresh ? { ...stored, get: () => null } : stored;
  return {
    python: pythonBackend(onOutcome),
    typescript: typescriptBackend(onOutcome),
    rubric: runsOrFails(async (definition, traces, signal) => {
      const { runRubric } = await import("./run-evals/run-rubric.js");
      const calls = { ...(await modelOf(definition.model)), cache, variant, onOutcome };
      return runRubric(definition, traces, calls, signal);
    }),
    judge: runsOrFails(async (definition, traces, signal) => {
      const { runJudge } = await import("./run-evals/run-judge.js");
      return runJudge(
        traces,
        await openJudgeOfEval(definition, settings, { cache, variant }),
        !isFresh && !variant,
        signal,
        onOutcome,
      );
    }),
  };
}

/** Counts outcomes in a progress bar. `total` is called at the first one. */
export function outcomesBar(bar: ProgressBar, total: () => number | null = () => null) {
  let done = 0;
  let all: number | null = null;
  return {
    onOutcome: () => {
      if (done === 0) all = total();
      done++;
      bar.update(done, all, counted(done, "result"));
    },
    stop: () => bar.stop(),
  };
}

/** Backends that never call a model. Rubrics fail. */
export const BACKENDS_WITHOUT_MODELS: EvalBackends = {
  python: pythonBackend(),
  typescript: typescriptBackend(),
  rubric: runsOrFails(refuseModel),
  judge: runsOrFails(refuseModel),
};

async function refuseModel(): Promise<never> {
  throw new Error("evals that call a model are disabled");
}

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

/**
 * Throws if this machine cannot run one of the evals, because a sandbox or a model's API key is missing.
 */
export async function requireRunnable(definitions: readonly EvalDefinition[], settings: AppSettings): Promise<void> {
  for (const definition of definitions) {
    if (definition.kind === "rubric") await openRubricModel(definition.model, settings);
    if (definition.kind === "judge") await openJudgeOfEval(definition, settings);
    if (definition.kind === "python") await requireSandbox(`The eval ${definition.name} is written in Python`);
  }
}

/** Returns this machine's sandbox. Throws a UserError without one. */
export async function requireSandbox(reason: string): Promise<PythonSandbox> {
  const choice = await chooseSandbox();
  if (choice.ok) return choice.sandbox;
  throw new UserError("sandbox_missing", `${reason}, which requires a sandbox: ${choice.why}.`, choice.hint);
}

/**
 * Opens an eval's model at its provider or at the server from the environment. Throws a UserError if the API key is
 * missing.
 */
export async function openRubricModel(modelId: string, settings: AppSettings): Promise<RubricModel> {
  const name = parseModelName(modelId, null);
  const server = serverOf(name.provider, undefined, settings.env);
  const { model } = await openModel(name, { baseUrl: server, timeoutMs: JUDGE_TIMEOUT_MS }, settings);
  return { model, server };
}

/** Opens an eval's judge. Throws a UserError if its API key is missing or the eval is for another prompt version. */
async function openJudgeOfEval(
  { name, judge }: Pick<EvalOf<"judge">, "name" | "judge">,
  settings: AppSettings,
  calls: Pick<JudgeConnection, "cache" | "variant"> = {},
): Promise<Judge> {
  const version = protocolVersion(judge.protocol);
  if (judge.version !== version) {
    throw new UserError(
      "judge_outdated",
      `Cannot run ${name}: it was made for version ${judge.version} of the judge's prompt, which is now version ${version}.`,
      `Add it again: ${commandLine`art-e evals add ${name} --judge ${judge.model}`}`,
    );
  }
  refuseStoredAddress(parseModelName(judge.model, null).provider, judge.baseUrl, settings.env);
  const connection = { timeoutMs: JUDGE_TIMEOUT_MS, throttle: null, note: () => {}, ...calls };
  return (await createJudge(judge, settings, connection)).judge;
}
