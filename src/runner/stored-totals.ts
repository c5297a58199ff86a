import type { RunTotals } from "../domain/result.js";
import type { Db } from "../store/open.js";
import { type Attempt, attemptPages, type RunRow } from "../store/runs.js";
import { ScoreTally } from "./score-tally.js";
import { Tally } from "./totals.js";
import { inTurns } from "./turns.js";

/** The totals of a run as it is stored; of one that was stopped, over what it had finished. */
export function storedTotals(db: Db, run: RunRow): RunTotals {
  const sums = new AttemptSums();
  for (const page of attemptPages(db, run.id)) sums.add(page);
  return sums.totals(run);
}

/** The same beside other work: the loop is given back between the pages. */
export async function totalsInTurns(db: Db, run: RunRow): Promise<RunTotals> {
  const sums = new AttemptSums();
  for await (const page of inTurns(attemptPages(db, run.id))) sums.add(page);
  return sums.totals(run);
}

class AttemptSums {
  private readonly tally = new Tally();
  private readonly scores = new ScoreTally();

  add(attempts: readonly Attempt[]): void {
    for (const { result, isSuperseded } of attempts) {
      if (isSuperseded) {
        this.tally.charge(result);
      } else {
        this.tally.add(result);
        this.scores.add(result);
      }
    }
  }

  totals(run: RunRow): RunTotals {
    return this.tally.totals({
      runId: run.id,
      agentId: run.agentId,
      model: run.model,
      split: run.split,
      totalTimeMs: run.activeMs,
      startedAt: run.startedAt,
      completedAt: run.completedAt ?? run.startedAt,
      ...this.scores.figures(),
    });
  }
}
