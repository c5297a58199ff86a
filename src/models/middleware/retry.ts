import { setTimeout as delay } from "node:timers/promises";
import { type Completion, type Model, ModelError, type Retry } from "../../domain/models/model.js";
import { withMessage } from "../http/provider-errors.js";

export interface RetryPolicy {
  /** Calls in all, the first included. */
  readonly attempts: number;
  /** Upper bound of the first wait; it doubles with every attempt. */
  readonly baseMs: number;
  /** Upper bound of any wait the server did not ask for. */
  readonly maxMs: number;
  /** Attempts and waits together; a wait that would end later is not begun. */
  readonly totalMs: number;
  /** In [0, 1). */
  readonly random: () => number;
}

export const DEFAULT_RETRY: RetryPolicy = {
  attempts: 6,
  baseMs: 1000,
  maxMs: 60_000,
  totalMs: 10 * 60_000,
  random: Math.random,
};

/** Waits `ms`, or rejects when the signal aborts. */
export type Sleep = (ms: number, signal: AbortSignal) => Promise<void>;

const sleepOnTimer: Sleep = (ms, signal) => delay(ms, undefined, { signal });

export interface Tried<T> {
  readonly done: T;
  /** The attempts that failed before. */
  readonly retries: readonly Retry[];
}

/**
 * The one place where a call is tried again. Waits with full jitter, at least as long as the server asked;
 * gives up on errors that are not retryable, after `attempts`, or when waiting would pass `totalMs`. What was tried
 * stands in `retries`, or in the last error's, whose message `name` begins.
 */
export async function retryWithPolicy<T>(
  name: string,
  attemptOnce: () => Promise<T>,
  signal: AbortSignal,
  policy: RetryPolicy = DEFAULT_RETRY,
  sleep: Sleep = sleepOnTimer,
): Promise<Tried<T>> {
  const retries: Retry[] = [];
  const startedAt = performance.now();
  for (let attempt = 1; ; attempt++) {
    try {
      return { done: await attemptOnce(), retries };
    } catch (error) {
      if (!(error instanceof ModelError)) throw error;
      const waitMs = waitBefore(attempt, error, policy);
      const late = performance.now() - startedAt + waitMs > policy.totalMs;
      if (!error.retryable || attempt >= policy.attempts || late) {
        const often = attempt === 1 ? "" : ` (after ${attempt} attempts)`;
        throw withMessage(error, `${name}: ${error.message}${often}`, retries);
      }
      retries.push({ attempt, reason: error.message, waitedMs: waitMs });
      await sleep(waitMs, signal).catch((reason: unknown) => {
        throw signal.aborted ? signal.reason : reason;
      });
    }
  }
}

/** The same model, its failed calls tried again. It knows what each reply was waited for, throttling inside it included. */
export function withRetry(model: Model, policy: RetryPolicy = DEFAULT_RETRY, sleep: Sleep = sleepOnTimer): Model {
  return {
    id: model.id,
    async complete(request, signal): Promise<Completion> {
      const once = () => model.complete(request, signal);
      const startedAt = performance.now();
      const { done, retries } = await retryWithPolicy(model.id, once, signal, policy, sleep);
      const waitedMs = Math.max(0, performance.now() - startedAt - done.latencyMs);
      return { ...done, waitedMs, retries };
    },
  };
}

function waitBefore(attempt: number, error: ModelError, policy: RetryPolicy): number {
  const backoff = Math.min(policy.maxMs, policy.baseMs * 2 ** (attempt - 1));
  // The jitter on top keeps a hundred callers that were told the same second from coming back in it together.
  if (error.retryAfterMs !== null) return Math.round(error.retryAfterMs + policy.random() * policy.baseMs);
  return Math.round(policy.random() * backoff);
}
