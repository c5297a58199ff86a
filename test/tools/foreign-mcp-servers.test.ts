import { createServer, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from "vitest";
import { compileArgumentSchema } from "../../src/tools/arguments/json-schema.js";
import {
  messagesIn,
  withErrorAsAnswer,
  withErrorIgnored,
  withRepairedMessages,
} from "../../src/tools/mcp-connections/received-messages.js";
import { callServerTool, listServerTools, McpConnections } from "../../src/tools/mcp-connections.js";

/** MCP servers that deviate from the protocol, over real HTTP and real pipes. */

// biome-ignore lint/suspicious/noExplicitAny: JSON-RPC messages of any kind.
type Json = any;

interface Reply {
  readonly status?: number;
  readonly headers?: Readonly<Record<string, string>>;
  readonly body?: Json;
  /** Fields of the message instead of a result. */
  readonly message?: Json;
  /** Returns the body with another content type. */
  readonly written?: readonly [type: string, body: (message: string) => string];
}

/** Returns the reply to a message, or a JSON-RPC result. */
let respond: (message: Json, session: string) => Reply | { readonly result: Json } | null;
let sessions = 0;
let older: ServerResponse | null = null;
/** Status of a POST to the URL of the event stream. */
let declined = 405;

const server = createServer(async (request, response): Promise<unknown> => {
  const chunks: Buffer[] = [];
  for await (const chunk of request) chunks.push(chunk);
  const send = ({ status = 200, headers = {}, body }: Reply) =>
    response
      .writeHead(status, { "content-type": "application/json", ...headers })
      .end(body === undefined ? undefined : JSON.stringify(body));
  if (request.url === "/sse" && request.method === "GET") {
    older = response.writeHead(200, { "content-type": "text/event-stream" });
    return older.write("event: endpoint\ndata: /messages?s=1\n\n");
  }
  if (request.method !== "POST" || request.url === "/sse") return send({ status: declined });
  const message = JSON.parse(Buffer.concat(chunks).toString("utf8"));
  const { id, method } = message;
  const answer = (result: Json, headers = {}) => {
    const body = { jsonrpc: "2.0", id, result };
    if (request.url === "/mcp") return send({ body, headers });
    older?.write(`event: message\ndata: ${JSON.stringify(body)}\n\n`);
    return send({ status: 202 });
  };
  const own = respond(message, String(request.headers["mcp-session-id"] ?? ""));
  if (own !== null && "result" in own) return answer(own.result);
  if (own?.message !== undefined) return send({ body: { jsonrpc: "2.0", id, ...own.message } });
  if (own?.written !== undefined) {
    const [type, body] = own.written;
    const text = JSON.stringify({ jsonrpc: "2.0", id, result: { tools: [tool({})] } });
    return response.writeHead(200, type === "" ? {} : { "content-type": type }).end(body(text));
  }
  if (own !== null) return send(own);
  if (method === "initialize") {
    const result = {
      protocolVersion: "2025-06-18",
      capabilities: { tools: {} },
      serverInfo: { name: "s", version: "1" },
    };
    return answer(result, { "mcp-session-id": `s${++sessions}` });
  }
  if (id === undefined) return send({ status: 202 });
  return send({ body: { jsonrpc: "2.0", id, error: { code: -32601, message: "Method not found" } } });
});

let url = "";
beforeAll(async () => {
  await new Promise<void>((up) => server.listen(0, "127.0.0.1", up));
  url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
});
afterAll(() => {
  server.closeAllConnections();
  server.close();
});

const signal = new AbortController().signal;
const patient = { signal, timeout: 20_000 };
let mcp: McpConnections;
beforeEach(() => {
  sessions = 0;
  older = null;
  declined = 405;
  mcp = new McpConnections();
});
afterEach(() => mcp.close());

const at = (path = "/mcp") => ({ url: `${url}${path}`, headers: {} });
const tool = (fields: object) => ({ name: "look", description: "Looks.", inputSchema: { type: "object" }, ...fields });
const text = (value: unknown) => ({ content: [{ type: "text", text: value }] });

describe("the list of an MCP server", () => {
  const listed = async (results: (cursor: unknown) => Json) => {
    respond = ({ method, params }) => (method === "tools/list" ? { result: results(params?.cursor) } : null);
    return listServerTools(await mcp.to(at(), signal), signal, 20_000);
  };

  it.each<[string, (cursor: unknown) => Json, string[]]>([
    ["a null cursor", () => ({ tools: [tool({})], nextCursor: null }), ["look"]],
    ["an empty cursor", () => ({ tools: [tool({})], nextCursor: "" }), ["look"]],
    [
      "a number as cursor",
      (at) => (at === "2" ? { tools: [tool({ name: "b" })] } : { tools: [tool({})], nextCursor: 2 }),
      ["look", "b"],
    ],
    ["the same page and cursor forever", () => ({ tools: [tool({})], nextCursor: "x" }), ["look"]],
    ["null for the tools", () => ({ tools: null }), []],
    [
      "null for description, title and annotations",
      () => ({ tools: [tool({ description: null, title: null, annotations: null, outputSchema: null })] }),
      ["look"],
    ],
    ["null for the schema", () => ({ tools: [tool({ inputSchema: null })] }), ["look"]],
    [
      "empty lists for properties, as PHP writes them",
      () => ({ tools: [tool({ inputSchema: { type: "object", properties: [], required: [] } })] }),
      ["look"],
    ],
    ["text for the schema", () => ({ tools: [tool({ inputSchema: "object" })] }), ["look"]],
    ["a tool without a name next to another", () => ({ tools: [{ description: "x" }, tool({})] }), ["look"]],
  ])("with %s contains the tools", async (_, results, names) => {
    const { tools } = await listed(results);
    expect(tools.map(({ name }) => name)).toEqual(names);
    expect(tools.every(({ inputSchema }) => inputSchema.type === "object")).toBe(true);
    expect(() => tools.map(({ inputSchema }) => compileArgumentSchema(inputSchema))).not.toThrow();
  });

  it("contains names of up to 500 characters and descriptions of up to 100,000", async () => {
    const named = (length: number) => tool({ name: "n".repeat(length) });
    const described = (name: string, length: number) => tool({ name, description: "d".repeat(length) });
    const list = [named(501), named(500), described("most", 100_000), described("more", 100_001)];
    const { tools, malformed } = await listed(() => ({ tools: list }));
    const lengths = tools.map(({ name, description }) => [name.length, description.length]);
    expect([malformed, lengths]).toEqual([
      1,
      [
        [500, 6],
        [4, 100_000],
        [4, 0],
      ],
    ]);
  });

  it.each<[string, string, (message: string) => string]>([
    ["the type of plain text", "text/plain", (message) => message],
    ["no type", "", (message) => message],
    ["a list", "application/json", (message) => `[${message}]`],
    ["a byte order mark", "application/json", (message) => `\ufeff${message}`],
    ["a stream without a blank line at its end", "text/event-stream", (message) => `: ping\ndata:${message}\r\n`],
    ["a stream with the type of JSON", "application/json", (message) => `event: message\ndata: ${message}\n\n`],
  ])("reaches the agent in a body with %s", async (_, type, body) => {
    respond = ({ method }) => (method === "tools/list" ? { written: [type, body] } : null);
    const { tools } = await listServerTools(await mcp.to(at(), signal), signal, 20_000);
    expect(tools.map(({ name }) => name)).toEqual(["look"]);
  });
});

it("keeps the other fields of a stream's events, and sends one event per message", async () => {
  const [a, b] = ["a", "b"].map((method) => JSON.stringify({ jsonrpc: "2.0", method }));
  const stream = `: ping\nretry: 5\nevent: endpoint\ndata: /a\ndata: /b\n\nid: 7\ndata: ${a}${b}`;
  const response = new Response(stream, { headers: { "content-type": "text/event-stream" } });
  const events = ["retry: 5\nevent: endpoint\ndata: /a\ndata: /b", `id: 7\ndata: ${a}`, `data: ${b}`, ""];
  expect(await (await withRepairedMessages(response)).text()).toBe(events.join("\n\n"));
});

describe("the response of an MCP server", () => {
  const error = '{"jsonrpc":"2.0","id":1,"error":{"code":-32602,"message":"no cents"}}';

  it.each([
    ["a notification", 200, "{}", withErrorIgnored],
    ["a notification", 401, error, withErrorIgnored],
    ["a notification", 403, error, withErrorIgnored],
    ["a call", 200, error, withErrorAsAnswer],
    ["a call", 401, error, withErrorAsAnswer],
    ["a call", 403, error, withErrorAsAnswer],
    ["a request", 204, null, withRepairedMessages],
    ["a request", 500, error, withRepairedMessages],
  ])("stays the same (to %s, status %d)", async (_, status, body, change) => {
    const response = new Response(body, { status });
    expect(await change(response)).toBe(response);
  });

  it.each([1, 2])("keeps each message of a list of %d", async (count) => {
    const messages = Array.from({ length: count }, () => error).join(",");
    const repaired = await withRepairedMessages(new Response(`[${messages}]`));
    expect(await repaired.text()).toBe(count === 1 ? messages : `[${messages}]`);
  });

  it.each([
    ["a notification", withErrorIgnored, "no cents", 202],
    ["a call with its error", withErrorAsAnswer, error, 200],
    ["a call with an error without an id", withErrorAsAnswer, error.replace('"id":1,', ""), 500],
    ["a call with a result", withErrorAsAnswer, '{"id":1,"result":{}}', 500],
    ["a call with other text", withErrorAsAnswer, "no cents", 500],
  ])("gets the status that its content means instead of 500 (to %s)", async (_, change, body, status) => {
    const response = await change(new Response(body, { status: 500 }));
    expect([response.status, await response.text()]).toEqual([status, status === 202 ? "" : body]);
  });
});

describe("messagesIn", () => {
  const head = { jsonrpc: "2.0", id: 1 };
  const deep = JSON.parse(`${'{"a":'.repeat(150)}1${"}".repeat(150)}`);

  it.each<[string, string, Json[]]>([
    ["an error without a version", '{"id":1,"error":"no"}', [{ ...head, error: { code: -32_603, message: "no" } }]],
    [
      "an error without an id",
      '{"jsonrpc":"2.0","id":null,"error":{"code":-32000,"message":"no"}}',
      [{ jsonrpc: "2.0", error: { code: -32_000, message: "no" } }],
    ],
    [
      "an error with other fields",
      '{"id":1,"error":{"why":"no"}}',
      [{ ...head, error: { code: -32_603, message: '{"why":"no"}' } }],
    ],
    ["a result that is not an object", '{"id":1,"result":null}', [{ ...head, result: { content: null } }]],
    [
      "a request with null parameters",
      '{"jsonrpc":"2.0","id":1,"method":"a","params":null}',
      [{ ...head, method: "a" }],
    ],
    ["a deeply nested message", JSON.stringify({ id: 1, result: deep }), [{ ...head, result: deep }]],
    ["a message next to other output", 'log: {"id":1,"result":{}} {"level":"info"}', [{ ...head, result: {} }]],
    ["a log line with an error", '{"error":"no"}', []],
    ["a log line with a method", '{"method":"GET"}', []],
    ["a result without an id", '{"jsonrpc":"2.0","result":{}}', []],
  ])("reads %s", (_, line, messages) => {
    expect(messagesIn(line)).toEqual(messages);
  });
});

describe("the result of an MCP tool", () => {
  it.each<[string, Json, Json]>([
    ["of the type json", { content: [{ type: "json", json: { adder: 4.5 } }] }, { adder: 4.5 }],
    ["without content", { adder: 4.5 }, { adder: 4.5 }],
    ["with null text", text(null), ""],
    ["with a number as text", text(4.5), "4.5"],
    ["with null in optional fields", { ...text("4.5"), structuredContent: null, isError: null, _meta: null }, "4.5"],
    ["with text instead of a list", { content: "4.5 cents" }, "4.5 cents"],
    ["with strings in its list", { content: ["4.5", "cents"] }, "4.5\ncents"],
    ["with one part instead of a list", { content: { type: "text", text: "4.5 cents" } }, "4.5 cents"],
    ["with audio", { content: [{ type: "audio", data: "AAAA", mimeType: "audio/wav" }] }, "[audio omitted]"],
    [
      "with a binary resource",
      { content: [{ type: "resource", resource: { uri: "x://y", blob: "AAAA", mimeType: null } }] },
      "[resource omitted]",
    ],
    ["with a link", { content: [{ type: "resource_link", uri: "x://y", name: "y" }] }, "x://y"],
    ["with text next to a link", { content: [{ type: "text", text: "4.5 cents", uri: "x://y" }] }, "4.5 cents"],
    ["with a part without a type", { content: [{ text: "4.5 cents" }] }, "4.5 cents"],
    ["with an object as text", { content: [{ type: "text", text: { cents: 4.5 } }] }, { cents: 4.5 }],
    ["with an object in place of a part", { content: [{ cents: 4.5, per: "mile" }] }, { cents: 4.5, per: "mile" }],
    ["of the type data", { content: [{ type: "data", data: { cents: 4.5 } }] }, { cents: 4.5 }],
    ["of the type markdown", { content: [{ type: "markdown", markdown: "4.5 cents" }] }, "4.5 cents"],
    ["of an unknown type", { content: [{ type: "table", rows: [[4.5]], columns: 1 }] }, { rows: [[4.5]], columns: 1 }],
    ["with an empty object next to text", { ...text("4.5 cents"), structuredContent: {} }, "4.5 cents"],
    ["with structured content next to text", { ...text("four"), structuredContent: { cents: 4.5 } }, { cents: 4.5 }],
    ["with an empty object and no text", { content: [], structuredContent: {} }, {}],
    ["with structured content as JSON text", { structuredContent: "[4.5]" }, [4.5]],
    ["with text that only begins like JSON", text("[4.5 cents"), "[4.5 cents"],
    ["with JSON text", text(' {"cents":4.5}'), { cents: 4.5 }],
    ["that is text", "4.5 cents", "4.5 cents"],
  ])("%s reaches the agent as readable text", async (_, result, value) => {
    respond = ({ method }) => (method === "tools/call" ? { result } : null);
    const client = await mcp.to(at(), signal);
    expect(await callServerTool(client, "look", {}, patient)).toEqual({ ok: true, value });
  });
});

describe("the failure of an MCP tool", () => {
  it.each<[string, Json]>([
    ["as text", { error: "no cents" }],
    ["with a word as code", { error: { code: "E_CENTS", message: "no cents" } }],
    ["with its words only in its data", { error: { code: -32603, message: null, data: "no cents" } }],
    ["next to a null result", { result: null, error: { code: -32603, message: "no cents" } }],
    ["in an error part", { result: { content: [{ type: "error", text: "no cents" }] } }],
    ["marked with text", { result: { ...text("no cents"), isError: "true" } }],
    ["only in structured content", { result: { content: [], structuredContent: { why: "no cents" }, isError: true } }],
  ])("%s reaches the agent in the server's words", async (_, message) => {
    respond = ({ method }) => (method === "tools/call" ? { message } : null);
    const client = await mcp.to(at(), signal);
    const answer = await callServerTool(client, "look", {}, patient).catch((error: Error) => error.message);
    expect(JSON.stringify(answer)).toContain("no cents");
    expect(answer).not.toMatchObject({ ok: true });
  });

  it("reaches the agent without words if the server sends none", async () => {
    respond = ({ method }) => (method === "tools/call" ? { result: { content: [], isError: true } } : null);
    const answer = await callServerTool(await mcp.to(at(), signal), "look", {}, patient);
    expect(answer).toEqual({ ok: false, error: "The tool failed without an error message." });
  });

  it.each([400, 404, 500])("reaches the agent in the server's words with status %i, after one call", async (status) => {
    let calls = 0;
    respond = ({ method, id }) => {
      if (method !== "tools/call") return null;
      calls++;
      return { status, body: { jsonrpc: "2.0", id, error: { code: -32602, message: "no cents" } } };
    };
    const answer = mcp.call(at(), signal, [], (client) => callServerTool(client, "look", {}, patient));
    await expect(answer).rejects.toThrow(/^(?:MCP error -32602: )?no cents$/);
    expect(calls).toBe(1);
  });
});

describe("a connection to an MCP server", () => {
  it.each<[string, Json]>([
    ["null for its capabilities and its name", { capabilities: null, serverInfo: null }],
    ["null in its capabilities", { capabilities: { tools: { listChanged: null }, logging: null } }],
    ["null for instructions and titles", { instructions: null, serverInfo: { name: "s", version: "1", title: null } }],
    ["a name without a version", { serverInfo: { name: "s" } }],
    ["no protocol revision", { protocolVersion: null }],
  ])("opens although the server sends %s", async (_, fields) => {
    const result = { protocolVersion: "2025-06-18", capabilities: {}, serverInfo: { name: "s", version: "1" } };
    respond = ({ method }) =>
      method === "initialize" ? { message: { result: { ...result, ...fields }, error: null } } : null;
    await expect(mcp.to(at(), signal)).resolves.toBeDefined();
  });

  it("opens again after an error of the protocol about the session", async () => {
    let isLost = true;
    respond = ({ method }) => {
      if (method !== "tools/call") return null;
      if (!isLost) return { result: text("looked") };
      isLost = false;
      return { message: { error: { code: -32600, message: "Bad Request: No valid session ID provided" } } };
    };
    const answer = await mcp.call(at(), signal, [], (client) => callServerTool(client, "look", {}, patient));
    expect(answer).toEqual({ ok: true, value: "looked" });
    expect(sessions).toBe(2);
  });

  it.each<[number, (id: unknown) => Json, number]>([
    [404, (id) => ({ jsonrpc: "2.0", id, error: { code: -32001, message: "Session not found" } }), 2],
    [400, () => "expired", 2],
    [404, () => "expired", 2],
    [410, () => "expired", 2],
    [401, () => "expired", 1],
    [500, () => "expired", 1],
  ])("opens again only for a call whose session has expired (status %d)", async (status, bodyOf, opened) => {
    const expired = new Set<string>();
    respond = ({ method, id = null }, session) => {
      if (method === "tools/call" && expired.size === 0) expired.add(session);
      if (expired.has(session) && session !== "") return { status, body: bodyOf(id) };
      return method === "tools/call" ? { result: text("looked") } : null;
    };
    const call = mcp.call(at(), signal, [], (client) => callServerTool(client, "look", {}, patient));
    const answer = await call.catch(() => null);
    expect([answer, sessions]).toEqual([opened === 2 ? { ok: true, value: "looked" } : null, opened]);
  });

  it.each([400, 404, 405, 500])("uses a server that answers notifications with HTTP status %d", async (status) => {
    respond = ({ method }) => {
      if (method?.startsWith("notifications/")) return { status, body: { error: "unknown method" } };
      return method === "tools/list" ? { result: { tools: [tool({})] } } : null;
    };
    const { tools } = await listServerTools(await mcp.to(at(), signal), signal, 20_000);
    expect(tools.map(({ name }) => name)).toEqual(["look"]);
  });

  it.each([400, 404, 405])("uses the older HTTP+SSE transport after status %d", async (status) => {
    declined = status;
    respond = ({ method }) => (method === "tools/list" ? { result: { tools: [tool({})] } } : null);
    const { tools } = await listServerTools(await mcp.to(at("/sse"), signal), signal, 20_000);
    expect(tools.map(({ name }) => name)).toEqual(["look"]);
  });

  it("does not try the older HTTP+SSE transport after status 500", async () => {
    declined = 500;
    await expect(mcp.to(at("/sse"), signal)).rejects.toThrow(
      /^Cannot connect to the MCP server: (?!.*(?:HTTP\+SSE|--headers))/,
    );
    expect(older).toBeNull();
  });

  it("names the older HTTP+SSE transport if the server does not speak it either", async () => {
    respond = () => ({ status: 404 });
    const why = "It does not speak the older HTTP+SSE transport either";
    await expect(mcp.to(at(), signal)).rejects.toThrow(why);
  });

  it("fails with the flag for a token if the server requires one", async () => {
    const headers = { "www-authenticate": 'Bearer resource_metadata="http://127.0.0.1/.well-known/x"' };
    respond = () => ({ status: 401, headers, body: { error: "invalid_token" } });
    await expect(mcp.to(at(), signal)).rejects.toThrow("--headers");
  });

  const written = "JSON.stringify({ jsonrpc: '2.0', ...message }";
  it.each([
    ["over several lines, next to other output", `console.log("starting ...\\n" + ${written}, null, 2))`],
    [
      "after another message on the same line",
      `console.log('{"jsonrpc":"2.0","method":"notifications/x"}' + ${written}))`,
    ],
    ["after the prefix of a logger", `console.log("\\u001b[32m[server]\\u001b[0m " + ${written}))`],
    ["with a byte order mark and CRLF", `process.stdout.write("\\ufeff" + ${written}) + "\\r\\n")`],
    ["in a list", `console.log("[" + ${written}) + "]")`],
  ])("reads messages that a program writes %s", async (_, write) => {
    const program = `
      const send = (message) => ${write};
      require("node:readline").createInterface({ input: process.stdin }).on("line", (line) => {
        const { id, method } = JSON.parse(line);
        const serverInfo = { name: "s", version: "1" };
        if (method === "initialize")
          send({ id, result: { protocolVersion: "2025-06-18", capabilities: { tools: {} }, serverInfo, _meta: null } });
        else if (method === "tools/list") send({ id, result: { tools: [${JSON.stringify(tool({}))}], nextCursor: null, _meta: null } });
        else if (id !== undefined) send({ id, error: { code: -32601, message: "Method not found" } });
      });`;
    const command = [process.execPath, "-e", program];
    const client = await mcp.to({ command, env: { PATH: process.env.PATH ?? "" } }, signal);
    const { tools } = await listServerTools(client, signal, 20_000);
    expect(tools.map(({ name }) => name)).toEqual(["look"]);
  });
});
