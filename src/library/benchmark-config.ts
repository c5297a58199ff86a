import type { AgentFunction } from "../agents/agent-function.js";
import type { LibraryOptions } from "./options.js";
import type { TaskResult, Trace } from "./published-types.js";

/** Settings of a run that a resume can pass again. Named and described like the flags of `art-e run`. */
export interface BenchmarkOptions extends LibraryOptions {
  /** Maximum number of concurrent tasks [default: "auto", as many as the server accepts, otherwise 5]. */
  readonly concurrency?: number | "auto";
  /** Maximum requests per minute. */
  readonly rpm?: number;
  /** Maximum tokens per minute. */
  readonly tpm?: number;
  /** Seconds per task [default: 600]. */
  readonly taskTimeout?: number;
  /** Seconds per model call [default: 180]. */
  readonly requestTimeout?: number;
  /** US dollars, including the judge. The run stops there and can be resumed. */
  readonly maxCost?: number;
  /** Input and output tokens. */
  readonly maxRunTokens?: number;
  /** Minutes. */
  readonly maxTime?: number;
  /** Number of failed tasks, or a percentage such as "5%". */
  readonly maxFailures?: number | string;
  /** Answers from the cache of earlier replies, and adds new ones to it. */
  readonly cache?: boolean;
  /** Path of a results file to write at the end. */
  readonly output?: string;
  /** Is called after each finished task. */
  readonly onProgress?: (progress: BenchmarkProgress) => void;
}

export interface BenchmarkConfig extends BenchmarkOptions {
  /** Id of an agent in the database, such as "baseline" or "email-search", or a function that answers. */
  readonly agent: string | AgentFunction;
  /** Name of the run, usable in place of its id. */
  readonly name?: string;
  /** Model as provider/name [default: the agent's]. */
  readonly modelId?: string;
  readonly modelProvider?: string;
  /** URL of a compatible server. */
  readonly baseUrl?: string;
  /** 0 to 2. */
  readonly temperature?: number;
  readonly maxTurns?: number;
  /** Tokens per reply. */
  readonly maxTokens?: number;
  readonly reasoningEffort?: string;
  /** US dollars per million tokens. */
  readonly price?: { readonly input: number; readonly output: number; readonly cached?: number };
  /** Number of times each question is asked [default: 1]. */
  readonly epochs?: number;
  /** "off" also shows mail after the question's date [default: "query_date"]. */
  readonly cutoff?: "query_date" | "off";
  /** US dollars per task. */
  readonly maxTaskCost?: number;
  /** Names of scorers and evals (eval:NAME), and functions [default: all scorers that can run]. */
  readonly scorers?: readonly (string | Scorer)[];
  /** Model that judges the answers, as provider/name. */
  readonly judge?: string;
  readonly judgeVotes?: number;
  readonly noJudge?: boolean;
  /** Accepts questions about mailboxes that were imported only in part. */
  readonly partialInboxes?: boolean;
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
  score(trace: Trace): ScorerResult | Promise<ScorerResult>;
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
