import { UserError } from "../../domain/errors.js";
import type { Db } from "../../store/connection/open-store.js";
import { holderText, isElsewhere } from "../../store/runs/process-identity.js";
import { lockRun } from "../../store/runs/runs.js";

/** A process that executes a run. A run is locked by one at a time. */
export interface RunOwner {
  readonly name: string;
  /** Whether the process of that name has ended without releasing its lock: it was killed. */
  isGone(name: string): boolean;
}

/** Locks a run for `worker`. Throws where another process that is still alive has locked it. */
export function acquireRunLock(db: Db, runId: string, worker: RunOwner): void {
  const holder = lockRun(db, runId, worker.name, worker.isGone);
  if (holder === null) return;
  throw new UserError(
    "run_busy",
    `Run ${runId} is being worked on by ${holderText(holder)}.`,
    isElsewhere(holder)
      ? "Wait until that process has ended. If it was killed, take the run over: --resume RUN --force."
      : "Wait until that process has ended, or stop it.",
    1,
  );
}
