import type { z } from "zod";
import { connectionFault } from "../http/connection-fault.js";
import { parseRetryAfter } from "../http/retry-after.js";
import type { RetryPolicy } from "../retry.js";
import { RequestFailed, retryRequest } from "./request-failed.js";

const RETRYABLE_STATUS = new Set([408, 425, 429]);

/**
 * One GET. Resolves to a 2xx response, or 416 for a range; any other status and network errors are a `RequestFailed`.
 * Redirects are followed; fetch removes the Authorization header for another origin.
 */
export async function get(url: string, headers: Record<string, string>, signal: AbortSignal): Promise<Response> {
  const response = await withNetworkErrors(() => fetch(url, { headers, signal, redirect: "follow" }), signal);
  if (response.ok || response.status === 416) return response;
  await response.body?.cancel();
  throw new RequestFailed(describeStatus(response), {
    status: response.status,
    retryable: response.status >= 500 || RETRYABLE_STATUS.has(response.status),
    retryAfterMs: parseRetryAfter(response.headers.get("retry-after")),
  });
}

/** The headers that a server with a token asks for; null: it has none. */
export function authorization(token: string | null): Record<string, string> {
  return token === null ? {} : { authorization: `Bearer ${token}` };
}

/** A JSON document checked against a schema, with the response headers. */
export async function getJson<T>(
  url: string,
  headers: Record<string, string>,
  schema: z.ZodType<T>,
  policy: RetryPolicy,
  signal: AbortSignal,
): Promise<{ value: T; headers: Headers }> {
  return retryRequest(
    async () => {
      const response = await get(url, headers, signal);
      const text = await withNetworkErrors(() => response.text(), signal);
      return { value: parseJson(text, schema), headers: response.headers };
    },
    policy,
    signal,
  );
}

function parseJson<T>(text: string, schema: z.ZodType<T>): T {
  let document: unknown;
  try {
    document = JSON.parse(text);
  } catch (cause) {
    throw new RequestFailed("the answer is not JSON", { retryable: false, cause });
  }
  const parsed = schema.safeParse(document);
  if (parsed.success) return parsed.data;
  const issue = parsed.error.issues[0];
  throw new RequestFailed(`the answer is not as expected: ${issue?.path.join(".") ?? ""} ${issue?.message ?? ""}`, {
    retryable: false,
    cause: parsed.error,
  });
}

/** Turns the TypeErrors of fetch (refused, reset, cut off) into a `RequestFailed`, an abort into its reason. */
export async function withNetworkErrors<T>(step: () => Promise<T>, signal: AbortSignal): Promise<T> {
  try {
    return await step();
  } catch (error) {
    signal.throwIfAborted();
    if (!(error instanceof TypeError)) throw error;
    const { message, retryable } = connectionFault(error);
    throw new RequestFailed(message, { retryable, cause: error });
  }
}

function describeStatus(response: Response): string {
  // The hub sends its reason in this header.
  const reason = response.headers.get("x-error-message") ?? response.statusText;
  return `the server answered ${response.status}${reason === "" ? "" : ` (${reason.slice(0, 200)})`}`;
}
