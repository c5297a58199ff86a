import type { RunProcessState, RunProgress } from "../../domain/runs/run-progress.js";
import { yieldBetween } from "../../platform/yield-to-event-loop.js";
import type { Db } from "../../store/connection/open-store.js";
import { getRun } from "../../store/runs/runs.js";
import { attemptsSavedAfter, dataVersion } from "../../store/runs/saved-attempts.js";
import { type FinishedFigures, FinishedTasks } from "./finished-tasks.js";
import { estimatePace } from "./throughput.js";

/** Reads from the file how far a run has got; the run may be executed by any process. */
export class RunProgressReader {
  private readonly finished = new FinishedTasks();
  private position = 0;
  private version: string | null = null;
  private figures: FinishedFigures | null = null;

  constructor(
    private readonly db: Db,
    private readonly runId: string,
  ) {}

  /**
   * Adds what has been saved since the last call. Yields to the event loop between pages. False where the file has not
   * changed.
   */
  async read(): Promise<boolean> {
    const version = dataVersion(this.db);
    if (version === this.version) return false;
    this.version = version;
    for await (const page of yieldBetween(attemptsSavedAfter(this.db, this.runId, this.position))) {
      for (const attempt of page) {
        this.finished.add(attempt);
        this.position = attempt.position;
        this.figures = null;
      }
    }
    return true;
  }

  /** Throws a UserError where the run was deleted. */
  progress(process: RunProcessState | null): RunProgress {
    const { id, name, agentId, model, dataset, split, status, startedAt, completedAt, totalTasks, limits } = getRun(
      this.db,
      this.runId,
    );
    this.figures ??= this.finished.figures();
    const { figures } = this;
    const left = totalTasks - figures.doneTasks;
    const isGoingOn = status === "running" && left > 0;
    const pace = isGoingOn ? estimatePace(this.finished.endTimes, left, Date.now()) : null;
    return {
      runId: id,
      name,
      agentId,
      model,
      dataset: dataset.source,
      split,
      status,
      startedAt,
      completedAt,
      totalTasks,
      ...figures,
      maxCostUsd: limits.maxCostUsd,
      tasksPerMinute: pace?.tasksPerMinute ?? null,
      msLeft: pace?.msLeft ?? null,
      process,
    };
  }
}
