/** A signal that aborts with an outer one or when its time is over, whichever comes first. */
interface Deadline {
  readonly signal: AbortSignal;
  readonly hasPassed: boolean;
  /** Detaches it from the outer signal, which lives longer, and clears its timer. */
  close(): void;
}

/**
 * Closed explicitly, unlike AbortSignal.any and AbortSignal.timeout: in a run of thousands of tasks those would leave
 * listeners on the run's signal and timers of tasks that have ended.
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

/** Controllers to abort together with a signal. */
const followers = new WeakMap<AbortSignal, Set<AbortController>>();

/**
 * Aborts the controller with `outer` until `leave`. All controllers share one listener: adding or removing a listener
 * scans all of a signal's listeners, and a run's signal would have one for every open task.
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
