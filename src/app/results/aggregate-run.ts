import type { RunTotals } from "../../domain/runs/benchmark-result.js";
import { ScoreTally } from "../../evaluation/aggregate/all-scores.js";
import { Tally } from "../../evaluation/aggregate/run-aggregate.js";
import { inTurns } from "../../platform/yield-to-event-loop.js";
import type { Db } from "../../store/connection/open-store.js";
import { attemptPages, type RunRow } from "../../store/runs/runs.js";

/** The totals of a run as it is stored; of one that was stopped, over what it had finished. The loop is given back between pages. */
export async function storedTotals(db: Db, run: RunRow): Promise<RunTotals> {
  const tally = new Tally();
  const scores = new ScoreTally();
  for await (const page of inTurns(attemptPages(db, run.id))) {
    for (const { result, isSuperseded } of page) {
      if (isSuperseded) {
        tally.charge(result);
      } else {
        tally.add(result);
        scores.add(result);
      }
    }
  }
  return tally.totals({
    runId: run.id,
    agentId: run.agentId,
    model: run.model,
    split: run.split,
    status: run.status,
    plannedTasks: run.totalTasks,
    totalTimeMs: run.activeMs,
    startedAt: run.startedAt,
    completedAt: run.completedAt ?? run.startedAt,
    ...scores.figures(),
  });
}
