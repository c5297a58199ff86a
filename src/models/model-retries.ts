import { DEFAULT_RETRY, type RetryPolicy, retry, type Sleep } from "../platform/retry-delay.js";
import { type CallProgress, type Completion, type Model, ModelError, type Retry } from "./model.js";
import { withMessage } from "./provider-errors.js";
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
        const failed = { attempt: retries.length + 1, reason: (error as Error).message, waitedMs };
        retries.push(failed);
        onProgress({ type: "retry", retry: failed });
      },
    });
    return { done, retries, waits: waits.toField(), elapsedMs: performance.now() - startedAt };
  } catch (error) {
    if (!(error instanceof ModelError) || error === signal.reason) throw error;
    const often = retries.length === 0 ? "" : ` (after ${retries.length + 1} attempts)`;
    throw withMessage(error, `${name}: ${error.message}${often}`, retries);
  }
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
      return { ...done, waitedMs: Math.max(0, elapsedMs - done.latencyMs), ...waits, retries };
    },
  };
}
