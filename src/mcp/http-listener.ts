import { createHash, timingSafeEqual } from "node:crypto";
import { createServer, type IncomingMessage, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import type { Server } from "@modelcontextprotocol/sdk/server/index.js";
import { StreamableHTTPServerTransport } from "@modelcontextprotocol/sdk/server/streamableHttp.js";
import type { Transport } from "@modelcontextprotocol/sdk/shared/transport.js";

export interface McpListening {
  readonly host: string;
  /** 0: any that is free. */
  readonly port: number;
  /** Null: none is asked for; for loopback only. */
  readonly token: string | null;
  /** The server for a request to this path, one a request; null: there is none. */
  serverFor(path: string): Server | null;
}

export interface McpListener {
  /** `http://127.0.0.1:PORT`. */
  readonly origin: string;
  close(): Promise<void>;
}

const MAX_BODY_BYTES = 1_000_000;
const REQUEST_MS = 60_000;
const LOOPBACK = new Set(["localhost", "127.0.0.1", "[::1]"]);

export function isLoopback(host: string): boolean {
  return LOOPBACK.has(host) || host === "::1";
}

/**
 * MCP over streamable HTTP, stateless: every POST is answered by itself. A page in a browser gets no further than its Origin,
 * and a name that was made to mean this machine no further than its Host. Throws what the socket throws (EADDRINUSE).
 */
export async function listenMcp(listening: McpListening): Promise<McpListener> {
  const http = createServer({ requestTimeout: REQUEST_MS, headersTimeout: REQUEST_MS }, (request, response) => {
    answer(listening, request, response).catch(() => {
      if (!response.headersSent) refuse(response, 500, "Internal error");
      else response.destroy();
    });
  });
  await new Promise<void>((resolve, reject) => {
    http.once("error", reject);
    http.listen(listening.port, listening.host, resolve);
  });
  const { port } = http.address() as AddressInfo;
  const host = listening.host.includes(":") ? `[${listening.host}]` : listening.host;
  return {
    origin: `http://${host}:${port}`,
    async close() {
      const closed = new Promise((resolve) => http.close(resolve));
      http.closeAllConnections();
      await closed;
    },
  };
}

async function answer(listening: McpListening, request: IncomingMessage, response: ServerResponse): Promise<void> {
  const { headers } = request;
  if (isLoopback(listening.host)) {
    if (!LOOPBACK.has(hostOf(`http://${headers.host ?? ""}`))) return refuse(response, 403, "This Host is not served");
    const { origin } = headers;
    if (origin !== undefined && !LOOPBACK.has(hostOf(origin)))
      return refuse(response, 403, "This Origin is not served");
  } else if (headers.origin !== undefined) return refuse(response, 403, "No Origin is served");
  if (listening.token !== null && !isToken(headers.authorization, listening.token)) {
    response.setHeader("www-authenticate", "Bearer");
    return refuse(response, 401, "A bearer token is needed");
  }
  const server = listening.serverFor(new URL(request.url ?? "/", "http://localhost").pathname);
  if (server === null) return refuse(response, 404, "There is nothing here");
  if (request.method !== "POST") {
    response.setHeader("allow", "POST");
    return refuse(response, 405, "Only POST is answered");
  }
  const body = await readBody(request);
  if (body === null) return refuse(response, 413, `More than ${MAX_BODY_BYTES} bytes`);
  let message: unknown;
  try {
    message = JSON.parse(body);
  } catch {
    return refuse(response, 400, "The body is not JSON");
  }
  const transport = new StreamableHTTPServerTransport({ enableJsonResponse: true });
  response.on("close", () => void server.close());
  await server.connect(transport as Transport);
  await transport.handleRequest(request, response, message);
}

function refuse(response: ServerResponse, status: number, message: string): void {
  response.writeHead(status, { "content-type": "application/json", connection: "close" });
  response.end(JSON.stringify({ jsonrpc: "2.0", error: { code: -32_000, message }, id: null }));
}

function hostOf(url: string): string {
  return URL.parse(url)?.hostname ?? "";
}

/** In a time that does not tell how much of it was right. */
function isToken(authorization: string | undefined, token: string): boolean {
  const digest = (text: string) => createHash("sha256").update(text).digest();
  return timingSafeEqual(digest(authorization ?? ""), digest(`Bearer ${token}`));
}

async function readBody(request: IncomingMessage): Promise<string | null> {
  const chunks: Buffer[] = [];
  let bytes = 0;
  for await (const chunk of request as AsyncIterable<Buffer>) {
    bytes += chunk.length;
    if (bytes > MAX_BODY_BYTES) return null;
    chunks.push(chunk);
  }
  return Buffer.concat(chunks).toString("utf8");
}
