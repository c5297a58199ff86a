import { parseJsonOrNull } from "../../platform/parse-json.js";
import { type HttpOptions, sendRequest, toHeaderRecord } from "./http-client.js";

/** An HTTP status of 400 or above, with the members that the SDKs' errors have. */
class HttpError extends Error {
  constructor(
    readonly status: number,
    readonly headers: Headers,
    /** The body, where it is JSON. */
    readonly error: unknown,
    message: string,
  ) {
    super(message);
  }
}

/** Headers of a JSON request, created and validated once per model. */
export function jsonHeaders(others: Readonly<Record<string, string>>): Record<string, string> {
  const type = "application/json";
  return toHeaderRecord({ accept: type, "content-type": type, "user-agent": "art-e", ...others });
}

/** As bytes, which lie outside V8's heap: as strings, request bodies were the largest part of what GC copied. */
export function jsonBytes(value: unknown): Buffer {
  return Buffer.from(JSON.stringify(value));
}

/**
 * One POST of JSON and the JSON that comes back. For the wire format that every local server speaks: the OpenAI SDK
 * would cost 10 % of the event-loop time of a call there.
 * @param headers by `jsonHeaders`
 * @throws what `sendRequest` throws, `HttpError`, or a SyntaxError where the reply is no JSON
 */
export async function postJson(
  url: string,
  headers: Readonly<Record<string, string>>,
  body: Buffer,
  options: HttpOptions,
): Promise<unknown> {
  const reply = await sendRequest(url, { method: "POST", headers, body }, options);
  if (reply.ok) return JSON.parse(await reply.text());
  // The status counts even if the body cannot be read.
  const text = await reply.text().catch(() => "");
  throw new HttpError(reply.status, reply.headers, parseJsonOrNull(text), text.trim() || "without a body");
}
