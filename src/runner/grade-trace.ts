import { isFailure } from "../domain/ending.js";
import type { Judge, Judgement } from "../domain/judgement.js";
import type { SameMail } from "../domain/score.js";
import type { Trace } from "../domain/trace.js";
import { type ScorerName, scoreTrace } from "../scoring/scorers.js";

/** What all traces of a run are graded with. */
export interface Grading {
  readonly sameMail: SameMail;
  readonly scorers: readonly ScorerName[];
  /** Null: nobody is asked; a verdict that a trace bears already still counts. */
  readonly judge: Judge | null;
}

/**
 * The trace with its scores, judged first where there is a judge. A failed task is left ungraded. A verdict by the same judge is not asked for
 * again. Never throws for anything a judge does.
 */
export async function gradeTrace(trace: Trace, grading: Grading, signal: AbortSignal): Promise<Trace> {
  const { judge, scorers, sameMail } = grading;
  if (isFailure(trace.ending)) return trace;
  const { question, answer: gold } = trace.task;
  const judgement =
    judge === null || isBy(trace.judge, judge)
      ? trace.judge
      : await judge.judge({ question, gold, answer: trace.answer }, signal);
  const judged = { ...trace, judge: judgement };
  return { ...judged, scores: scoreTrace(judged, sameMail, scorers) };
}

function isBy(judgement: Judgement | null, { settings }: Judge): boolean {
  if (judgement === null || judgement.verdict === null) return false;
  const { model, baseUrl, protocol, version, votes } = settings;
  return (
    judgement.model === model &&
    judgement.baseUrl === baseUrl &&
    judgement.protocol === protocol &&
    judgement.version === version &&
    judgement.votes === votes
  );
}
