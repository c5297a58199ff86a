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

/** The headers of a JSON request, made once a model and checked then, not at each call. */
export function jsonHeaders(others: Readonly<Record<string, string>>): Record<string, string> {
  const type = "application/json";
  return toHeaderRecord({ accept: type, "content-type": type, "user-agent": "art-e", ...others });
}

/** As bytes, which lie outside V8's heap: as strings they were the largest part of what it copied while calls were under way. */
export function jsonBytes(value: unknown): Buffer {
  return Buffer.from(JSON.stringify(value));
}

/**
 * One POST of JSON and the JSON that comes back. For the wire format that every local server speaks: there the OpenAI SDK,
 * which does the same, would take a tenth of the time that the loop has for a call.
 * @param headers by `jsonHeaders`
 * @throws what `exchange` throws, `HttpError`, or a SyntaxError where the reply is no JSON
 */
export async function postJson(
  url: string,
  headers: Readonly<Record<string, string>>,
  body: Buffer,
  options: HttpOptions,
): Promise<unknown> {
  const reply = await sendRequest(url, { method: "POST", headers, body }, options);
  if (reply.ok) return JSON.parse(await reply.text());
  // What the status says holds though the body cannot be read.
  const text = await reply.text().catch(() => "");
  throw new HttpError(reply.status, reply.headers, parseJson(text), text.trim() || "without a body");
}

function parseJson(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}
