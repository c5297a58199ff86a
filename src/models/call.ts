import type { Completion } from "../domain/model.js";
import type { Endpoint } from "./connection.js";
import { withDeadline } from "./deadline.js";
import { toModelError } from "./errors.js";

/** What a wire format reads out of a reply; the time it took is measured round it. */
export type Reply = Omit<Completion, "latencyMs" | "retries">;

/**
 * One attempt: `send` puts the request on the wire and gives the parsed body, `read` checks it. Rejects with the
 * signal's reason, or with a ModelError; a throw of ours in between stays what it is.
 */
export async function callOnce(
  endpoint: Endpoint,
  signal: AbortSignal,
  send: (signal: AbortSignal) => Promise<unknown>,
  read: (body: unknown) => Reply,
): Promise<Completion> {
  const startedAt = performance.now();
  try {
    const body = await withDeadline(signal, endpoint.timeoutMs, send);
    return { ...read(body), latencyMs: performance.now() - startedAt, retries: [] };
  } catch (error) {
    if (signal.aborted) throw signal.reason;
    throw toModelError(error, endpoint.apiKey);
  }
}
