// The options of `runArtEBenchmark` and `resumeArtEBenchmark`. Most are flags of `art-e run`.
import type { AgentFunction } from "../agents/agent-function.js";
import type { LibraryOptions } from "./options.js";
import type { RunOptions, SessionOptions, TaskResult, Trace } from "./published-types.js";

/** Settings of a run that a resume can pass again. */
export interface BenchmarkOptions extends LibraryOptions, SessionOptions {
  /** Is called after each finished task. */
  readonly onProgress?: (progress: BenchmarkProgress) => void;
}

export interface BenchmarkConfig extends BenchmarkOptions, RunOptions {
  /** Id of an agent in the database, such as "baseline" or "email-search", or a function that answers. */
  readonly agent: string | AgentFunction;
  /**
   * Names of scorers and evals (eval:NAME), and functions [default: all scorers that can run]. With functions alone,
   * only these and the averages of a results file are computed.
   */
  readonly scorers?: readonly (string | Scorer)[];
}

/** The settings of a stopped run are stored, except for these. */
export interface ResumeConfig extends BenchmarkOptions {
  /** The agent, if it is a function. */
  readonly agent?: AgentFunction;
  /** The scorers that are functions. */
  readonly scorers?: readonly Scorer[];
  /** Runs failed tasks again. */
  readonly retryFailed?: boolean;
}

/** A custom score. In results, its name is `function:NAME`. */
export interface Scorer {
  readonly name: string;
  /** Returns a number, null if the score does not apply, or both with an explanation. */
  score(trace: Trace, expected: Expected): ScorerResult | Promise<ScorerResult>;
}

/** The right result of a question. */
export interface Expected {
  /** The gold answer. */
  readonly answer: string;
  /** Message-IDs of the emails that prove it. */
  readonly sources: readonly string[];
}

type ScorerResult = number | null | { readonly value: number | null; readonly explanation?: string };

export interface BenchmarkProgress {
  readonly runId: string;
  /** Number of tasks with a result, including failed ones. */
  readonly finishedTasks: number;
  readonly totalTasks: number;
  /** The result of the task that has just been saved. */
  readonly result: TaskResult;
}
