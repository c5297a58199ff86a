import type { EvalLabel } from "../../domain/evals/label.js";
import type { Feedback } from "../../domain/runs/chat.js";
import { isSuiteTrace, type Trace } from "../../domain/runs/trace.js";
import { bandOf } from "../../domain/scores/score-bands.js";
import { isFailure } from "../../domain/tasks/task-ending.js";
import { isUnanswerable } from "../../scoring/abstention.js";

export interface DerivedLabel {
  readonly label: EvalLabel;
  readonly note: string | null;
}

const BAND_LABELS = { high: "good", medium: "neutral", low: "bad", unscored: null } as const;

/** By a score of the trace: an error or a low one is bad, a high one good. Null where it has no value. */
export function labelByScore(trace: Trace, scorer: string): DerivedLabel | null {
  if (isFailure(trace.ending)) return { label: "bad", note: `ended by ${trace.ending}` };
  const value = trace.scores[scorer]?.value ?? null;
  const label = BAND_LABELS[bandOf(value)];
  return label === null ? null : { label, note: `${scorer} ${Number(value?.toFixed(3))}` };
}

/** The score that says most of a trace as a whole. */
export function defaultScorer(trace: Trace): string {
  return isSuiteTrace(trace) ? "taskScore" : "semanticScore";
}

/** By the verdict of the judge that graded the trace; null where none did. */
export function labelByJudge(trace: Trace): DerivedLabel | null {
  const { judge } = trace;
  if (judge === null || judge.verdict === null || isSuiteTrace(trace)) return null;
  const note = `${judge.verdict}: ${judge.reason}`;
  if (judge.verdict === "partly") return { label: "neutral", note };
  const isRight = judge.verdict === "correct" || (judge.verdict === "abstained" && isUnanswerable(trace.task));
  return { label: isRight ? "good" : "bad", note };
}

const RATING_LABELS = { positive: "good", neutral: "neutral", negative: "bad" } as const;

export function labelByFeedback({ rating, notes }: Pick<Feedback, "rating" | "notes">): DerivedLabel {
  return { label: RATING_LABELS[rating], note: notes };
}
