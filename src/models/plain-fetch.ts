import { boundedBody } from "./bounded-body.js";

/** What a request needs; everything else an SDK would add comes from environment variables nobody handed in. */
const ALLOWED = new Set(["accept", "anthropic-version", "authorization", "content-type", "user-agent", "x-api-key"]);

type Fetch = (input: string | URL | Request, init?: RequestInit) => Promise<Response>;

/**
 * A fetch for SDKs that lets only the headers of a plain request through. ANTHROPIC_CUSTOM_HEADERS and
 * OPENAI_CUSTOM_HEADERS, meant for other programs and other servers, cannot be switched off in the SDKs.
 */
export const plainFetch: Fetch = async (input, init) => {
  const headers = new Headers(init?.headers);
  for (const name of [...headers.keys()]) {
    if (!ALLOWED.has(name)) headers.delete(name);
  }
  return boundedBody(await fetch(input, { ...init, headers }));
};
