// Runs a judge as an eval: the answer of a trace passes if the judge calls it correct.
import { performance } from "node:perf_hooks";
import pLimit from "p-limit";
import { isJudgedBy } from "../../scoring/judge.js";
import { JUDGE_CONCURRENCY } from "../../scoring/judge-settings.js";
import { canBeRetried } from "../../tasks/ending.js";
import { questionOf } from "../../tasks/question.js";
import type { Judge, Judgment } from "../../traces/judgment.js";
import type { EvaluatedTrace } from "../definition.js";
import type { MeasuredOutcome } from "../eval-outcome.js";

/**
 * Judges the answers of traces with a gold answer. With `reuse`, a verdict of the same judge in a trace is used, with
 * its cost. A missing verdict becomes an error in the outcome. Throws only the signal's reason.
 */
export function runJudge(
  traces: readonly EvaluatedTrace[],
  judge: Judge,
  reuse: boolean,
  signal: AbortSignal,
  onOutcome: () => void = () => {},
): Promise<MeasuredOutcome[]> {
  const run = async (trace: EvaluatedTrace): Promise<MeasuredOutcome> => {
    signal.throwIfAborted();
    const task = trace.kind === "chat" ? null : questionOf(trace);
    if (trace.kind === "chat" || task === null) return notJudged("the question has no gold answer");
    if (canBeRetried(trace.ending)) return notJudged(`the task failed (${trace.ending})`);
    const start = performance.now();
    const stored = reuse && trace.judge !== null && isJudgedBy(trace.judge, judge.settings) ? trace.judge : null;
    const { question, answer: gold } = task;
    const judgment = stored ?? (await judge.judge({ question, gold, answer: trace.answer }, signal));
    signal.throwIfAborted();
    return outcomeOf(judgment, performance.now() - start);
  };
  return pLimit(JUDGE_CONCURRENCY).map([...traces], async (trace) => {
    const outcome = await run(trace);
    onOutcome();
    return outcome;
  });
}

function notJudged(reason: string): MeasuredOutcome {
  return { score: null, reason, error: null, ms: 0, costUsd: 0 };
}

function outcomeOf({ verdict, reason, costUsd }: Judgment, ms: number): MeasuredOutcome {
  if (verdict === null) return { score: null, reason: "", error: reason, ms, costUsd };
  return { score: verdict === "correct" ? 1 : 0, reason: `${verdict}: ${reason}`, error: null, ms, costUsd };
}
