import { readFileSync } from "node:fs";
import { join } from "node:path";
import { z } from "zod";
import { ownRunSettingsSchema } from "../../src/traces/run-settings.js";
import { type BenchmarkResult, benchmarkResultSchema, runTotalsSchema } from "../../src/traces/run-totals.js";
import type { TaskResult } from "../../src/traces/task-result.js";
import { ROOT } from "./art-e.js";

/** The results file according to the source of the shipped JSON Schema. A missing or additional field is an error. */

/** The shipped JSON Schema. */
export const shippedSchema = z.fromJSONSchema(
  JSON.parse(readFileSync(join(ROOT, "schema/results.schema.json"), "utf8")),
);

export const totalsSchema = runTotalsSchema;
export const resultsSchema = benchmarkResultSchema;

/** Results of a run of art-e's own agent loop. */
export const ownResultsSchema = benchmarkResultSchema.extend({ settings: ownRunSettingsSchema });

/** Everything that two runs over the same questions must have in common: all but times and ids. */
export function answersOf({
  taskResults,
}: BenchmarkResult): Omit<
  TaskResult,
  "executionTimeMs" | "modelTimeMs" | "toolTimeMs" | "waitingTimeMs" | "traceId"
>[] {
  return taskResults.map(
    ({ executionTimeMs: _, modelTimeMs: _m, toolTimeMs: _t, waitingTimeMs: _w, traceId: __, ...same }) => same,
  );
}
