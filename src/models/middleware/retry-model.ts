import { type CallProgress, type Completion, type Model, ModelError, type Retry } from "../../domain/models/model.js";
import { DEFAULT_RETRY, type RetryPolicy, retry, type Sleep } from "../../platform/retry.js";
import { withMessage } from "../http/provider-errors.js";
import { CallWaits } from "./call-waits.js";

export interface Tried<T> {
  readonly done: T;
  /** The attempts that failed before. */
  readonly retries: readonly Retry[];
}

export interface RetryOptions {
  readonly policy?: RetryPolicy | undefined;
  readonly sleep?: Sleep | undefined;
  /** Called before each wait. */
  readonly onRetry?: ((failed: Retry) => void) | undefined;
}

/**
 * Calls a model, or an agent, again while it fails with a retryable `ModelError`. What was tried stands in `retries`,
 * or in the last error's, whose message `name` begins.
 */
export async function retryWithPolicy<T>(
  name: string,
  attemptOnce: () => Promise<T>,
  signal: AbortSignal,
  { policy = DEFAULT_RETRY, sleep, onRetry }: RetryOptions = {},
): Promise<Tried<T>> {
  const retries: Retry[] = [];
  try {
    const done = await retry(attemptOnce, {
      policy,
      signal,
      sleep,
      failureOf: (error) => (error instanceof ModelError ? error : null),
      onRetry(error, waitedMs) {
        const failed = { attempt: retries.length + 1, reason: (error as Error).message, waitedMs };
        retries.push(failed);
        onRetry?.(failed);
      },
    });
    return { done, retries };
  } catch (error) {
    if (!(error instanceof ModelError) || error === signal.reason) throw error;
    const often = retries.length === 0 ? "" : ` (after ${retries.length + 1} attempts)`;
    throw withMessage(error, `${name}: ${error.message}${often}`, retries);
  }
}

/** A call that was tried until it was done, with what it waited for. */
export interface FollowedTry<T> extends Tried<T> {
  readonly waits: ReturnType<CallWaits["toField"]>;
  /** Of all attempts and pauses. */
  readonly elapsedMs: number;
}

/** As `retryWithPolicy`; each attempt tells its progress, which `listener` hears too, with the retries. */
export async function retryFollowed<T>(
  name: string,
  attempt: (onProgress: (progress: CallProgress) => void) => Promise<T>,
  signal: AbortSignal,
  options: Omit<RetryOptions, "onRetry"> & { readonly listener: ((progress: CallProgress) => void) | undefined },
): Promise<FollowedTry<T>> {
  const { policy, sleep, listener } = options;
  const waits = new CallWaits();
  const onProgress = (progress: CallProgress) => {
    waits.add(progress);
    listener?.(progress);
  };
  const startedAt = performance.now();
  const onRetry = (retry: Retry) => onProgress({ type: "retry", retry });
  const tried = await retryWithPolicy(name, () => attempt(onProgress), signal, { policy, sleep, onRetry });
  return { ...tried, waits: waits.toField(), elapsedMs: performance.now() - startedAt };
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
        { policy, sleep, listener: request.onProgress },
      );
      return { ...done, waitedMs: Math.max(0, elapsedMs - done.latencyMs), ...waits, retries };
    },
  };
}
