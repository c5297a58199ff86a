import { isSuiteTrace, type Trace } from "../../domain/runs/trace.js";
import type { Judge, Judgement } from "../../domain/scores/judgement.js";
import type { SameMail } from "../../domain/scores/score.js";
import { questionOf } from "../../domain/tasks/task.js";
import { isFailure } from "../../domain/tasks/task-ending.js";
import { type ScorerName, scoreTrace } from "../../scoring/scorers.js";

/** What all traces of a run are scored with. */
export interface Scoring {
  readonly sameMail: SameMail;
  readonly scorers: readonly ScorerName[];
  /** Null: no judge is called; a verdict that a trace has already still counts. */
  readonly judge: Judge | null;
}

/** Judges and scores the trace. A failed task is not scored. Errors of the judge are not thrown. */
export async function judgeAndScore(trace: Trace, scoring: Scoring, signal: AbortSignal): Promise<Trace> {
  return withScores(await withVerdict(trace, scoring, signal), scoring);
}

/** Calls the judge, where there is one, unless the trace has a verdict of the same judge already. */
export async function withVerdict(trace: Trace, { judge }: Scoring, signal: AbortSignal): Promise<Trace> {
  const task = questionOf(trace.task);
  if (judge === null || task === null || isFailure(trace.ending) || isBy(trace.judge, judge)) return trace;
  const { question, answer: gold } = task;
  return { ...trace, judge: await judge.judge({ question, gold, answer: trace.answer }, signal) };
}

/**
 * Synchronous: scorers that need a verdict use that of the trace. A task of a suite has the scores of its grade: what it
 * left behind is graded also where its time ran out. Answers of failed tasks are not scored.
 */
export function withScores(trace: Trace, { scorers, sameMail }: Scoring): Trace {
  const isFailed = isFailure(trace.ending);
  if (isFailed && !isSuiteTrace(trace)) return trace;
  return { ...trace, scores: scoreTrace(trace, sameMail, isFailed ? [] : scorers) };
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
