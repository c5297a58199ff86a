import { createServer, type IncomingMessage, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import type { Server } from "@modelcontextprotocol/sdk/server/index.js";
import { StreamableHTTPServerTransport } from "@modelcontextprotocol/sdk/server/streamableHttp.js";
import type { Transport } from "@modelcontextprotocol/sdk/shared/transport.js";
import { ErrorCode } from "@modelcontextprotocol/sdk/types.js";
import { jsonDepth, MAX_JSON_DEPTH } from "../domain/json-depth.js";
import { ByteBudget } from "../platform/byte-budget.js";
import { bearerTokenCheck, isAllowedHost, isLoopback, isOwnOrigin } from "../platform/http/host-and-origin.js";

export interface McpListening {
  readonly host: string;
  /** 0: any that is free. */
  readonly port: number;
  /** Null: no token is needed; for loopback addresses only. */
  readonly token: string | null;
  /** Undefined: no limit. */
  readonly maxConnections?: number;
  /** A new server for one request to this path; null: nothing is served there. */
  serverFor(path: string): Server | null;
}

export interface McpListener {
  /** `http://127.0.0.1:PORT`. */
  readonly origin: string;
  close(): Promise<void>;
}

const MAX_BODY_BYTES = 1_000_000;
const REQUEST_MS = 30_000;
const CHECK_MS = 5_000;
/** The total of all bodies still being received. */
const MAX_ARRIVING_BYTES = 32_000_000;
/** Of each body, not counted in that total. */
const FREE_BYTES = 64_000;

/**
 * MCP over streamable HTTP, stateless: every POST is answered by itself. A page in a browser gets no further than its
 * Origin, and a name that was made to mean this machine no further than its Host. Throws what the socket throws
 * (EADDRINUSE).
 */
export async function listenMcp(listening: McpListening): Promise<McpListener> {
  const timeouts = { requestTimeout: REQUEST_MS, headersTimeout: REQUEST_MS, connectionsCheckingInterval: CHECK_MS };
  const arriving = new ByteBudget(MAX_ARRIVING_BYTES, FREE_BYTES);
  const http = createServer(timeouts, (request, response) => {
    answer(listening, arriving, request, response).catch(() => {
      if (!response.headersSent) refuse(response, 500, "Internal error");
      else response.destroy();
    });
  });
  if (listening.maxConnections !== undefined) http.maxConnections = listening.maxConnections;
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

async function answer(
  listening: McpListening,
  arriving: ByteBudget,
  request: IncomingMessage,
  response: ServerResponse,
): Promise<void> {
  const { headers } = request;
  if (!isAllowedHost(listening.host, headers.host)) return refuse(response, 403, "This Host is not served");
  if (headers.origin !== undefined && !(isLoopback(listening.host) && isOwnOrigin(headers.origin, headers.host))) {
    return refuse(response, 403, "This Origin is not served");
  }
  if (listening.token !== null && !bearerTokenCheck(listening.token)(headers.authorization)) {
    response.setHeader("www-authenticate", "Bearer");
    return refuse(response, 401, "A bearer token is needed");
  }
  const server = listening.serverFor(new URL(request.url ?? "/", "http://localhost").pathname);
  if (server === null) return refuse(response, 404, "There is nothing here");
  if (request.method !== "POST") {
    response.setHeader("allow", "POST");
    return refuse(response, 405, "Only POST is answered");
  }
  const body = await readBody(request, arriving);
  if (body === "too_large") return refuse(response, 413, `More than ${MAX_BODY_BYTES} bytes`);
  if (body === "no_room") return refuse(response, 503, "Too much is being sent at once");
  let message: unknown;
  try {
    message = JSON.parse(body.text);
  } catch {
    return refuse(response, 400, "The body is not JSON", ErrorCode.ParseError);
  }
  if (jsonDepth(body.text) > MAX_JSON_DEPTH) {
    return refuse(response, 400, `The body is nested more than ${MAX_JSON_DEPTH} deep`, ErrorCode.InvalidRequest);
  }
  const transport = new StreamableHTTPServerTransport({ enableJsonResponse: true });
  response.on("close", () => void server.close());
  await server.connect(transport as Transport);
  await transport.handleRequest(request, response, message);
}

/** Code -32000, outside the protocol's own, is for refusals at the HTTP level. */
function refuse(response: ServerResponse, status: number, message: string, code = -32_000): void {
  response.writeHead(status, { "content-type": "application/json", connection: "close" });
  response.end(JSON.stringify({ jsonrpc: "2.0", error: { code, message }, id: null }));
}

async function readBody(
  request: IncomingMessage,
  arriving: ByteBudget,
): Promise<{ readonly text: string } | "too_large" | "no_room"> {
  const chunks: Buffer[] = [];
  const held = arriving.hold();
  let bytes = 0;
  try {
    for await (const chunk of request.iterator({ destroyOnReturn: false }) as AsyncIterable<Buffer>) {
      bytes += chunk.length;
      if (bytes > MAX_BODY_BYTES) return "too_large";
      if (!held.add(chunk.length)) return "no_room";
      chunks.push(chunk);
    }
    return { text: Buffer.concat(chunks).toString("utf8") };
  } finally {
    held.release();
  }
}
