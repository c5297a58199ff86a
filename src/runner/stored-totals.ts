import type { RunTotals } from "../domain/result.js";
import type { Db } from "../store/open.js";
import { iterateResults, iterateSuperseded, type RunRow } from "../store/runs.js";
import { ScoreTally } from "./score-tally.js";
import { Tally } from "./totals.js";

/** The totals of a run as it is stored; of one that was stopped, over what it had finished. */
export function storedTotals(db: Db, run: RunRow): RunTotals {
  const tally = new Tally();
  const scores = new ScoreTally();
  for (const result of iterateResults(db, run.id)) {
    tally.add(result);
    scores.add(result);
  }
  for (const result of iterateSuperseded(db, run.id)) tally.charge(result);
  const completedAt = run.completedAt ?? run.startedAt;
  return tally.totals({
    runId: run.id,
    agentId: run.agentId,
    model: run.model,
    split: run.split,
    totalTimeMs: run.activeMs,
    startedAt: run.startedAt,
    completedAt,
    ...scores.figures(),
  });
}
