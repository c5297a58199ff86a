// Runs Python evals in the sandbox, in batches, and continues if the code hangs or crashes on a trace.
import { z } from "zod";
import type { Message } from "../../models/model.js";
import { parseJsonOrNull } from "../../platform/json.js";
import { readBuiltFile } from "../../platform/program-files.js";
import type { PythonSandbox } from "../../sandbox/python.js";
import { type PythonRun, runPython, type StopReason } from "../../sandbox/run-python.js";
import { openWorkspace, readText, WorkspaceRefusal, writeText } from "../../sandbox/workspace.js";
import { questionOf } from "../../tasks/question.js";
import { earlierCalls } from "../../traces/earlier-calls.js";
import { askedOf } from "../../traces/trace.js";
import type { EvalOf, EvaluatedTrace } from "../definition.js";
import { failedOutcome, type MeasuredOutcome } from "../eval-outcome.js";
import { mailboxOf, measureFeatures, withParsedResults } from "../features.js";
import { LostTraces } from "./lost-traces.js";

/** A file in the sandbox can have at most 16 MiB. */
const MAX_BATCH_BYTES = 15 * 2 ** 20;
const MAX_BATCH_TRACES = 1_000;

/** A trace's position in the input, and its line in the arguments file. */
interface Item {
  readonly index: number;
  readonly line: string;
}

interface PythonBatch {
  /** Outcomes by position in the batch. Positions that the eval did not reach are missing. */
  readonly outcomes: ReadonlyMap<number, PythonOutcome>;
  /** Why the code is unusable, or null if it was loaded. */
  readonly fatal: string | null;
  /** Whether the eval started on any trace. */
  readonly hasBegun: boolean;
  /** Why the process ended before the last trace. */
  readonly ended: string;
}

/**
 * A line in the outcomes file. The eval can write to this file, so the file is as untrusted as the eval's return
 * values.
 */
const outcomeSchema = z.object({
  trace: z.int().nonnegative(),
  score: z.number().min(0).max(1).nullable(),
  reason: z.string().max(2_000),
  error: z.string().max(2_000).nullable(),
  ms: z.number().nonnegative(),
  slow: z.boolean().default(false),
});

type PythonOutcome = Omit<z.output<typeof outcomeSchema>, "trace">;

/**
 * Runs Python code over traces in the sandbox, one process per batch. If a batch crashes, its outcomes are kept, the
 * trace that was running is tried alone, and the others continue. Whatever the code does, every trace gets an outcome.
 * Throws only if the sandbox does not start, or with the signal's reason.
 */
export async function runPythonEval(
  { code, reference }: Pick<EvalOf<"python">, "code" | "reference">,
  traces: readonly EvaluatedTrace[],
  sandbox: PythonSandbox,
  signal: AbortSignal,
  onOutcome: () => void = () => {},
): Promise<MeasuredOutcome[]> {
  const outcomes: MeasuredOutcome[] = traces.map(() => failedOutcome("the eval was not run"));
  const lost = new LostTraces();
  let fatal: string | null = null;

  const put = (index: number, { score, reason, error, ms }: Omit<PythonOutcome, "slow">, isLost: boolean) => {
    outcomes[index] = { score, reason, error, ms, costUsd: 0 };
    lost.add(isLost);
    onOutcome();
  };

  const runBatch = async (batch: readonly Item[]): Promise<void> => {
    if (batch.length === 0 || giveUp(batch)) return;
    const lines = batch.map(({ line }) => line);
    const run = await runPythonBatch(sandbox, code, lines, signal);
    if (run.fatal !== null) {
      fatal = run.fatal;
      giveUp(batch);
      return;
    }
    const remaining: Item[] = [];
    for (const [position, item] of batch.entries()) {
      const outcome = run.outcomes.get(position);
      if (outcome === undefined) remaining.push(item);
      else put(item.index, outcome, outcome.slow);
    }
    const [first, ...others] = remaining;
    if (first === undefined) return;
    if (batch.length === 1) {
      put(first.index, { score: null, reason: "", error: run.ended, ms: 0 }, true);
    } else if (run.hasBegun) {
      await runBatch([first]);
      await runBatch(others);
    } else {
      const middle = Math.ceil(remaining.length / 2);
      await runBatch(remaining.slice(0, middle));
      await runBatch(remaining.slice(middle));
    }
  };

  const giveUp = (batch: readonly Item[]): boolean => {
    const why = fatal ?? lost.reasonToStop;
    if (why === null) return false;
    for (const { index } of batch) outcomes[index] = failedOutcome(why);
    return true;
  };

  for (const batch of batchesOf(traces, reference)) {
    if ("tooLarge" in batch) outcomes[batch.tooLarge] = failedOutcome("the trace is too large for the sandbox");
    else await runBatch(batch);
  }
  return outcomes;
}

function* batchesOf(
  traces: readonly EvaluatedTrace[],
  reference: boolean,
): Generator<readonly Item[] | { readonly tooLarge: number }> {
  let batch: Item[] = [];
  let bytes = 0;
  for (const [index, trace] of traces.entries()) {
    const line = JSON.stringify(evalArguments(trace, reference));
    const size = Buffer.byteLength(line) + 1;
    if (size > MAX_BATCH_BYTES) {
      yield { tooLarge: index };
      continue;
    }
    if (bytes + size > MAX_BATCH_BYTES || batch.length === MAX_BATCH_TRACES) {
      yield batch;
      [batch, bytes] = [[], 0];
    }
    batch.push({ index, line });
    bytes += size;
  }
  yield batch;
}

/** Facts about an eval's code that can be determined without running it. */
export interface CodeDescription {
  /** The first line of the function's documentation, or null if there is none. */
  readonly criterion: string | null;
  /** Whether the code declares that it needs gold answers, scores and verdicts. */
  readonly reference: boolean;
}

const DESCRIBER = readBuiltFile("evals/run-evals/describe_eval.py");
const descriptionSchema = z.union([
  z.strictObject({ unusable: z.string() }),
  z.strictObject({ criterion: z.string().nullable(), reference: z.boolean() }),
]);

/** Describes an eval's code, which Python parses in the sandbox. Throws an Error if it is not an eval. */
export async function describePython(
  code: string,
  sandbox: PythonSandbox,
  signal: AbortSignal,
): Promise<CodeDescription> {
  const workspace = openWorkspace();
  try {
    await workspace.use((folders) => writeText(folders, "eval.py", code));
    const run = await runPython(sandbox, DESCRIBER, workspace, signal, BATCH_MS);
    const { data } = descriptionSchema.safeParse(parseJsonOrNull(run.stdout));
    if (data === undefined) throw new Error(`Python cannot parse it: ${endingOf(run)}`);
    if ("unusable" in data) throw new Error(data.unusable);
    return data;
  } finally {
    await workspace.close();
  }
}

/** Limit of processor time per trace. */
const TRACE_SECONDS = 1;
/** Time limit of a batch, for code that sleeps: far more than a batch needs even on a busy machine. */
const BATCH_MS = 20_000;

const HARNESS = readBuiltFile("evals/run-evals/run_batch.py").replace("run(SECONDS)", `run(${TRACE_SECONDS})`);

/** Runs an eval's code over a batch in one sandbox process. Throws if the process does not start. */
async function runPythonBatch(
  sandbox: PythonSandbox,
  code: string,
  lines: readonly string[],
  signal: AbortSignal,
): Promise<PythonBatch> {
  const workspace = openWorkspace();
  try {
    await workspace.use(async (folders) => {
      await writeText(folders, "eval.py", code);
      await writeText(folders, "arguments.jsonl", lines.join("\n"));
    });
    const run = await runPython(sandbox, HARNESS, workspace, signal, BATCH_MS);
    const written = await workspace.use((folders) =>
      readText(folders, "outcomes.jsonl").catch((error: unknown) => {
        if (error instanceof WorkspaceRefusal) return "";
        throw error;
      }),
    );
    return readOutcomes(written, lines.length, endingOf(run));
  } finally {
    await workspace.close();
  }
}

function readOutcomes(written: string, traces: number, ended: string): PythonBatch {
  const outcomes = new Map<number, PythonOutcome>();
  let isLoaded = false;
  let fatal: string | null = null;
  let hasBegun = false;
  for (const line of written.split("\n")) {
    const value = parseJsonOrNull(line);
    if (typeof value !== "object" || value === null) continue;
    if ("fatal" in value && !isLoaded) fatal ??= String(value.fatal).slice(0, 500);
    if ("loaded" in value) isLoaded = true;
    hasBegun ||= "trace" in value && typeof value.trace === "number";
    const { data } = outcomeSchema.safeParse(value);
    if (data === undefined || data.trace >= traces) continue;
    const { trace, ...outcome } = data;
    outcomes.set(trace, outcome);
  }
  if (!isLoaded) fatal ??= `the code could not be loaded: ${ended}`;
  return { outcomes, fatal, hasBegun, ended };
}

const STOPPED: Readonly<Record<StopReason, string>> = {
  time: "it ran out of time",
  memory: "it ran out of memory",
  output: "its output was too large",
  disk: "it wrote too much data",
  workspace: "it wrote too many or too large files",
};

function endingOf({ stopped, exitCode, stderr }: PythonRun): string {
  if (stopped !== null) return STOPPED[stopped];
  const last = stderr.trim().split("\n").at(-1) ?? "";
  return `its process exited with code ${exitCode}${last === "" ? "" : `: ${last.slice(0, 300)}`}`;
}

/**
 * Returns the first three arguments of an eval function as JSON. The fourth, `ctx`, is created in the sandbox. The
 * trace has the format of export-traces, without scores, the judge's verdict, the grade and the task, and with the tool
 * calls of earlier questions in the same session. Gold answers, scores and verdicts are in the second argument, and
 * only if the eval is marked `reference`.
 */
export function evalArguments(trace: EvaluatedTrace, reference: boolean) {
  const { scores: _, messages, ...rest } = trace;
  const visible: Record<string, unknown> = {
    ...rest,
    messages: messages.map(withoutProviderState),
    toolCalls: withParsedResults(trace.toolCalls),
    earlierToolCalls: withParsedResults(earlierCalls(trace)),
    features: measureFeatures(trace),
  };
  for (const hidden of ["judge", "task", "grade", "left", "question", "inbox", "queryDate"]) delete visible[hidden];
  const { inbox, queryDate } = mailboxOf(trace);
  return {
    task: {
      user_message: askedOf(trace),
      inbox,
      query_date: queryDate,
      task_id: trace.kind === "chat" ? null : trace.taskId,
      suite: trace.kind === "suite" ? trace.task.suite : null,
    },
    task_metadata: reference ? referenceOf(trace) : {},
    trace: visible,
  };
}

/** Returns facts that are not part of the trace itself. */
function referenceOf(trace: EvaluatedTrace) {
  if (trace.kind === "chat") return { scores: trace.scores };
  const question = questionOf(trace);
  const reference = {
    expected_output: question?.answer ?? null,
    expected_sources: question?.message_ids ?? [],
    scores: trace.scores,
    judge: trace.judge,
  };
  return trace.kind === "suite" ? { ...reference, grade: trace.grade } : reference;
}

/** Removes the encrypted provider state, which is long. */
function withoutProviderState(message: Message): Message {
  if (message.role !== "assistant" || message.providerState === undefined) return message;
  const { providerState: _, ...visible } = message;
  return visible;
}
