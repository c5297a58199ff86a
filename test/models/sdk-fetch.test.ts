import { createServer, type IncomingMessage, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import { brotliCompressSync, deflateSync, gzipSync } from "node:zlib";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { sdkFetch } from "../../src/models/http.js";

type Answer = (request: IncomingMessage, response: ServerResponse) => void;

const BODY = JSON.stringify({ said: "naïve – 💰" });
const compressed = (encoding: string, bytes: Buffer): Answer => {
  return (_, response) => response.writeHead(200, { "content-encoding": encoding }).end(bytes);
};

const ANSWERS: Readonly<Record<string, Answer>> = {
  "/plain": (_, response) => response.end(BODY),
  "/gzip": compressed("gzip", gzipSync(BODY)),
  "/deflate": compressed("deflate", deflateSync(BODY)),
  "/br": compressed("br", brotliCompressSync(BODY)),
  "/cut": compressed("gzip", gzipSync(BODY).subarray(0, 20)),
  "/bomb": compressed("gzip", gzipSync(Buffer.alloc(50_000_000))),
  "/huge": (_, response) => response.end(Buffer.alloc(9_000_000, "a")),
  "/mark": (_, response) => response.end(`\ufeff${BODY}`),
  "/moved": (_, response) => response.writeHead(307, { location: "/headers" }).end(),
  "/headers": (request, response) => response.end(JSON.stringify(request.headers)),
};

const server = createServer((request, response) => ANSWERS[request.url ?? ""]?.(request, response));
let url = "";
beforeAll(async () => {
  await new Promise<void>((listening) => server.listen(0, "127.0.0.1", listening));
  url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
});
afterAll(() => server.closeAllConnections());

const ask = (path: string, init: RequestInit = {}) => sdkFetch(`${url}${path}`, init);

describe("a reply is read whole", () => {
  it.each(["/plain", "/gzip", "/deflate", "/br", "/mark"])("as it comes from %s", async (path) => {
    expect(await (await ask(path)).json()).toEqual(JSON.parse(BODY));
  });

  it("and is refused where it is cut off while packed, to be asked for again", async () => {
    await expect((await ask("/cut")).text()).rejects.toMatchObject({ kind: "protocol", retryable: true });
  });

  it.each(["/bomb", "/huge"])("and is refused where it is larger than any reply, as that of %s", async (path) => {
    await expect((await ask(path)).text()).rejects.toMatchObject({ kind: "protocol", retryable: false });
  });
});

describe("a request", () => {
  const init = { method: "POST", body: "{}", headers: { authorization: "Bearer k", "x-other": "1", cookie: "a=b" } };

  it.each(["/headers", "/moved"])("carries only the headers of a plain one, to %s", async (path) => {
    const sent = (await (await ask(path, init)).json()) as Record<string, string>;
    expect(sent.authorization).toBe("Bearer k");
    expect(sent).not.toHaveProperty("x-other");
    expect(sent).not.toHaveProperty("cookie");
  });
});
