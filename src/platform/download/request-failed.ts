import { type RetryPolicy, retry } from "../retry.js";

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

/** Repeats `attempt` while it throws a retryable `RequestFailed`. Throws the signal's reason when it aborts. */
export async function retryRequest<T>(attempt: () => Promise<T>, policy: RetryPolicy, signal: AbortSignal): Promise<T> {
  signal.throwIfAborted();
  const attemptUnlessAborted = () =>
    attempt().catch((error: unknown) => {
      signal.throwIfAborted();
      throw error;
    });
  const failureOf = (error: unknown) => (error instanceof RequestFailed ? error : null);
  return retry(attemptUnlessAborted, { policy, signal, failureOf });
}
