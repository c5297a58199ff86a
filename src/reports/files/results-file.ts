import type { BenchmarkResult, TaskResult } from "../../domain/runs/benchmark-result.js";

/**
 * The results file (`BenchmarkResult`) in chunks, so that it is never in memory as a whole; one task per line, last.
 */
export function* resultsFile(
  head: Omit<BenchmarkResult, "taskResults">,
  results: Iterable<TaskResult>,
): Generator<string> {
  yield `${JSON.stringify(head, null, 2).replace(/\n}$/, "")},\n  "taskResults": [`;
  let separator = "\n    ";
  for (const result of results) {
    yield `${separator}${JSON.stringify(result)}`;
    separator = ",\n    ";
  }
  yield "\n  ]\n}\n";
}
