import type { EvalDefinition } from "../../domain/evals/eval-definition.js";
import type { EvalOutcome } from "../../domain/evals/eval-outcome.js";
import { isEvalScore, scoreNameOf, toScore } from "../../domain/evals/score-names.js";
import { isSuiteTrace, type Trace } from "../../domain/runs/trace.js";
import type { Judge, Judgement } from "../../domain/scores/judgement.js";
import type { SameMail } from "../../domain/scores/score.js";
import { questionOf } from "../../domain/tasks/task.js";
import { isFailure } from "../../domain/tasks/task-ending.js";
import { type ScorerName, scoreTrace } from "../../scoring/scorers.js";
import type { ScoringEvals } from "../evals/evals-as-scorers.js";

/** What all traces of a run are scored with. */
export interface Scoring {
  readonly sameMail: SameMail;
  readonly scorers: readonly ScorerName[];
  readonly evals: ScoringEvals;
  /** Null: no judge is called; a verdict that a trace has already still counts. */
  readonly judge: Judge | null;
}

/** Calls the judge, where there is one, unless the trace has a verdict of the same judge already. */
export async function withVerdict(
  trace: Trace,
  { judge }: Pick<Scoring, "judge">,
  signal: AbortSignal,
): Promise<Trace> {
  const task = questionOf(trace.task);
  if (judge === null || task === null || isFailure(trace.ending) || isBy(trace.judge, judge)) return trace;
  const { question, answer: gold } = task;
  return { ...trace, judge: await judge.judge({ question, gold, answer: trace.answer }, signal) };
}

/**
 * Scorers that need a verdict use that of the trace. A task of a suite has the scores of its grade: what it left behind
 * is graded also where its time ran out. Answers of failed tasks are not scored. Scores of evals that are not run now
 * stay. Evals run over all traces together. Throws only the signal's reason.
 */
export async function withScores(traces: readonly Trace[], scoring: Scoring, signal: AbortSignal): Promise<Trace[]> {
  const scored = traces.map((trace) => (isScorable(trace) ? withOwnScores(trace, scoring) : trace));
  const { definitions } = scoring.evals;
  if (definitions.length === 0) return scored;
  const outcomes = await scoring.evals.run(scored.filter(isScorable), signal);
  let next = 0;
  return scored.map((trace) => (isScorable(trace) ? withEvals(trace, definitions, outcomes[next++] ?? []) : trace));
}

function isScorable(trace: Trace): boolean {
  return !isFailure(trace.ending) || isSuiteTrace(trace);
}

function withOwnScores(trace: Trace, { scorers, sameMail }: Scoring): Trace {
  const earlier = Object.entries(trace.scores).filter(([name]) => isEvalScore(name));
  const now = scoreTrace(trace, sameMail, isFailure(trace.ending) ? [] : scorers);
  return { ...trace, scores: { ...now, ...Object.fromEntries(earlier) } };
}

/** With what evals said of the trace. */
export function withEvals<T extends Pick<Trace, "scores">>(
  trace: T,
  evals: readonly EvalDefinition[],
  outcomes: readonly EvalOutcome[],
): T {
  const added = evals.flatMap((definition, i) => {
    const outcome = outcomes[i];
    return outcome === undefined ? [] : [[scoreNameOf(definition), toScore(outcome)] as const];
  });
  return { ...trace, scores: { ...trace.scores, ...Object.fromEntries(added) } };
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
