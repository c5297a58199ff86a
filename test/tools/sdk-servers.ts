import { existsSync, writeFileSync } from "node:fs";
import { createServer } from "node:http";
import { createRequire } from "node:module";
import type { AddressInfo } from "node:net";
import { join } from "node:path";
import { pathToFileURL } from "node:url";
import { toNodeHandler } from "@modelcontextprotocol/node";
import { Server } from "@modelcontextprotocol/sdk/server/index.js";
import { StreamableHTTPServerTransport } from "@modelcontextprotocol/sdk/server/streamableHttp.js";
import { CallToolRequestSchema, ListToolsRequestSchema } from "@modelcontextprotocol/sdk/types.js";
import { createMcpHandler, Server as ModernServer } from "@modelcontextprotocol/server";

/** MCP servers made with the official SDK, on both transports. They misbehave on request. */

const fileOf = (name: string) => pathToFileURL(createRequire(import.meta.url).resolve(name)).href;

/**
 * A program that serves over stdio. In addition to `behave`, it has `pid`, `die` and `child` (starts a long-running
 * program and returns its pid). With MALFORMED=1, its list also contains invalid tools.
 */
export function stdioServerFile(folder: string): string {
  const path = join(folder, "server.mjs");
  // Otherwise, a server that starts meanwhile would read half of a rewritten file.
  if (existsSync(path)) return path;
  writeFileSync(
    path,
    `
import { spawn } from "node:child_process";
import { Server } from "${fileOf("@modelcontextprotocol/sdk/server/index.js")}";
import { StdioServerTransport } from "${fileOf("@modelcontextprotocol/sdk/server/stdio.js")}";
import { CallToolRequestSchema, ListToolsRequestSchema } from "${fileOf("@modelcontextprotocol/sdk/types.js")}";

const server = new Server({ name: "test server!", version: "1" }, { capabilities: { tools: {} } });
const object = { type: "object", properties: {} };
const good = ["behave", "pid", "die", "child", "a b/c"].map((name) => ({ name, description: "Does " + name, inputSchema: object }));
const bad = [{ name: "no schema" }, 7, { inputSchema: object }, { name: "odd", inputSchema: { type: "object", nullable: true } },
  { name: "later", description: "A task", inputSchema: object, execution: { taskSupport: "required" } }];
server.setRequestHandler(ListToolsRequestSchema, () => ({ tools: process.env.MALFORMED ? [...good, ...bad] : good }));
server.setRequestHandler(CallToolRequestSchema, async ({ params: { name, arguments: { do: what, word } = {} } }) => {
  const text = (value) => ({ content: [{ type: "text", text: JSON.stringify(value) }] });
  if (name === "pid") return text({ pid: process.pid });
  if (name === "die") process.exit(1);
  if (name === "child") return text({ pid: spawn("sleep", ["1000"], { stdio: "ignore" }).pid });
  if (what === "fail") return { isError: true, content: [{ type: "text", text: "it is broken" }] };
  if (what === "hang") await new Promise(() => {});
  if (what === "prose") return { content: [{ type: "text", text: "Two lines,\\nand a \\"quote\\"." }] };
  if (what === "story") return { content: [{ type: "text", text: "Once" + "\\n".repeat(400) }] };
  return text({ echo: { word }, huge: { big: "x".repeat(300000) }, secret: { key: process.env.TOOL_KEY }, number: 5 }[what] ?? null);
});
console.log("not a message");
await server.connect(new StdioServerTransport());
`,
  );
  return path;
}

/** A server over streamable HTTP. `sessions` counts its connections. */
export async function startHttpServer() {
  const sessions = new Map<string, StreamableHTTPServerTransport>();
  let begun = 0;
  const http = createServer(async (request, response) => {
    const known = sessions.get(String(request.headers["mcp-session-id"]));
    if (known !== undefined) return known.handleRequest(request, response);
    if (request.headers["mcp-session-id"] !== undefined) return void response.writeHead(404).end();
    const transport = new StreamableHTTPServerTransport({
      sessionIdGenerator: () => `session-${++begun}`,
      onsessioninitialized: (id) => void sessions.set(id, transport),
    });
    await behaving().connect(transport as Parameters<Server["connect"]>[0]);
    await transport.handleRequest(request, response);
  });
  await new Promise<void>((resolve) => http.listen(0, "127.0.0.1", resolve));
  const { port } = http.address() as AddressInfo;
  return {
    url: `http://127.0.0.1:${port}/mcp`,
    sessions: () => begun,
    /** Forgets every session, like a restarted server. */
    restart: () => sessions.clear(),
    async close() {
      http.closeAllConnections();
      await new Promise((resolve) => http.close(resolve));
    },
  };
}

function behaving(): Server {
  const server = new Server({ name: "http", version: "1" }, { capabilities: { tools: {} } });
  server.setRequestHandler(ListToolsRequestSchema, () => ({
    tools: [{ name: "behave", description: "Behaves", inputSchema: { type: "object" as const } }],
  }));
  server.setRequestHandler(CallToolRequestSchema, async ({ params }, extra) => {
    const { do: what = "", word } = (params.arguments ?? {}) as { do?: string; word?: string };
    if (what === "fail") return { isError: true, content: [{ type: "text", text: "it is broken" }] };
    if (what === "hang") await new Promise(() => undefined);
    const values: Record<string, unknown> = {
      echo: { word },
      huge: { big: "x".repeat(300_000) },
      secret: { key: extra.requestInfo?.headers.authorization },
      number: 5,
    };
    return { content: [{ type: "text", text: JSON.stringify(values[what] ?? null) }] };
  });
  return server;
}

/**
 * A program that serves only the protocol revision 2026-07-28 over stdio. Its tool returns the revision of the call.
 */
export function modernServerFile(folder: string): string {
  const path = join(folder, "modern-server.mjs");
  writeFileSync(
    path,
    `
import { Server } from "${fileOf("@modelcontextprotocol/server")}";
import { serveStdio } from "${fileOf("@modelcontextprotocol/server/stdio")}";
serveStdio(({ era }) => {
  const server = new Server({ name: "modern", version: "1" }, { capabilities: { tools: {} } });
  server.setRequestHandler("tools/list", () => ({ tools: [{ name: "era", description: "Era", inputSchema: { type: "object" } }] }));
  server.setRequestHandler("tools/call", () => ({ content: [{ type: "text", text: JSON.stringify({ era }) }] }));
  return server;
}, { legacy: "reject" });
`,
  );
  return path;
}

/** A program that exits after any first request but `initialize`, and then answers like an early server. */
export function impatientServerFile(folder: string): string {
  const path = join(folder, "impatient-server.mjs");
  writeFileSync(
    path,
    `
import { createInterface } from "node:readline";
let begun = false;
for await (const line of createInterface({ input: process.stdin })) {
  const { id, method } = JSON.parse(line);
  if (!begun && method !== "initialize") process.exit(1);
  begun = true;
  const result = {
    initialize: { protocolVersion: "2024-11-05", capabilities: { tools: {} }, serverInfo: { name: "early", version: "1" } },
    "tools/list": { tools: [{ name: "era", inputSchema: { type: "object" } }] },
    "tools/call": { content: [{ type: "text", text: '{"era":"early"}' }] },
  }[method];
  if (id !== undefined) console.log(JSON.stringify({ jsonrpc: "2.0", id, result: result ?? {} }));
}
`,
  );
  return path;
}

/** A server that serves only the protocol revision 2026-07-28 over HTTP. */
export async function startModernHttpServer() {
  const handler = createMcpHandler(
    ({ era }) => {
      const server = new ModernServer({ name: "modern", version: "1" }, { capabilities: { tools: {} } });
      server.setRequestHandler("tools/list", () => ({
        tools: [{ name: "era", description: "Era", inputSchema: { type: "object" as const } }],
      }));
      server.setRequestHandler("tools/call", () => ({ content: [{ type: "text", text: JSON.stringify({ era }) }] }));
      return server;
    },
    { legacy: "reject" },
  );
  const answer = toNodeHandler(handler);
  const http = createServer((request, response) => void answer(request as Parameters<typeof answer>[0], response));
  await new Promise<void>((resolve) => http.listen(0, "127.0.0.1", resolve));
  return {
    url: `http://127.0.0.1:${(http.address() as AddressInfo).port}/mcp`,
    async close() {
      http.closeAllConnections();
      await new Promise((resolve) => http.close(resolve));
    },
  };
}
