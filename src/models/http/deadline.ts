import { ModelError } from "../../domain/models/model.js";

/** A signal that aborts with an outer one or when its time is over, whichever comes first. */
export interface Deadline {
  readonly signal: AbortSignal;
  /** Whether it was the time. */
  readonly hasPassed: boolean;
  /** Takes it off the outer signal, which lives longer, and ends its timer. */
  close(): void;
}

/**
 * Made by hand and closed, where AbortSignal.any and AbortSignal.timeout would do: a run of thousands of tasks would gather what they leave behind on
 * the run's signal, and a timer for every task that is long over.
 */
export function openDeadline(outer: AbortSignal, timeoutMs: number, reason: () => unknown): Deadline {
  const controller = new AbortController();
  let hasPassed = false;
  const timer = setTimeout(() => {
    hasPassed = !controller.signal.aborted;
    controller.abort(reason());
  }, timeoutMs);
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

/** What is to be aborted with a signal. */
const followers = new WeakMap<AbortSignal, Set<AbortController>>();

/**
 * Aborts with `outer`, until it leaves. All of them are one listener there: a signal looks through its listeners whenever
 * one more is added or taken off, and that of a run would have one for every task under way.
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

/**
 * Runs `work` with a deadline, and rejects at once when that is over: with the outer signal's reason, or with a `timeout`
 * ModelError. By hand again: a race would be three promises more a call.
 */
export async function withDeadline<T>(
  signal: AbortSignal,
  timeoutMs: number,
  work: (signal: AbortSignal) => Promise<T>,
): Promise<T> {
  signal.throwIfAborted();
  const deadline = openDeadline(signal, timeoutMs, () => timeoutError(timeoutMs));
  const inner = deadline.signal;
  try {
    return await new Promise<T>((resolve, reject) => {
      inner.addEventListener("abort", () => reject(inner.reason), { once: true });
      // An SDK reports an abort in its own words, and may win the race with them.
      work(inner).then(resolve, (error) => reject(inner.aborted ? inner.reason : error));
    });
  } finally {
    deadline.close();
  }
}

/** Why a call is given up whose time is over. */
export function timeoutError(timeoutMs: number): ModelError {
  return new ModelError("timeout", `no complete reply within ${timeoutMs / 1000} s`, { retryable: true });
}

/** Why a task's own deadline aborts: in the platform's word for it. */
export function timeLimitReached(): DOMException {
  return new DOMException("The operation was aborted due to timeout", "TimeoutError");
}
