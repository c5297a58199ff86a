import { createServer, type Server } from "node:http";
import type { AddressInfo } from "node:net";
import { afterAll, beforeAll, expect, test } from "vitest";
import type { ModelError } from "../../src/models/model.js";
import { resolveModel } from "../../src/models/open-model.js";
import { DEFAULT_RETRY } from "../../src/platform/retry.js";
import { WIRE_FORMATS } from "../providers/wire-request.js";
import { REQUEST } from "./wire.js";

/** A model server that sends its callers elsewhere must not make them take the key and the prompt along. */

const received: string[] = [];
const stranger = createServer((request, response) => {
  received.push(`${request.method} ${request.url} ${JSON.stringify(request.headers)}`);
  response.end("{}");
});
let status = 307;
const server = createServer((_, response) => {
  response.writeHead(status, { location: `${urlOf(stranger)}/v1?key=1` }).end();
});

const urlOf = (at: Server) => `http://127.0.0.1:${(at.address() as AddressInfo).port}`;

beforeAll(async () => {
  for (const at of [stranger, server]) await new Promise<void>((up) => at.listen(0, "127.0.0.1", up));
});
afterAll(() => {
  for (const at of [stranger, server]) at.close().closeAllConnections();
});

test.each(WIRE_FORMATS.flatMap((format) => [301, 302, 303, 307, 308].map((code) => [format, code] as const)))(
  "%s: a redirect (%s) to another host is an error that names the host, and nothing goes there",
  async (format, code) => {
    status = code;
    const provider = format.startsWith("openai") ? "openai" : (format as "anthropic" | "google");
    const wireApi = format === "openai-chat" ? "chat" : format === "openai-responses" ? "responses" : null;
    const baseUrl = format.startsWith("openai") ? `${urlOf(server)}/v1` : urlOf(server);
    const connection = { apiKey: "sk-secret-0123456789", baseUrl, wireApi, timeoutMs: 5_000 } as const;
    const model = await resolveModel({ provider, name: "m", id: `${provider}/m` }, connection, {
      ...DEFAULT_RETRY,
      attempts: 1,
    });
    const error = (await model.complete(REQUEST, new AbortController().signal).catch((e: unknown) => e)) as ModelError;
    expect(received).toEqual([]);
    expect(error).toMatchObject({ retryable: false, retries: [] });
    expect(error.message).not.toContain("sk-secret");
    // A 303 asks for another request, which is none of ours.
    if (code !== 303) {
      expect(error.kind).toBe("not_found");
      expect(error.message).toContain(`${code} redirects to ${urlOf(stranger)}, which is sent neither`);
    }
  },
);
