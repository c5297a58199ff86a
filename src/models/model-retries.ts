// Retries a failed model call, and adds up what the failed attempts cost.
import { DEFAULT_RETRY, type RetryPolicy, retry, type Sleep } from "../platform/retry-delay.js";
import { type CallProgress, type Completion, type Model, ModelError, type ReplyDelta, type Retry } from "./model.js";
import { CallWaits } from "./rate-limiter.js";
import { addCost, addUsage, sumBilled } from "./usage.js";

/**
 * Retries a model or agent call that fails with a retryable `ModelError`. Passes the progress of each attempt, and each
 * retry, to `listener`. Returns the failed attempts in `retries`. If all attempts fail, the last error contains them,
 * and its message starts with `name`. Once `canRetry` returns false, no error is retried.
 */
export async function retryFollowed<T>(
  name: string,
  attempt: (onProgress: (progress: CallProgress) => void) => Promise<T>,
  signal: AbortSignal,
  listener: ((progress: CallProgress) => void) | undefined,
  policy: RetryPolicy = DEFAULT_RETRY,
  sleep?: Sleep,
  canRetry: () => boolean = () => true,
) {
  const waits = new CallWaits();
  const retries: Retry[] = [];
  const onProgress = (progress: CallProgress) => {
    waits.add(progress);
    listener?.(progress);
  };
  const startedAt = performance.now();
  try {
    const done = await retry(() => attempt(onProgress), {
      policy,
      signal,
      sleep,
      failureOf: (error) => (error instanceof ModelError && canRetry() ? error : null),
      onRetry(error, waitedMs) {
        const billed = error instanceof ModelError && error.billed !== null ? { billed: error.billed } : {};
        const failed = { attempt: retries.length + 1, reason: (error as Error).message, waitedMs, ...billed };
        retries.push(failed);
        onProgress({ type: "retry", retry: failed });
      },
    });
    return { done, retries, waits: waits.toField(), elapsedMs: performance.now() - startedAt };
  } catch (error) {
    if (!(error instanceof ModelError) || error === signal.reason) throw error;
    const lasting = lastingFailure(error, performance.now() - startedAt, policy);
    if (lasting !== null) throw lasting.with({ message: `${name}: ${lasting.message}`, retries });
    const often = retries.length === 0 ? "" : ` (after ${retries.length + 1} attempts)`;
    throw error.with({ message: `${name}: ${error.message}${often}`, retries });
  }
}

/**
 * If the server requests a longer wait than the policy allows, returns an error that ends the run. Otherwise returns
 * null. A short wait means that the server is busy, and other tasks might still succeed.
 */
function lastingFailure(error: ModelError, elapsedMs: number, { maxMs, totalMs }: RetryPolicy): ModelError | null {
  const { retryable, retryAfterMs, message } = error;
  if (!retryable || retryAfterMs === null || retryAfterMs <= maxMs || elapsedMs + retryAfterMs <= totalMs) return null;
  const until = new Date(Date.now() + retryAfterMs).toISOString().slice(0, 16).replace("T", " ");
  const kind = "unavailable";
  return error.with({ kind, retryable: false, message: `${message}; the server requests a wait until ${until} UTC` });
}

/**
 * Decorates a model: retries failed calls. Its replies report the waiting time, including rate limiting inside the
 * model. A streamed call is retried only until a part of its reply has been delivered, because its reader might already
 * show that part.
 */
export function withRetry(model: Model, policy: RetryPolicy = DEFAULT_RETRY, sleep?: Sleep): Model {
  return {
    id: model.id,
    async complete(request, signal): Promise<Completion> {
      let isShown = false;
      const { onDelta } = request;
      const showing =
        onDelta &&
        ((delta: ReplyDelta) => {
          isShown = true;
          onDelta(delta);
        });
      const { done, retries, waits, elapsedMs } = await retryFollowed(
        model.id,
        (onProgress) => model.complete({ ...request, onDelta: showing, onProgress }, signal),
        signal,
        request.onProgress,
        policy,
        sleep,
        () => !isShown,
      );
      const waitedMs = Math.max(0, elapsedMs - done.latencyMs);
      return { ...done, ...costWithRetries(done, retries), waitedMs, ...waits, retries };
    },
  };
}

/**
 * Returns the usage and cost of a reply and the failed attempts before it. If one value is unknown, the sum is unknown.
 */
export function costWithRetries<T extends Pick<Completion, "usage" | "costUsd">>(
  { usage, costUsd }: T,
  retries: readonly Retry[],
): Pick<Completion, "usage" | "costUsd"> {
  const billed = sumBilled(retries.map((retry) => retry.billed));
  if (billed === null) return costUsd === undefined ? { usage } : { usage, costUsd };
  return {
    usage: usage === null ? null : addUsage(usage, billed.usage),
    ...(costUsd === undefined ? {} : { costUsd: addCost(costUsd, billed.costUsd) }),
  };
}
