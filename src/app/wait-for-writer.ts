import type { LockWait } from "../store/connection/write-transaction.js";
import type { AppContext } from "./use-case-context.js";

/** Waits while another program writes to the database, which is told once, until `signal` aborts. */
export function waitForWriter({ note, settings }: AppContext, signal: AbortSignal): LockWait {
  let isNoted = false;
  return {
    signal,
    onWait() {
      if (!isNoted) note(`art-e: another program is writing to ${settings.db}; waiting until it has finished.`);
      isNoted = true;
    },
  };
}
