import { createServer, type IncomingMessage, type ServerResponse } from "node:http";
import type { AddressInfo, Socket } from "node:net";
import type { JsonValue } from "../../src/platform/json.js";
import { type ProviderReply, toErrorBody, toReplyBody } from "./wire-reply.js";
import { type ParsedRequest, parseRequest, type WireFormat } from "./wire-request.js";

/**
 * A model provider on 127.0.0.1, for tests over real HTTP. One server supports all four wire formats. The path of each
 * request determines the format:
 *
 *     POST /v1/messages                            Anthropic messages
 *     POST /v1/chat/completions                    OpenAI chat completions
 *     POST /v1/responses                           OpenAI responses
 *     POST /v1beta/models/NAME:generateContent     Google
 *
 * The answers come from a list, in order, or from a function of the parsed request, which can play an entire agent:
 *
 *     const provider = await startFakeProvider((request) =>
 *       request.turn === 0
 *         ? { toolCalls: [{ name: "email_search", arguments: { query: request.question } }] }
 *         : { toolCalls: [{ name: "return_final_answer", arguments: { answer: "42", sources: [] } }] },
 *     );
 *     ... run against provider.baseUrl("anthropic") with any key ...
 *     expect(provider.requests[0]?.headers.authorization).toBe("Bearer test-key");
 *     await provider.close();
 *
 * An answer is a reply in provider-neutral form (`ProviderReply`) or a failure (`Failure`). If the function throws, the
 * list is used up or the request has an unknown format, the server returns 400 with the reason, which no client
 * retries.
 */

type Failure =
  /** An HTTP error. `body` replaces the provider's usual one. */
  | {
      readonly fail: "status";
      readonly status: number;
      readonly message?: string;
      readonly code?: string;
      readonly headers?: Readonly<Record<string, string>>;
      readonly body?: JsonValue;
    }
  /** The connection is reset before a byte is sent. */
  | { readonly fail: "reset" }
  /** A 200 whose connection closes in the middle of the body. */
  | { readonly fail: "cut-off" }
  /** A 200 with complete, valid HTTP, but half a JSON document. */
  | { readonly fail: "half-json" }
  /** A 200 with an HTML page, as gateways send. */
  | { readonly fail: "html" }
  /** A 200 with a byte in the text that is not UTF-8, between `before|` and `|after`. */
  | { readonly fail: "invalid-utf8" }
  /** Headers and half a body, then nothing until the client or `close` ends the connection. */
  | { readonly fail: "stall" }
  /** Nothing at all until the client or `close` ends the connection. */
  | { readonly fail: "silence" }
  /** A 200 with this body. */
  | { readonly fail: "body"; readonly body: JsonValue };

export type Answer = ProviderReply | Failure;

/** A request as received over the network. */
export interface SeenRequest {
  readonly method: string;
  readonly path: string;
  readonly headers: IncomingMessage["headers"];
  /** Parsed JSON, or the text if it is not JSON. */
  readonly body: unknown;
}

export interface FakeProvider {
  /** `http://127.0.0.1:PORT`. */
  readonly url: string;
  /** Base URL for a client. For OpenAI's formats it ends in `/v1`. */
  baseUrl(format: WireFormat): string;
  /** Every request so far, in order of arrival. */
  readonly requests: readonly SeenRequest[];
  /** Number of opened connections. Fewer than requests if they are kept alive. */
  readonly connections: number;
  /** Resolves when no connection is open. All requests of a client that has ended have been read by then. */
  idle(): Promise<void>;
  /** Resolves when `count` requests have arrived in total. */
  received(count: number): Promise<void>;
  /** Appends answers to the list. */
  push(...answers: Answer[]): void;
  /** Closes open connections and stops listening. */
  close(): Promise<void>;
}

type AnswerFunction = (request: ParsedRequest) => Answer | Promise<Answer>;

export async function startFakeProvider(script: readonly Answer[] | AnswerFunction = []): Promise<FakeProvider> {
  const queue: Answer[] = typeof script === "function" ? [] : [...script];
  const requests: SeenRequest[] = [];
  let waiting: { count: number; arrived: () => void }[] = [];
  let connections = 0;

  const server = createServer(async (incoming, response) => {
    const seen = await readRequest(incoming);
    requests.push(seen);
    const n = requests.length;
    waiting = waiting.filter(({ count, arrived }) => {
      if (n >= count) arrived();
      return n < count;
    });
    const format = formatOf(seen.path);
    if (format === null) {
      sendJson(response, 404, toErrorBody("openai-chat", 404, "no such path", "not_found"));
      return;
    }
    try {
      const request = parseRequest(format, seen.path, seen.body);
      const answer = typeof script === "function" ? await script(request) : queue.shift();
      if (!answer) throw new Error("the fake provider has no more answers");
      send(response, format, answer, { n, asked: request.model });
    } catch (error) {
      const message = error instanceof Error ? error.message : String(error);
      sendJson(response, 400, toErrorBody(format, 400, message, "fake_provider"));
    }
  });
  const sockets = new Set<Socket>();
  server.on("connection", (socket) => {
    connections++;
    sockets.add(socket);
    socket.on("close", () => sockets.delete(socket));
  });
  await new Promise<void>((listening) => server.listen(0, "127.0.0.1", listening));
  const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;

  return {
    url,
    baseUrl: (format) => (format.startsWith("openai") ? `${url}/v1` : url),
    requests,
    get connections() {
      return connections;
    },
    received: (count) =>
      new Promise((arrived) => {
        if (requests.length >= count) arrived();
        else waiting.push({ count, arrived });
      }),
    async idle() {
      while (sockets.size > 0) await new Promise((resolve) => setTimeout(resolve, 2));
      // A request from the last connection may have been read, but not processed yet.
      await new Promise(setImmediate);
    },
    push: (...answers) => {
      queue.push(...answers);
    },
    close: () =>
      new Promise((closed) => {
        server.close(() => closed());
        server.closeAllConnections();
      }),
  };
}

async function readRequest(incoming: IncomingMessage): Promise<SeenRequest> {
  const chunks: Buffer[] = [];
  for await (const chunk of incoming) chunks.push(chunk);
  const text = Buffer.concat(chunks).toString("utf8");
  let body: unknown = text;
  try {
    body = JSON.parse(text);
  } catch {
    // Kept as text, because parsing it in the wire format then reports the error.
  }
  return { method: incoming.method ?? "", path: incoming.url ?? "", headers: incoming.headers, body };
}

function formatOf(path: string): WireFormat | null {
  if (path.endsWith("/v1/messages")) return "anthropic";
  if (path.endsWith("/chat/completions")) return "openai-chat";
  if (path.endsWith("/responses")) return "openai-responses";
  return path.endsWith(":generateContent") ? "google" : null;
}

function send(
  response: ServerResponse,
  format: WireFormat,
  answer: Answer,
  { n, asked }: { readonly n: number; readonly asked: string },
): void {
  if (!("fail" in answer)) {
    sendJson(response, 200, toReplyBody(format, answer, n, asked));
    return;
  }
  const whole = JSON.stringify(toReplyBody(format, { content: "before|#|after" }, n, asked));
  const half = whole.slice(0, whole.length / 2);
  switch (answer.fail) {
    case "status": {
      const body = answer.body ?? toErrorBody(format, answer.status, answer.message ?? "it failed", answer.code ?? "");
      sendJson(response, answer.status, body, answer.headers);
      break;
    }
    case "body":
      sendJson(response, 200, answer.body);
      break;
    case "reset":
      response.socket?.resetAndDestroy();
      break;
    case "silence":
      break;
    case "stall":
    case "cut-off":
      response.writeHead(200, { "content-type": "application/json", "content-length": whole.length });
      response.write(half, () => {
        if (answer.fail === "cut-off") response.socket?.destroy();
      });
      break;
    case "half-json":
      sendBytes(response, "application/json", Buffer.from(half));
      break;
    case "html":
      sendBytes(response, "text/html", Buffer.from("<html><body>Bad gateway</body></html>"));
      break;
    case "invalid-utf8":
      sendBytes(response, "application/json", Buffer.from(whole.replace("#", "\xff"), "latin1"));
      break;
  }
}

function sendJson(response: ServerResponse, status: number, body: JsonValue, headers = {}): void {
  response.writeHead(status, { "content-type": "application/json", ...headers });
  response.end(JSON.stringify(body));
}

function sendBytes(response: ServerResponse, type: string, bytes: Buffer): void {
  response.writeHead(200, { "content-type": type, "content-length": bytes.length });
  response.end(bytes);
}
