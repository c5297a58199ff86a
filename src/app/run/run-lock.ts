import { UserError } from "../../domain/errors.js";
import type { Db } from "../../store/connection/open-store.js";
import { formatHolder, isOnOtherHost } from "../../store/runs/process-identity.js";
import { lockRun } from "../../store/runs/runs.js";

/** Who works on a run, so that no two do. */
export interface RunOwner {
  readonly name: string;
  /** Whether another worker has ended without letting go: it was killed. */
  isGone(name: string): boolean;
}

/** Makes `worker` the one who works on a run, or refuses because another one does. */
export function acquireRunLock(db: Db, runId: string, worker: RunOwner): void {
  const holder = lockRun(db, runId, worker.name, worker.isGone);
  if (holder === null) return;
  throw new UserError(
    "run_busy",
    `Run ${runId} is being worked on by ${formatHolder(holder)}.`,
    isOnOtherHost(holder)
      ? "Wait until that process has ended. If it was killed, take the run over: --resume RUN --force."
      : "Wait until that process has ended, or stop it.",
    1,
  );
}
