import type { TaskResult } from "../../domain/runs/benchmark-result.js";
import type { Trace } from "../../domain/runs/trace.js";
import type { Db } from "../../store/connection/open-store.js";
import { iterateResults } from "../../store/runs/results.js";
import { iterateTraces } from "../../store/runs/traces.js";

/** The results of a run by task id and epoch, each with its trace. One trace is in memory at a time. */
export function* resultsWithTraces(db: Db, runId: string): Generator<readonly [TaskResult, Trace]> {
  const traces = iterateTraces(db, { runId });
  try {
    for (const result of iterateResults(db, runId)) {
      // Results and traces come in the same order, one trace a result.
      const { value: trace } = traces.next();
      if (trace === undefined) return;
      yield [result, trace];
    }
  } finally {
    // An open iterator would keep the database from being closed.
    traces.return(undefined);
  }
}
