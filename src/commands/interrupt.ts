import { EXIT } from "../domain/errors.js";

/** The user stopped the work. The message says what was kept and how to go on. */
export class Interrupted extends Error {
  override readonly name = "Interrupted";
}

export interface Interrupts {
  /** Aborts on the first Ctrl-C (or SIGTERM, or SIGHUP: the terminal was closed). */
  readonly signal: AbortSignal;
  /**
   * For work that ends of itself after the first: `say` tells what is still finished. The signal aborts on the second.
   * Unless it is asked for, the second ends the process at once; else the third does.
   */
  untilSecond(say: () => string): AbortSignal;
}

export function listenForInterrupt(): Interrupts {
  const first = new AbortController();
  let second: AbortController | null = null;
  let say = () => "Stopping; once more to stop at once.";
  const stop = () => {
    if (!first.signal.aborted) {
      process.stderr.write(`\n${say()}\n`);
      first.abort(new Interrupted("stopped."));
    } else if (second !== null && !second.signal.aborted) {
      second.abort(new Interrupted("stopped."));
    } else {
      process.exit(EXIT.interrupted);
    }
  };
  for (const signal of ["SIGINT", "SIGTERM", "SIGHUP"] as const) process.on(signal, stop);
  return {
    signal: first.signal,
    untilSecond(told) {
      say = told;
      second = new AbortController();
      return second.signal;
    },
  };
}
