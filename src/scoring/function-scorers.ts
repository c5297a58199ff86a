// Scorers that are functions of a program.
import type { Score } from "../traces/score.js";
import type { Trace } from "../traces/trace.js";

/** Name under which the score of a function is recorded. It differs from all scorers of art-e. */
export type FunctionScore = `function:${string}`;

/** A scorer that is a function of a program. Unlike art-e's scorers, it can wait for something. */
export interface FunctionScorer {
  readonly name: FunctionScore;
  /** Throws only if the run's signal aborts. Any other failure is a score without a value. */
  score(trace: Trace): Promise<Score>;
}

export function isFunctionScore(name: string): name is FunctionScore {
  return name.startsWith("function:");
}
