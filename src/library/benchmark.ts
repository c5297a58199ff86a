// The functions that run and resume a benchmark. Their code is loaded at the first call.
import type { BenchmarkConfig, ResumeConfig } from "./benchmark-config.js";
import { contextOf } from "./options/context.js";
import type { BenchmarkResult, Question } from "./published-types.js";

/**
 * Lets an agent answer questions from the mail in the database, and scores the answers. Everything is stored as by
 * `art-e run`, so that all commands apply to the run.
 *
 * Rejects with an `ArtEError` if the run cannot start, or stopped before its last task. In that case, the message names
 * the run, and `resumeArtEBenchmark` continues it. A failed task does not reject.
 */
export async function runArtEBenchmark(tasks: readonly Question[], config: BenchmarkConfig): Promise<BenchmarkResult> {
  const { runRequest, execute } = await import("./benchmark/execute.js");
  return execute(() => runRequest(tasks, config), config, contextOf(config ?? {}));
}

/**
 * Continues a run that was stopped. Its questions and settings are in the database. Functions are not: pass the same
 * agent and scorers again.
 */
export async function resumeArtEBenchmark(run: string, config: ResumeConfig = {}): Promise<BenchmarkResult> {
  const { resumeRequest, execute } = await import("./benchmark/execute.js");
  return execute(() => resumeRequest(run, config), config, contextOf(config));
}
