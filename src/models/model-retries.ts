import { DEFAULT_RETRY, type RetryPolicy, retry, type Sleep } from "../platform/retry-delay.js";
import {
  addCost,
  addUsage,
  type CallProgress,
  type Completion,
  type Model,
  ModelError,
  type Retry,
  sumBilled,
} from "./model.js";
import { CallWaits } from "./rate-limiter.js";

/**
 * Calls a model, or an agent, again while it fails with a retryable `ModelError`. Each attempt tells its progress,
 * which `listener` hears too, with the retries. What was tried stands in `retries`, or in the last error's, whose
 * message `name` begins.
 */
export async function retryFollowed<T>(
  name: string,
  attempt: (onProgress: (progress: CallProgress) => void) => Promise<T>,
  signal: AbortSignal,
  listener: ((progress: CallProgress) => void) | undefined,
  policy: RetryPolicy = DEFAULT_RETRY,
  sleep?: Sleep,
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
      failureOf: (error) => (error instanceof ModelError ? error : null),
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
 * The error of a server that asks for a longer wait than the policy has left, as an error that ends the run. Null if it
 * does not. A short wait is a busy server, which other tasks may get through to.
 */
function lastingFailure(error: ModelError, elapsedMs: number, { maxMs, totalMs }: RetryPolicy): ModelError | null {
  const { retryable, retryAfterMs, message } = error;
  if (!retryable || retryAfterMs === null || retryAfterMs <= maxMs || elapsedMs + retryAfterMs <= totalMs) return null;
  const until = new Date(Date.now() + retryAfterMs).toISOString().slice(0, 16).replace("T", " ");
  const kind = "unavailable";
  return error.with({ kind, retryable: false, message: `${message}; the server asks to wait until ${until} UTC` });
}

/**
 * The same model, its failed calls tried again. It knows what each reply was waited for, throttling inside it
 * included.
 */
export function withRetry(model: Model, policy: RetryPolicy = DEFAULT_RETRY, sleep?: Sleep): Model {
  return {
    id: model.id,
    async complete(request, signal): Promise<Completion> {
      const { done, retries, waits, elapsedMs } = await retryFollowed(
        model.id,
        (onProgress) => model.complete({ ...request, onProgress }, signal),
        signal,
        request.onProgress,
        policy,
        sleep,
      );
      const waitedMs = Math.max(0, elapsedMs - done.latencyMs);
      return { ...done, ...costWithRetries(done, retries), waitedMs, ...waits, retries };
    },
  };
}

/** Usage and cost of a reply, with those of the failed attempts before it. An unknown sum stays unknown. */
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
