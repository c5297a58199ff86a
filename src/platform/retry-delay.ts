import { setTimeout as delay } from "node:timers/promises";

export interface RetryPolicy {
  /** Attempts that may fail in a row, the first included. */
  readonly attempts: number;
  /** Upper bound of the first wait; it doubles with every failure. */
  readonly baseMs: number;
  /** Upper bound of any wait the server did not ask for. */
  readonly maxMs: number;
  /** Attempts and waits together since the last progress; a wait that would end later is not begun. */
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

export type Sleep = (ms: number, signal: AbortSignal) => Promise<void>;

const sleepOnTimer: Sleep = (ms, signal) => delay(ms, undefined, { signal });

export interface AttemptFailure {
  readonly retryable: boolean;
  /** How long the server asked to wait. */
  readonly retryAfterMs: number | null;
  /** The attempt brought the work forward, so that the failures in a row are counted anew. */
  readonly progressed?: boolean;
}

export interface RetryOptions {
  readonly policy: RetryPolicy;
  readonly signal: AbortSignal;
  readonly sleep?: Sleep | undefined;
  /** Null: not a failure to retry but a fault; it is thrown as it is. */
  readonly failureOf: (error: unknown) => AttemptFailure | null;
  readonly onRetry?: (error: unknown, waitMs: number) => void;
}

/**
 * Repeats `attempt` while it throws a retryable error and the policy allows it. Waits with full jitter, or as long as
 * the server asked. Throws the last error, or the signal's reason when it aborts during a wait.
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
  // The jitter on top keeps a hundred callers that were told the same second from coming back in it together.
  if (retryAfterMs !== null) return Math.round(retryAfterMs + random() * baseMs);
  return Math.round(random() * Math.min(maxMs, baseMs * 2 ** (failures - 1)));
}
