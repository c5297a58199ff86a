import { setMaxListeners } from "node:events";
import { Interrupted } from "../../app/context.js";
import { EXIT } from "../../domain/errors.js";
import { isAnyThreadBusy } from "../../platform/worker-rpc.js";

export interface Interrupts {
  /** Aborts on the first Ctrl-C (or SIGTERM, or SIGHUP: the terminal was closed). */
  readonly signal: AbortSignal;
  /**
   * For work that ends of itself after the first: `say` tells what is still finished. The signal aborts on the second.
   * Unless it is asked for, the second ends the process at once; else the third does.
   */
  untilSecond(say: () => string): AbortSignal;
  /**
   * For work that gives the event loop no chance to hear of a signal: until the function that is returned is called, one ends
   * the process as it would any other program.
   */
  letSignalsEnd(): () => void;
}

const SIGNALS = ["SIGINT", "SIGTERM", "SIGHUP"] as const;

type Signal = (typeof SIGNALS)[number];

/** Hundreds of calls under way listen to one signal: no leak, which Node would warn of. */
function listenedTo(): AbortController {
  const controller = new AbortController();
  setMaxListeners(0, controller.signal);
  return controller;
}

/** `close` ends the process after a signal though a thread is still at work. */
export function listenForInterrupt(): Interrupts & { close(): void } {
  const first = listenedTo();
  let second: AbortController | null = null;
  let say = () => "Stopping; once more to stop at once.";
  let last: Signal = "SIGTERM";
  const stop = (signal: Signal) => {
    last = signal;
    if (!first.signal.aborted) {
      process.stderr.write(`\n${say()}\n`);
      first.abort(new Interrupted("stopped."));
    } else if (second !== null && !second.signal.aborted) {
      second.abort(new Interrupted("stopped."));
    } else {
      exitBy(signal);
    }
  };
  const listen = () => {
    for (const signal of SIGNALS) process.on(signal, stop);
  };
  listen();
  return {
    signal: first.signal,
    untilSecond(told) {
      say = told;
      second = listenedTo();
      return second.signal;
    },
    letSignalsEnd() {
      for (const signal of SIGNALS) process.off(signal, stop);
      return listen;
    },
    close() {
      // What was written to a pipe is on its way.
      if (first.signal.aborted && isAnyThreadBusy()) process.stdout.write("", () => exitBy(last));
    },
  };
}

/**
 * Exits now. Node waits for its threads, and one in a long statement of SQLite cannot be ended: then the signal itself ends the
 * process, as it does where nobody listens.
 */
function exitBy(signal: Signal): void {
  if (isAnyThreadBusy()) {
    process.once("exit", () => {
      process.removeAllListeners(signal);
      process.kill(process.pid, signal);
    });
  }
  process.exit(EXIT.interrupted);
}
