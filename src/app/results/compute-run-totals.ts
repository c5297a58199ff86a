import type { RunTotals } from "../../domain/runs/benchmark-result.js";
import { yieldBetween } from "../../platform/yield-to-event-loop.js";
import { AllScores } from "../../run-analysis/aggregate/aggregate-scores.js";
import { RunAggregate } from "../../run-analysis/aggregate/run-aggregate.js";
import { SCORES } from "../../scoring/scorers.js";
import type { Db } from "../../store/connection/open-store.js";
import { attemptPages } from "../../store/runs/results.js";
import type { RunRow } from "../../store/runs/runs.js";

/** The totals of a stored run; of a stopped one, over its finished tasks. Yields to the event loop between pages. */
export async function computeRunTotals(db: Db, run: RunRow): Promise<RunTotals> {
  const tally = new RunAggregate();
  const scores = new AllScores(SCORES);
  for await (const page of yieldBetween(attemptPages(db, run.id))) {
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
    ...(run.name === null ? {} : { name: run.name }),
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
