import { ModelError } from "../domain/model.js";

/**
 * Runs `work` with a signal that aborts with `signal` or after `timeoutMs`, whichever comes first, and rejects at
 * once when it does: with the outer signal's reason, or with a `timeout` ModelError. Nothing stays behind on the
 * outer signal, which lives as long as the run, and no timer outlives the call.
 */
export async function withDeadline<T>(
  signal: AbortSignal,
  timeoutMs: number,
  work: (signal: AbortSignal) => Promise<T>,
): Promise<T> {
  signal.throwIfAborted();
  const controller = new AbortController();
  const stopped = new Promise<never>((_, reject) => {
    controller.signal.addEventListener("abort", () => reject(controller.signal.reason), { once: true });
  });
  stopped.catch(() => undefined);
  const onAbort = () => controller.abort(signal.reason);
  signal.addEventListener("abort", onAbort, { once: true });
  const timer = setTimeout(() => {
    const message = `no complete reply within ${timeoutMs / 1000} s`;
    controller.abort(new ModelError("timeout", message, { retryable: true }));
  }, timeoutMs);
  try {
    return await Promise.race([work(controller.signal), stopped]);
  } catch (error) {
    // An SDK reports an abort in its own words, and may win the race with them.
    if (controller.signal.aborted) throw controller.signal.reason;
    throw error;
  } finally {
    clearTimeout(timer);
    signal.removeEventListener("abort", onAbort);
  }
}
