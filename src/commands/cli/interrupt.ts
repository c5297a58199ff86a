import { setMaxListeners } from "node:events";
import { Interrupted } from "../../app/use-case-context.js";
import { EXIT } from "../../domain/errors.js";
import { isAnyThreadBusy } from "../../platform/worker-rpc.js";
import { eraseBar, hasBar, writeAboveBar } from "./terminal-bar.js";

export interface Interrupts {
  /** Aborts on the first Ctrl-C (or SIGTERM, or SIGHUP: the terminal was closed). */
  readonly signal: AbortSignal;
  /**
   * For work that stops by itself after the first signal; `message` says what is still finished. The returned signal
   * aborts on the second Ctrl-C, and the third ends the process. Without this call, the second one does.
   */
  untilSecond(message: () => string): AbortSignal;
  /**
   * For work that blocks the event loop: restores the default action of the signals, which ends the process. Returns a
   * function that takes the signals over again.
   */
  letSignalsEnd(): () => void;
}

const SIGNALS = ["SIGINT", "SIGTERM", "SIGHUP"] as const;

type Signal = (typeof SIGNALS)[number];

/** Without a listener limit: hundreds of running calls listen to one signal, and Node would warn of a leak. */
function createController(): AbortController {
  const controller = new AbortController();
  setMaxListeners(0, controller.signal);
  return controller;
}

/** `close` ends the process after a signal, even if a thread is still working. */
export function listenForInterrupt(): Interrupts & { close(): void } {
  const first = createController();
  let second: AbortController | null = null;
  let message = () => "Stopping; once more to stop at once.";
  let last: Signal = "SIGTERM";
  const stop = (signal: Signal) => {
    last = signal;
    if (!first.signal.aborted) {
      // The terminal's echo of Ctrl-C is on a line of its own where no bar is drawn over it.
      writeAboveBar(`${hasBar() ? "" : "\n"}${message()}\n`);
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
    untilSecond(newMessage) {
      message = newMessage;
      second = createController();
      return second.signal;
    },
    letSignalsEnd() {
      eraseBar();
      for (const signal of SIGNALS) process.off(signal, stop);
      return listen;
    },
    close() {
      // Exit only after what was written to a pipe has been flushed.
      if (first.signal.aborted && isAnyThreadBusy()) process.stdout.write("", () => exitBy(last));
    },
  };
}

/**
 * Exits now. Node waits for its threads, and one in a long SQLite statement cannot be ended: then the default action of
 * the signal ends the process.
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
