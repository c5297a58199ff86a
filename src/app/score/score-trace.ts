import type { Trace } from "../../domain/runs/trace.js";
import type { Judge, Judgement } from "../../domain/scores/judgement.js";
import type { SameMail } from "../../domain/scores/score.js";
import { isFailure } from "../../domain/tasks/ending.js";
import { type ScorerName, scoreTrace } from "../../scoring/scorers.js";

/** What all traces of a run are graded with. */
export interface Scoring {
  readonly sameMail: SameMail;
  readonly scorers: readonly ScorerName[];
  /** Null: nobody is asked; a verdict that a trace bears already still counts. */
  readonly judge: Judge | null;
}

/** The trace judged and scored. A failed task is left ungraded. Never throws for anything a judge does. */
export async function judgeAndScore(trace: Trace, grading: Scoring, signal: AbortSignal): Promise<Trace> {
  return withScores(await withVerdict(trace, grading, signal), grading);
}

/** Where there is a judge: asks it, unless the trace bears a verdict of the same judge already. */
export async function withVerdict(trace: Trace, { judge }: Scoring, signal: AbortSignal): Promise<Trace> {
  if (judge === null || isFailure(trace.ending) || isBy(trace.judge, judge)) return trace;
  const { question, answer: gold } = trace.task;
  return { ...trace, judge: await judge.judge({ question, gold, answer: trace.answer }, signal) };
}

/** Nothing is waited for: what needs a verdict takes the one that the trace bears. */
export function withScores(trace: Trace, { scorers, sameMail }: Scoring): Trace {
  return isFailure(trace.ending) ? trace : { ...trace, scores: scoreTrace(trace, sameMail, scorers) };
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
