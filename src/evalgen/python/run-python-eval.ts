import type { EvalOf } from "../../domain/evals/eval-definition.js";
import { failedOutcome, type MeasuredOutcome } from "../../domain/evals/eval-outcome.js";
import type { EvaluatedTrace } from "../../domain/evals/evaluated-trace.js";
import type { PythonSandbox } from "../../sandbox/python-sandbox.js";
import { evalArguments } from "./eval-arguments.js";
import { type PythonOutcome, runPythonBatch } from "./python-batch.js";

/** A file of the sandbox may have 16 MiB. */
const MAX_BATCH_BYTES = 15 * 2 ** 20;
const MAX_BATCH_TRACES = 1_000;
/** After so many traces that took too long or ended its process, in a row or in all, the rest is not tried. */
const MAX_LOST_IN_A_ROW = 5;
const MAX_LOST = 25;

/** A trace's position among all, and its line of the arguments file. */
interface Item {
  readonly index: number;
  readonly line: string;
}

/**
 * Runs written Python over traces in the sandbox, a batch a process. A batch that dies keeps the outcomes it had; the
 * trace under way is tried alone, the others go on. Whatever the code does is an outcome; throws only where the
 * sandbox does not start, or with the signal's reason.
 */
export async function runPythonEval(
  { code, reference }: Pick<EvalOf<"python">, "code" | "reference">,
  traces: readonly EvaluatedTrace[],
  sandbox: PythonSandbox,
  signal: AbortSignal,
): Promise<MeasuredOutcome[]> {
  const outcomes: MeasuredOutcome[] = traces.map(() => failedOutcome("it was not run"));
  let lostInARow = 0;
  let lost = 0;
  let fatal: string | null = null;

  const put = (index: number, { score, feedback, error, ms }: Omit<PythonOutcome, "slow">, isLost: boolean) => {
    outcomes[index] = { score, reason: feedback, error, ms, costUsd: 0 };
    lostInARow = isLost ? lostInARow + 1 : 0;
    if (isLost) lost++;
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
    const left: Item[] = [];
    for (const [position, item] of batch.entries()) {
      const outcome = run.outcomes.get(position);
      if (outcome === undefined) left.push(item);
      else put(item.index, outcome, outcome.slow);
    }
    const [first, ...others] = left;
    if (first === undefined) return;
    if (batch.length === 1) {
      put(first.index, { score: null, feedback: "", error: run.ended, ms: 0 }, true);
    } else if (left.length < batch.length || run.lastBegun !== null) {
      await runBatch([first]);
      await runBatch(others);
    } else {
      const middle = Math.ceil(left.length / 2);
      await runBatch(left.slice(0, middle));
      await runBatch(left.slice(middle));
    }
  };

  const giveUp = (batch: readonly Item[]): boolean => {
    const isLost = lostInARow >= MAX_LOST_IN_A_ROW || lost >= MAX_LOST;
    const why = fatal ?? (isLost ? `not tried: ${lost} traces before took it too long or ended it` : null);
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
