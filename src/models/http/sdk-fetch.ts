import { sendRequest, toHeaderRecord } from "./http-client.js";

type Fetch = (input: string | URL | Request, init?: RequestInit) => Promise<Response>;

/**
 * A fetch as far as models need one, for SDKs: a JSON body there, the whole body back. Only the headers of a plain
 * request go with it: ANTHROPIC_CUSTOM_HEADERS and OPENAI_CUSTOM_HEADERS, meant for other programs and other servers,
 * cannot be switched off in the SDKs.
 */
export const sdkFetch: Fetch = async (input, init = {}) => {
  const { method = "GET", body, signal } = init;
  const url = input instanceof Request ? input.url : String(input);
  const request = { method, headers: toHeaderRecord(init.headers), body: (body ?? null) as string | null };
  const options = { signal: signal ?? new AbortController().signal, timeoutMs: null };
  return (await sendRequest(url, request, options)) as unknown as Response;
};
