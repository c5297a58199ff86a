// Turns Ctrl-C, SIGTERM and SIGHUP into abort signals: the first asks the work to stop, a later one ends the process.
import { setMaxListeners } from "node:events";
import { type AppContext, Interrupted } from "../platform/app-context.js";
import { EXIT } from "../platform/errors.js";
import { isAnyThreadBusy } from "../platform/worker-rpc.js";
import { eraseBar, isBarShown, writeAboveBar } from "./progress.js";

/**
 * `signal` aborts on the first Ctrl-C, SIGTERM or SIGHUP (the terminal was closed). `untilSecond` is for work that
 * stops by itself after that. The third Ctrl-C then ends the process. Without this call, the second one ends it.
 */
export interface Interrupts extends Pick<AppContext, "signal" | "untilSecond"> {
  /**
   * For work that blocks the event loop. Restores the default action of the signals, which ends the process. Returns a
   * function that handles the signals again.
   */
  letSignalsEnd(): () => void;
}

const SIGNALS = ["SIGINT", "SIGTERM", "SIGHUP"] as const;

type Signal = (typeof SIGNALS)[number];

/** No listener limit, because hundreds of running calls listen to one signal and Node would warn about a leak. */
function createController(): AbortController {
  const controller = new AbortController();
  setMaxListeners(0, controller.signal);
  return controller;
}

/**
 * Handles signals until `close` is called. After a signal, `close` ends the process even if a thread is still working.
 */
export function listenForInterrupt(): Interrupts & { close(): void } {
  const first = createController();
  let second: AbortController | null = null;
  let message = () => "Stopping. Press Ctrl-C again to stop immediately.";
  let last: Signal = "SIGTERM";
  const stop = (signal: Signal) => {
    last = signal;
    if (!first.signal.aborted) {
      // Without a bar to draw over it, the terminal's echo of Ctrl-C stays on its own line.
      writeAboveBar(`${isBarShown() ? "" : "\n"}${message()}\n`);
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
      // Exit only after output to a pipe has been flushed.
      if (first.signal.aborted && isAnyThreadBusy()) process.stdout.write("", () => exitBy(last));
    },
  };
}

/**
 * Exits immediately. Node waits for its threads, and a thread in a long SQLite statement cannot be stopped. In that
 * case, the signal's default action ends the process.
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

/** Resolves when the user asks to stop. */
export function untilAborted(signal: AbortSignal): Promise<void> {
  return new Promise((resolve) => {
    if (signal.aborted) resolve();
    signal.addEventListener("abort", () => resolve(), { once: true });
  });
}
