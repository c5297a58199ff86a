// Repeats a failed attempt after a wait with jitter, or after the wait that the server requests.
import { sleep as sleepOnTimer } from "./deadline.js";

export interface RetryPolicy {
  /** Maximum number of consecutive failures, including the first attempt's. */
  readonly attempts: number;
  /** Maximum first wait in milliseconds. It doubles with every failure. */
  readonly baseMs: number;
  /** Maximum wait in milliseconds, unless the server requests a longer one. */
  readonly maxMs: number;
  /** Maximum milliseconds of attempts and waits since the last progress. A wait that would end later does not start. */
  readonly totalMs: number;
  /** Returns a number in [0, 1). */
  readonly random: () => number;
}

export const DEFAULT_RETRY: RetryPolicy = {
  attempts: 6,
  baseMs: 1000,
  maxMs: 60_000,
  totalMs: 10 * 60_000,
  random: Math.random,
};

export type Sleep = typeof sleepOnTimer;

interface AttemptFailure {
  readonly retryable: boolean;
  /** Wait that the server requested, in milliseconds. */
  readonly retryAfterMs: number | null;
  /** Whether the attempt made enough progress to reset the count of consecutive failures. */
  readonly progressed?: boolean;
}

interface RetryOptions {
  readonly policy: RetryPolicy;
  readonly signal: AbortSignal;
  readonly sleep?: Sleep | undefined;
  /** Returns null for an error that must not be retried and is thrown unchanged. */
  readonly failureOf: (error: unknown) => AttemptFailure | null;
  readonly onRetry?: (error: unknown, waitMs: number) => void;
}

/**
 * Repeats `attempt` while it throws a retryable error and the policy allows it. Waits with full jitter
 * (https://aws.amazon.com/blogs/architecture/exponential-backoff-and-jitter/), or as long as the server requests.
 * Throws the last error, or the signal's reason if it aborts during a wait.
 */
export async function retry<T>(attempt: () => Promise<T>, options: RetryOptions): Promise<T> {
  const { policy, signal, sleep = sleepOnTimer, failureOf, onRetry } = options;
  let failures = 0;
  let startedAt = performance.now();
  for (;;) {
    try {
      return await attempt();
    } catch (error) {
      const failure = failureOf(error);
      if (failure === null || !failure.retryable) throw error;
      if (failure.progressed) {
        failures = 0;
        startedAt = performance.now();
      }
      failures++;
      const waitMs = waitBefore(failures, failure.retryAfterMs, policy);
      const isTooLate = performance.now() - startedAt + waitMs > policy.totalMs;
      if (failures >= policy.attempts || isTooLate) throw error;
      onRetry?.(error, waitMs);
      await sleep(waitMs, signal).catch((reason: unknown) => {
        throw signal.aborted ? signal.reason : reason;
      });
    }
  }
}

function waitBefore(failures: number, retryAfterMs: number | null, { baseMs, maxMs, random }: RetryPolicy): number {
  // Jitter on top prevents a hundred callers with the same requested wait from returning in the same second.
  if (retryAfterMs !== null) return Math.round(retryAfterMs + random() * baseMs);
  return Math.round(random() * Math.min(maxMs, baseMs * 2 ** (failures - 1)));
}
