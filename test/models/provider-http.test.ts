import { getEventListeners } from "node:events";
import { createServer, type IncomingHttpHeaders, type IncomingMessage, type ServerResponse } from "node:http";
import { createServer as createTlsServer } from "node:https";
import { type AddressInfo, createServer as createTcpServer, type Server as TcpServer } from "node:net";
import { setTimeout as delay } from "node:timers/promises";
import { brotliCompressSync, deflateRawSync, deflateSync, gzipSync } from "node:zlib";
import { afterAll, beforeAll, describe, expect, it, test } from "vitest";
import { openaiHeaders } from "../../src/models/endpoint.js";
import type { ModelError } from "../../src/models/model.js";
import { parseModelName } from "../../src/models/model-names.js";
import { resolveModel } from "../../src/models/open-model.js";
import { toModelError } from "../../src/models/provider-errors.js";
import { openaiClient } from "../../src/models/providers/openai-responses.js";
import { ChatAssembler } from "../../src/models/wire/chat-stream.js";
import { jsonBytes, jsonHeaders, sdkFetch, sdkReply, timeoutError } from "../../src/models/wire/http-sender.js";
import { postForReply } from "../../src/models/wire/stream-reply.js";
import { withDeadline } from "../../src/platform/deadline.js";
import { DEFAULT_RETRY } from "../../src/platform/retry-delay.js";
import { failsEveryTask } from "../../src/runs/detect-dead-server.js";
import { SELF_SIGNED } from "../providers/self-signed.js";
import { WIRE_FORMATS } from "../providers/wire-request.js";
import { modelOver, REQUEST } from "./wire.js";

/** Starts to listen, and returns the URL. */
async function listen(server: TcpServer): Promise<string> {
  await new Promise<void>((up) => server.listen(0, "127.0.0.1", up));
  return `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
}

type Options = Pick<Parameters<typeof postForReply>[0], "signal" | "timeoutMs">;

const postJson = (url: string, headers: Record<string, string>, body: Buffer, options: Options) =>
  postForReply({ url, headers, body, ...options, secrets: [] }, new ChatAssembler(() => {}, []));

describe("postForReply", () => {
  interface Canned {
    readonly status: number;
    readonly body: string;
    readonly headers?: Record<string, string>;
  }

  let canned: Canned = { status: 200, body: "{}" };
  const received: { headers: IncomingHttpHeaders; body: string; url: string | undefined }[] = [];

  const server = createServer((request, response) => {
    let body = "";
    request.on("data", (chunk: Buffer) => {
      body += chunk.toString("utf8");
    });
    request.on("end", () => {
      received.push({ headers: request.headers, body, url: request.url });
      response.writeHead(canned.status, { "content-type": "application/json", ...canned.headers }).end(canned.body);
    });
  });

  let baseUrl = "";

  beforeAll(async () => {
    baseUrl = `${await listen(server)}/v1`;
  });

  afterAll(() => server.closeAllConnections());

  const BODY = { model: "m", messages: [{ role: "user", content: "naïve – 💰" }] };
  const endpoint = () => ({ apiKey: "sk-test-0123456789", baseUrl, timeoutMs: 5_000 });
  const signal = () => new AbortController().signal;
  const options = (timeoutMs = 5_000) => ({ signal: signal(), timeoutMs });

  const ours = async () =>
    (await postJson(`${baseUrl}/chat/completions`, jsonHeaders(openaiHeaders(endpoint())), jsonBytes(BODY), options()))
      .body;

  const sdk = async () => {
    const call = openaiClient(endpoint()).post("/chat/completions", {
      body: BODY,
      headers: openaiHeaders(endpoint()),
      signal: signal(),
    });
    return (await sdkReply(call)).body;
  };

  /** Answers every connection with these bytes. */
  async function rawServer(bytes: string): Promise<{ url: string; close(): void }> {
    const raw = createTcpServer((socket) => {
      socket.on("error", () => undefined);
      socket.once("data", () => socket.end(bytes));
    });
    const { host } = new URL(await listen(raw));
    return { url: host, close: () => void raw.close() };
  }

  /** The parts of a failed call that the rest of the program sees. */
  async function failure(call: () => Promise<unknown>) {
    const error = await call().then(
      () => null,
      (thrown: unknown) => toModelError(thrown, [endpoint().apiKey]) as ModelError,
    );
    if (error === null) throw new Error("it did not fail");
    const { kind, status, retryable, retryAfterMs, message } = error;
    return { kind, status, retryable, retryAfterMs, message };
  }

  describe("next to the OpenAI SDK", () => {
    it("sends the same request", async () => {
      canned = { status: 200, body: '{"id":"1","text":"naïve – 💰"}' };
      received.length = 0;
      expect(await ours()).toEqual(await sdk());
      const [a, b] = received;
      expect({ url: a?.url, body: a?.body }).toEqual({ url: b?.url, body: b?.body });
      for (const name of ["authorization", "content-type", "accept", "content-length"]) {
        expect(a?.headers[name], name).toBe(b?.headers[name]);
      }
    });

    const said = (message: string, code?: string) => JSON.stringify({ error: { message, code } });
    it.each<[string, Canned]>([
      ["400", { status: 400, body: said("no such thing") }],
      ["400 for a full context", { status: 400, body: said("too long", "context_length_exceeded") }],
      ["401", { status: 401, body: said("Incorrect API key provided: sk-test-0123456789.", "invalid_api_key") }],
      ["404", { status: 404, body: said("no such model", "model_not_found") }],
      ["408", { status: 408, body: said("too slow") }],
      ["429", { status: 429, body: said("slow down"), headers: { "retry-after": "7" } }],
      ["429 in ms", { status: 429, body: said("slow down"), headers: { "retry-after-ms": "1500" } }],
      ["429 without money", { status: 429, body: said("pay", "insufficient_quota") }],
      ["500 in HTML", { status: 500, body: "<h1>no</h1>", headers: { "content-type": "text/html" } }],
      ["503", { status: 503, body: said("busy") }],
    ])("treats status %s the same", async (_, answer) => {
      canned = answer;
      expect(await failure(ours)).toEqual(await failure(sdk));
    });

    it("includes the server's words in another error format", async () => {
      canned = { status: 422, body: '{"detail":"messages: field required"}' };
      expect(await failure(ours)).toMatchObject({
        kind: "bad_request",
        message: "422 messages: field required",
      });
      expect(await failure(sdk)).toEqual(await failure(ours));
    });

    it("describes an error without a body based on its status", async () => {
      canned = { status: 502, body: "" };
      expect(await failure(ours)).toMatchObject({ kind: "server", retryable: true, message: "502 without a body" });
    });

    it.each<[string, Canned]>([
      [
        "401 with a body that cannot be decompressed",
        { status: 401, body: "", headers: { "content-encoding": "gzip" } },
      ],
      ["500 with a body of 9 MB", { status: 500, body: "a".repeat(9_000_000) }],
    ])("maps status %s as if there were no body", async (_, answer) => {
      canned = answer;
      expect(await failure(ours)).toEqual({
        ...(await failure(sdk)),
        message: `${answer.status} without a body`,
      });
      expect(await failure(ours)).toMatchObject(
        answer.status === 401 ? { kind: "auth", retryable: false } : { kind: "server", retryable: true },
      );
    });

    it("throws a protocol error for a reply that is not JSON", async () => {
      canned = { status: 200, body: '{"id":' };
      expect(await failure(ours)).toMatchObject({ kind: "protocol", retryable: true });
      expect(await failure(ours)).toEqual(await failure(sdk));
    });
  });

  describe("with a server that does not speak HTTP", () => {
    const asked = (url: string) => () => postJson(url, {}, jsonBytes(BODY), options());

    it.each([
      ["garbage", "garbage\r\n\r\n"],
      ["a chunk without a size", "HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\nnone\r\n"],
      ["nothing", ""],
    ])("throws a network error if the server sends %s", async (_, bytes) => {
      const raw = await rawServer(bytes);
      expect(await failure(asked(`http://${raw.url}/v1`))).toMatchObject({ kind: "network", retryable: true });
      raw.close();
    });

    it("throws a network error if the server does not speak TLS", async () => {
      const raw = await rawServer("HTTP/1.1 400 Bad Request\r\n\r\n");
      expect(await failure(asked(`https://${raw.url}/v1`))).toMatchObject({ kind: "network", retryable: true });
      raw.close();
    });
  });

  it("does not retry an untrusted certificate, and names NODE_EXTRA_CA_CERTS", async () => {
    const server = createTlsServer(SELF_SIGNED, (_, response) => response.end("{}"));
    const { port } = new URL(await listen(server));
    const error = await postJson(`https://127.0.0.1:${port}/v1`, {}, jsonBytes(BODY), options()).catch((thrown) =>
      toModelError(thrown, ["key"]),
    );
    server.close();
    expect(error).toMatchObject({
      kind: "network",
      retryable: false,
      message: expect.stringMatching(/DEPTH_ZERO_SELF_SIGNED_CERT.*NODE_EXTRA_CA_CERTS/),
    });
    expect(failsEveryTask(error)).toMatchObject({ by: "server" });
  });

  it("stops immediately if aborted while connecting", async () => {
    // The server accepts connections and never replies, so that the handshake waits.
    const silent = createTcpServer(() => undefined);
    const { port } = new URL(await listen(silent));
    const reason = new Error("enough");
    const call = (signal: AbortSignal, timeoutMs: number) =>
      postJson(`https://127.0.0.1:${port}/v1`, {}, jsonBytes(BODY), { signal, timeoutMs });
    await expect(call(AbortSignal.abort(reason), 5_000)).rejects.toBe(reason);
    const controller = new AbortController();
    setTimeout(() => controller.abort(reason), 100);
    await expect(call(controller.signal, 5_000)).rejects.toBe(reason);
    await expect(call(signal(), 50)).rejects.toMatchObject({ kind: "timeout", retryable: true });
    silent.close();
  });

  it.each([301, 302, 307, 308])(
    "follows a redirect within its origin (%s), and sends the same bytes",
    async (status) => {
      const bodies: string[] = [];
      const moved = createServer((request, response) => {
        if (request.url === "/v1") response.writeHead(status, { location: "/v2" }).end();
        else {
          request.on("data", (chunk: Buffer) => bodies.push(`${request.method} ${chunk}`));
          request.on("end", () => response.end('{"id":"there"}'));
        }
      });
      const url = `${await listen(moved)}/v1`;
      expect((await postJson(url, {}, jsonBytes(BODY), options())).body).toEqual({ id: "there" });
      expect(bodies).toEqual([`POST ${JSON.stringify(BODY)}`]);
      moved.closeAllConnections();
      moved.close();
    },
  );

  it("detects redirect loops", async () => {
    let asked = 0;
    const circle = createServer((_, response) => {
      asked++;
      response.writeHead(307, { location: "/v1" }).end();
    });
    const url = `${await listen(circle)}/v1`;
    expect(await failure(() => postJson(url, {}, jsonBytes(BODY), options()))).toMatchObject({
      kind: "not_found",
      retryable: false,
      message: "307 redirects more than 5 times",
    });
    expect(asked).toBe(6);
    circle.closeAllConnections();
    circle.close();
  });

  describe("with a server slower than the timeout", () => {
    const HEAD = "HTTP/1.1 200 OK\r\ncontent-length: 100\r\n\r\n";
    const TIMEOUT = { kind: "timeout", retryable: true, message: "no complete reply within 0.15 s" };

    it.each([
      ["sends nothing", ""],
      ["stops in the middle of its reply", `${HEAD}{"id":`],
    ])("gives up if the server %s, and closes the connection", async (_, bytes) => {
      let open = 0;
      const slow = createTcpServer((socket) => {
        open++;
        socket.on("error", () => undefined).on("close", () => open--);
        socket.once("data", () => socket.write(bytes));
      });
      const url = `${await listen(slow)}/v1`;
      expect(await failure(() => postJson(url, {}, jsonBytes(BODY), options(150)))).toMatchObject(TIMEOUT);
      await expect.poll(() => open).toBe(0);
      slow.close();
    });

    it("gives up if the server redirects to a silent server", async () => {
      const moved = createServer((request, response) => {
        if (request.url === "/v1") response.writeHead(307, { location: "/there" }).end();
      });
      const url = `${await listen(moved)}/v1`;
      expect(await failure(() => postJson(url, {}, jsonBytes(BODY), options(150)))).toMatchObject(TIMEOUT);
      moved.closeAllConnections();
      moved.close();
    });

    it("leaves no timer after a reply, so a later abort changes nothing", async () => {
      canned = { status: 200, body: '{"id":"1"}' };
      const controller = new AbortController();
      const url = `${baseUrl}/chat/completions`;
      const reply = await postJson(url, {}, jsonBytes(BODY), { signal: controller.signal, timeoutMs: 60_000 });
      expect(getEventListeners(controller.signal, "abort")).toEqual([]);
      controller.abort();
      expect(reply.body).toEqual({ id: "1" });
    });
  });
});

describe("fetch for SDKs", () => {
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
    "/gzip-labeled-deflate": compressed("deflate", gzipSync(BODY)),
    "/gzip-labeled-br": compressed("br", gzipSync(BODY)),
    "/deflate-labeled-gzip": compressed("gzip", deflateSync(BODY)),
    "/raw-deflate": compressed("deflate", deflateRawSync(BODY)),
    "/gzip-labeled-twice": compressed("gzip, gzip", gzipSync(BODY)),
    "/gzip-twice": compressed("gzip, gzip", gzipSync(gzipSync(BODY))),
    "/plain-labeled-br": compressed("br", Buffer.from(`\n\n ${BODY}`)),
    "/unknown-label": compressed("utf-8", Buffer.from(BODY)),
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
    url = await listen(server);
  });

  afterAll(() => server.closeAllConnections());

  const ask = (path: string, init: RequestInit = {}) => sdkFetch((headers) => headers)(`${url}${path}`, init);

  describe("the body of a reply", () => {
    const INTACT = Object.keys(ANSWERS).filter((path) => /plain|gzip|deflate|br$|mark|label/.test(path));
    it.each(INTACT)("arrives completely as it comes from %s", async (path) => {
      expect(await (await ask(path)).json()).toEqual(JSON.parse(BODY));
    });

    it("leads to a retry if it was truncated while compressed", async () => {
      await expect((await ask("/cut")).text()).rejects.toMatchObject({ kind: "protocol", retryable: true });
    });

    it.each(["/bomb", "/huge"])("causes an error if it exceeds any valid reply, like %s", async (path) => {
      await expect((await ask(path)).text()).rejects.toMatchObject({ kind: "protocol", retryable: false });
    });
  });

  describe("a request", () => {
    const init = { method: "POST", body: "{}", headers: { authorization: "Bearer k", "x-other": "1", cookie: "a=b" } };

    it.each(["/headers", "/moved"])("contains only the headers of a plain fetch to %s", async (path) => {
      const sent = (await (await ask(path, init)).json()) as Record<string, string>;
      expect(sent.authorization).toBe("Bearer k");
      expect(sent).not.toHaveProperty("x-other");
      expect(sent).not.toHaveProperty("cookie");
    });
  });
});

const never = new AbortController().signal;
const forever = () => new Promise<never>(() => undefined);

/** As calls of the SDKs are limited. */
const withTimeout = <T>(signal: AbortSignal, timeoutMs: number, work: (signal: AbortSignal) => Promise<T>) =>
  withDeadline(signal, timeoutMs, () => timeoutError({ timeoutMs }), work);

it("withTimeout returns the result of its work, and leaves no listener on the signal", async () => {
  expect(await withTimeout(never, 60_000, async () => 7)).toBe(7);
  await expect(withTimeout(never, 60_000, () => Promise.reject(new Error("no")))).rejects.toThrow("no");
  const thrown = () => {
    throw new Error("at once");
  };
  await expect(withTimeout(never, 60_000, thrown)).rejects.toThrow("at once");
  expect(getEventListeners(never, "abort")).toEqual([]);
});

it("withTimeout throws a retryable timeout, even if the work never ends", async () => {
  let inner: AbortSignal | undefined;
  const call = withTimeout(never, 20, (signal) => {
    inner = signal;
    return forever();
  });
  await expect(call).rejects.toMatchObject({ kind: "timeout", retryable: true, message: /within 0.02 s/ });
  expect(inner?.aborted).toBe(true);
});

it("withTimeout rejects with the outer signal's reason, whatever the work throws", async () => {
  const controller = new AbortController();
  const reason = new Error("enough");
  const hanging = withTimeout(controller.signal, 60_000, forever);
  const complaining = withTimeout(controller.signal, 60_000, async (signal) => {
    await delay(60_000, undefined, { signal }).catch(() => undefined);
    throw new Error("Request was aborted.");
  });
  controller.abort(reason);
  await expect(hanging).rejects.toBe(reason);
  await expect(complaining).rejects.toBe(reason);
  await expect(withTimeout(controller.signal, 60_000, async () => 7)).rejects.toBe(reason);
});

describe("redirects", () => {
  /** A model server's redirect must not forward the key and the prompt to another server. */

  const received: string[] = [];

  const stranger = createServer((request, response) => {
    received.push(`${request.method} ${request.url} ${JSON.stringify(request.headers)}`);
    response.end("{}");
  });

  let status = 307;

  const server = createServer((_, response) => {
    response.writeHead(status, { location: `${strangerUrl}/v1?key=1` }).end();
  });

  let [strangerUrl, serverUrl] = ["", ""];

  beforeAll(async () => {
    strangerUrl = await listen(stranger);
    serverUrl = await listen(server);
  });

  afterAll(() => {
    for (const at of [stranger, server]) at.close().closeAllConnections();
  });

  test("do not concern the model, so no successor is named", async () => {
    status = 302;
    const name = parseModelName("openai/gpt-4.1", null);
    const connection = { apiKey: "sk-x", baseUrl: `${serverUrl}/v1`, wireApi: "chat", timeoutMs: 5_000 } as const;
    const model = await resolveModel(name, connection, { ...DEFAULT_RETRY, attempts: 1 });
    const error = await model.complete(REQUEST, new AbortController().signal).catch((e: unknown) => e);
    expect((error as ModelError).message).toContain("302 redirects to");
    expect((error as ModelError).message).not.toContain("came");
  });

  test.each(WIRE_FORMATS.flatMap((format) => [301, 302, 303, 307, 308].map((code) => [format, code] as const)))(
    "cause an error over %s (status %s) to another host, and the new host receives nothing",
    async (format, code) => {
      status = code;
      const { name, wireApi } = modelOver(format, "m");
      const baseUrl = format.startsWith("openai") ? `${serverUrl}/v1` : serverUrl;
      const connection = { apiKey: "sk-secret-0123456789", baseUrl, wireApi, timeoutMs: 5_000 } as const;
      const model = await resolveModel(name, connection, { ...DEFAULT_RETRY, attempts: 1 });
      const error = (await model
        .complete(REQUEST, new AbortController().signal)
        .catch((e: unknown) => e)) as ModelError;
      expect(received).toEqual([]);
      expect(error).toMatchObject({ retryable: false, retries: [] });
      expect(error.message).not.toContain("sk-secret");
      // A 303 requires another request, which art-e does not send.
      if (code !== 303) {
        expect(error.kind).toBe("not_found");
        expect(error.message).toContain(
          `${code} redirects to ${strangerUrl}. The key and the prompt are not sent there`,
        );
      }
    },
  );
});
