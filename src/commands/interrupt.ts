import { EXIT } from "../domain/errors.js";

/** The user stopped the work. The message says what was kept and how to go on. */
export class Interrupted extends Error {
  override readonly name = "Interrupted";
}

/** The first Ctrl-C (or SIGTERM) aborts the signal, the second ends the process at once. */
export function listenForInterrupt(): AbortSignal {
  const controller = new AbortController();
  const stop = () => {
    if (controller.signal.aborted) process.exit(EXIT.interrupted);
    process.stderr.write("\nStopping; once more to stop at once.\n");
    controller.abort(new Interrupted("stopped."));
  };
  process.on("SIGINT", stop);
  process.on("SIGTERM", stop);
  return controller.signal;
}
