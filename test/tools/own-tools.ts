import { writeFileSync } from "node:fs";
import { createServer, type IncomingMessage, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import { join } from "node:path";
import { createTool, type NewTool } from "../../src/agents/registry.js";
import type { JsonObject } from "../../src/platform/json.js";
import { toTool } from "../../src/tools/load-tools.js";
import { openMailbox } from "../../src/tools/mailbox.js";
import type { Tool } from "../../src/tools/tool.js";
import { type ExternalResources, openExternalResources } from "../../src/tools/tool-connections.js";
import { openEmpty, type TestDb } from "../runs/demo-setup.js";
import { startHttpServer, stdioServerFile } from "./sdk-servers.js";

/** Custom tools of every kind, whose files act according to their argument `do`. */

/** Environment variables of the tests for tools. */
export const SECRET = "sk-test-0123456789";

const PARAMETERS = {
  type: "object",
  properties: {
    do: { type: "string", enum: ["echo", "fail", "hang", "huge", "secret", "number"] },
    word: { type: "string", maxLength: 100, default: "hello" },
  },
  required: ["do"],
  additionalProperties: false,
} as const;

export const KINDS = ["http", "command", "module", "mcp over stdio", "mcp over http"] as const;

export interface OwnTools extends TestDb {
  readonly outside: ExternalResources;
  /** A live tool of a kind, with this merged into its config. Without the secret if `env` is empty. */
  tool(kind: (typeof KINDS)[number], config?: JsonObject): Tool;
  end(): Promise<void>;
}

export async function openOwnTools(env: Record<string, string> = { TOOL_KEY: SECRET }): Promise<OwnTools> {
  const db = openEmpty();
  const outside = openExternalResources({ PATH: process.env.PATH, HOME: db.folder, ...env });
  const web = await startBehavingWeb();
  const mcp = await startHttpServer();
  const write = (name: string, text: string) => {
    const path = join(db.folder, name);
    writeFileSync(path, text);
    return path;
  };
  const program = write("program.mjs", PROGRAM);
  const module = write("module.ts", MODULE);
  const headers = { authorization: `Bearer \${ENV:TOOL_KEY}` };
  const configs: Record<(typeof KINDS)[number], { key: string; config: JsonObject }> = {
    http: { key: "http", config: { method: "POST", url: `${web.url}/{{do}}`, headers, allowPrivate: true } },
    command: { key: "command", config: { command: [process.execPath, program], env: ["TOOL_KEY"] } },
    module: { key: "module", config: { module, env: ["TOOL_KEY"] } },
    "mcp over stdio": {
      key: "mcp",
      config: {
        tool: "behave",
        server: { command: [process.execPath, stdioServerFile(db.folder)], env: ["TOOL_KEY"] },
      },
    },
    "mcp over http": { key: "mcp", config: { tool: "behave", server: { url: mcp.url, headers } } },
  };
  let made = 0;
  return {
    ...db,
    outside,
    tool(kind, over = {}) {
      const { key, config } = configs[kind];
      const tool: NewTool = {
        id: `tool_${++made}`,
        description: "Behaves.",
        parametersSchema: PARAMETERS,
        handlerKey: key,
        handlerConfig: { ...config, ...over },
      };
      return toTool({ tool: createTool(db.db, tool), config: null }, { mailbox: openMailbox(db.db), outside });
    },
    async end() {
      await outside.close();
      await web.close();
      await mcp.close();
      db.close();
    },
  };
}

const PROGRAM = `
let text = "";
for await (const chunk of process.stdin) text += chunk;
const { do: what, word } = JSON.parse(text);
if (what === "fail") { console.error("it is broken"); process.exit(7); }
if (what === "hang") await new Promise(() => setInterval(() => {}, 1000));
const values = { echo: { word }, huge: { big: "x".repeat(300000) }, secret: { key: process.env.TOOL_KEY }, number: 5 };
console.log(JSON.stringify(values[what]));
`;

const MODULE = `
type Behaviour = "echo" | "fail" | "hang" | "huge" | "secret" | "number";
export default {
  description: "Behaves.",
  call({ do: what, word }: { do: Behaviour; word: string }): unknown {
    if (what === "fail") throw new Error("it is broken");
    if (what === "hang") for (;;);
    return { echo: { word }, huge: { big: "x".repeat(300000) }, secret: { key: process.env.TOOL_KEY }, number: 5 }[what];
  },
};
`;

async function startBehavingWeb() {
  return startWeb(async (request, response) => {
    let text = "";
    for await (const chunk of request) text += chunk;
    const { word } = JSON.parse(text) as { word: string };
    const what = (request.url ?? "").slice(1);
    if (what === "hang") return;
    const values: Record<string, unknown> = {
      echo: { word },
      huge: { big: "x".repeat(300_000) },
      secret: { key: request.headers.authorization },
      number: 5,
    };
    response.writeHead(what === "fail" ? 400 : 200, { "content-type": "application/json" });
    response.end(what === "fail" ? "it is broken" : JSON.stringify(values[what]));
  });
}

export interface WebServer {
  readonly url: string;
  readonly port: number;
  close(): Promise<void>;
}

/** A server at a local address. */
export async function startWeb(
  answer: (request: IncomingMessage, response: ServerResponse) => unknown,
  host = "127.0.0.1",
): Promise<WebServer> {
  const server = createServer((request, response) => void answer(request, response));
  await new Promise<void>((resolve) => server.listen(0, host, resolve));
  const { port } = server.address() as AddressInfo;
  return {
    url: `http://${host}:${port}`,
    port,
    close() {
      server.closeAllConnections();
      return new Promise((resolve) => server.close(() => resolve()));
    },
  };
}
