import type { AgentFunction } from "../agents/agent-function.js";
import { contextOf } from "./options/context.js";
import type { LibraryOptions } from "./options.js";
import type { BenchmarkResult, Question, TaskResult, Trace } from "./published-types.js";

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

/** A score of your own. In results its name is `function:NAME`. */
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

/**
 * Lets an agent answer questions from the mail in the database, and scores the answers. Everything is stored as by
 * `art-e run`, so that all commands apply to the run.
 *
 * Rejects with an `ArtEError` if the run cannot start, or stopped before its last task. In that case, the message names
 * the run, and `resumeArtEBenchmark` continues it. A failed task does not reject.
 */
export async function runArtEBenchmark(tasks: readonly Question[], config: BenchmarkConfig): Promise<BenchmarkResult> {
  const { runRequest, execute } = await import("./benchmark/execute.js");
  return execute(await runRequest(tasks, config), config, contextOf(config));
}

/**
 * Continues a run that was stopped. Its questions and settings are in the database. Functions are not: pass the same
 * agent and scorers again.
 */
export async function resumeArtEBenchmark(
  run: string,
  config: BenchmarkOptions &
    Partial<Pick<BenchmarkConfig, "agent" | "scorers">> & { readonly retryFailed?: boolean } = {},
): Promise<BenchmarkResult> {
  const { resumeRequest, execute } = await import("./benchmark/execute.js");
  return execute(resumeRequest(run, config), config, contextOf(config));
}
