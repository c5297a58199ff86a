import { type HttpReply, sendRequest, toHeaderRecord } from "./http-client.js";

type Fetch = (input: string | URL | Request, init?: RequestInit) => Promise<Response>;

/** Statuses that a Response may have no body with. */
const WITHOUT_BODY = new Set([204, 205, 304]);

/**
 * A fetch for the SDKs, over our own client. Only the headers of a plain request go with it: ANTHROPIC_CUSTOM_HEADERS
 * and OPENAI_CUSTOM_HEADERS, meant for other programs and other servers, cannot be switched off in the SDKs.
 */
export const sdkFetch: Fetch = async (input, init = {}) => {
  const { method = "GET", body, signal } = init;
  const url = input instanceof Request ? input.url : String(input);
  const request = { method, headers: toHeaderRecord(init.headers), body: (body ?? null) as string | null };
  const options = { signal: signal ?? new AbortController().signal, timeoutMs: null };
  const reply = await sendRequest(url, request, options);
  const { status, headers } = reply;
  return new Response(WITHOUT_BODY.has(status) ? null : ReadableStream.from(bodyOf(reply)), { status, headers });
};

/** A body that breaks off fails where the SDK reads it. */
async function* bodyOf(reply: HttpReply): AsyncGenerator<Uint8Array> {
  yield new TextEncoder().encode(await reply.text());
}
