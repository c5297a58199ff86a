import { setTimeout as sleep } from "node:timers/promises";

/** How often and how patiently a request is tried again. */
export interface RetryPolicy {
  /** Attempts in a row that may fail, the first one counted. */
  readonly attempts: number;
  /** Wait after the first failure; doubled after each further one, with jitter. */
  readonly firstWaitMs: number;
  /** No wait is longer. A server that asks for more (Retry-After) is given up on. */
  readonly longestWaitMs: number;
}

/** The longest wait is the hub's rate-limit window of five minutes. */
export const DEFAULT_RETRY: RetryPolicy = { attempts: 6, firstWaitMs: 500, longestWaitMs: 300_000 };

/** A request that got no usable answer. `message` is a clause for the user, without the address. */
export class RequestFailed extends Error {
  override readonly name = "RequestFailed";
  readonly status: number | null;
  readonly retryable: boolean;
  readonly retryAfterMs: number | null;
  /** The attempt brought the work well forward, so the count of failures in a row starts anew. */
  readonly progressed: boolean;

  constructor(
    message: string,
    details: {
      retryable: boolean;
      status?: number;
      retryAfterMs?: number | null;
      progressed?: boolean;
      cause?: unknown;
    },
  ) {
    super(message, { cause: details.cause });
    this.status = details.status ?? null;
    this.retryable = details.retryable;
    this.retryAfterMs = details.retryAfterMs ?? null;
    this.progressed = details.progressed ?? false;
  }
}

/**
 * Repeats `attempt` while it throws a retryable `RequestFailed`, as the policy allows.
 * When `signal` aborts, throws its reason.
 */
export async function retrying<T>(attempt: () => Promise<T>, policy: RetryPolicy, signal: AbortSignal): Promise<T> {
  let failures = 0;
  for (;;) {
    signal.throwIfAborted();
    try {
      return await attempt();
    } catch (error) {
      signal.throwIfAborted();
      if (!(error instanceof RequestFailed) || !error.retryable) throw error;
      failures = error.progressed ? 1 : failures + 1;
      if (failures >= policy.attempts || (error.retryAfterMs ?? 0) > policy.longestWaitMs) throw error;
      await pause(error.retryAfterMs ?? backOff(failures, policy), signal);
    }
  }
}

function backOff(failures: number, policy: RetryPolicy): number {
  const full = Math.min(policy.firstWaitMs * 2 ** (failures - 1), policy.longestWaitMs);
  return full * (0.5 + Math.random() / 2);
}

async function pause(ms: number, signal: AbortSignal): Promise<void> {
  try {
    await sleep(ms, undefined, { signal });
  } catch (error) {
    signal.throwIfAborted();
    throw error;
  }
}
