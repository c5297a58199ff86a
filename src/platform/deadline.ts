// Time limits and signals of operations that can be stopped.
import { setMaxListeners } from "node:events";
import { setTimeout as delay } from "node:timers/promises";

/** A signal that never aborts. */
export const NEVER: AbortSignal = new AbortController().signal;
setMaxListeners(0, NEVER);

/** Node stores a timer's milliseconds in 31 bits. A longer timer fires immediately. */
export const LONGEST_TIMER_MS = 2 ** 31 - 1;

/** Waits, at most as long as the longest timer (25 days). Rejects when the signal aborts. */
export function sleep(ms: number, signal: AbortSignal): Promise<void> {
  return delay(Math.min(ms, LONGEST_TIMER_MS), undefined, { signal });
}

/** A signal that aborts with an outer signal or at a timeout, whichever comes first. */
export interface Deadline {
  readonly signal: AbortSignal;
  readonly hasPassed: boolean;
  /** Detaches the deadline from the outer signal, which lives longer, and clears its timer. */
  close(): void;
}

/**
 * Opens a deadline that must be closed, unlike AbortSignal.any and AbortSignal.timeout. In a run of thousands of tasks
 * those would leave listeners on the run's signal and timers of finished tasks. A timeout longer than the longest timer
 * (25 days) is as long as that one.
 */
export function openDeadline(outer: AbortSignal, timeoutMs: number, reason: () => unknown): Deadline {
  const controller = new AbortController();
  let hasPassed = false;
  const timer = setTimeout(
    () => {
      hasPassed = !controller.signal.aborted;
      controller.abort(reason());
    },
    Math.min(timeoutMs, LONGEST_TIMER_MS),
  );
  follow(outer, controller);
  return {
    signal: controller.signal,
    get hasPassed() {
      return hasPassed;
    },
    close() {
      clearTimeout(timer);
      leave(outer, controller);
    },
  };
}

/** Runs work with a time limit. Rejects at the limit or when `outer` aborts, even if the work ignores its signal. */
export async function withDeadline<T>(
  outer: AbortSignal,
  timeoutMs: number,
  reason: () => unknown,
  work: (signal: AbortSignal) => Promise<T>,
): Promise<T> {
  outer.throwIfAborted();
  const { signal, close } = openDeadline(outer, timeoutMs, reason);
  return untilAborted(signal, () => work(signal)).finally(close);
}

/** Runs work, and rejects with the signal's reason as soon as it aborts, even if the work ignores the signal. */
export async function untilAborted<T>(signal: AbortSignal, work: () => Promise<T>): Promise<T> {
  signal.throwIfAborted();
  let stop = () => {};
  try {
    return await new Promise<T>((resolve, reject) => {
      stop = () => reject(signal.reason);
      signal.addEventListener("abort", stop, { once: true });
      work().then(resolve, (error) => reject(signal.aborted ? signal.reason : error));
    });
  } finally {
    signal.removeEventListener("abort", stop);
  }
}

/** Controllers that abort together with a signal. */
const followers = new WeakMap<AbortSignal, Set<AbortController>>();

/**
 * Aborts the controller with `outer` until `leave` is called. All controllers share one listener: adding or removing a
 * listener scans all listeners of a signal, and a run's signal would have one per open task.
 */
function follow(outer: AbortSignal, controller: AbortController): void {
  if (outer.aborted) {
    controller.abort(outer.reason);
    return;
  }
  let together = followers.get(outer);
  if (together === undefined) {
    together = new Set();
    followers.set(outer, together);
    outer.addEventListener("abort", abortFollowers, { once: true });
  }
  together.add(controller);
}

function leave(outer: AbortSignal, controller: AbortController): void {
  const together = followers.get(outer);
  together?.delete(controller);
  if (together?.size !== 0) return;
  followers.delete(outer);
  outer.removeEventListener("abort", abortFollowers);
}

function abortFollowers({ target }: Event): void {
  const outer = target as AbortSignal;
  for (const controller of followers.get(outer) ?? []) controller.abort(outer.reason);
}
