import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { Readable } from "node:stream";
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it, test } from "vitest";
import type { JsonObject } from "../../src/platform/json.js";
import { httpTool } from "../../src/tools/handlers/http-tool.js";
import { callServerTool, listServerTools, McpConnections } from "../../src/tools/mcp-connections.js";
import { resultValue, type ToolContext } from "../../src/tools/tool.js";
import type { ToolRow } from "../../src/tools/tools-store.js";
import { gone, isThere } from "../platform/processes.js";
import { never, openEmpty, type TestDb } from "../runs/demo-setup.js";
import { KINDS, type OwnTools, openOwnTools, SECRET, startWeb, type WebServer } from "./own-tools.js";
import {
  impatientServerFile,
  modernServerFile,
  startHttpServer,
  startModernHttpServer,
  stdioServerFile,
} from "./sdk-servers.js";

const context: ToolContext = { inbox: null, cutoff: null, signal: never };
/** Long enough to start a process on a busy machine. */
const SHORT_MS = 4_000;

describe.each(KINDS)("a tool of the kind %s", (kind) => {
  let own: OwnTools;
  beforeAll(async () => {
    own = await openOwnTools();
  });
  afterAll(() => own.end());

  it("receives its arguments with defaults, and returns a JSON result", async () => {
    expect(await own.tool(kind).call({ do: "echo" }, context)).toEqual({ ok: true, value: { word: "hello" } });
    const odd = "ä \"quotes\" 'more' $(id) \\ / ? & # {{word}} \u{1f600}";
    expect(await own.tool(kind).call({ do: "echo", word: odd }, context)).toEqual({ ok: true, value: { word: odd } });
  });

  it.each([{}, { do: "dance" }, { do: "echo", word: 5 }, { do: "echo", more: 1 }, "echo", null])(
    "runs only with valid arguments, not %j",
    async (args) => {
      expect(await own.tool(kind).call(args, context)).toMatchObject({ ok: false, kind: "bad_arguments" });
    },
  );

  it("reports its failure to the model", async () => {
    const result = await own.tool(kind).call({ do: "fail" }, context);
    const why = kind === "http" ? "status 400: it is broken" : "it is broken";
    expect(result).toMatchObject({ ok: false, kind: "failed", error: expect.stringContaining(why) });
  });

  it("times out if it hangs, and can be called again", async () => {
    const tool = own.tool(kind, { timeoutMs: SHORT_MS });
    const hung = await tool.call({ do: "hang" }, context);
    expect(hung).toEqual({ ok: false, kind: "failed", error: "The tool did not respond within 4 s." });
    expect(await own.tool(kind).call({ do: "echo", word: "again" }, context)).toMatchObject({ ok: true });
  });

  it("rejects with the task's own reason if the task is aborted, before or during a call", async () => {
    const reason = new Error("the task is over");
    const over = AbortSignal.abort(reason);
    await expect(own.tool(kind).call({ do: "echo" }, { ...context, signal: over })).rejects.toBe(reason);
    const controller = new AbortController();
    const tool = own.tool(kind);
    const call = tool.call({ do: "hang" }, { ...context, signal: controller.signal });
    controller.abort(reason);
    await expect(call).rejects.toBe(reason);
  });

  it("truncates a long result, and adds a note", async () => {
    const result = await own.tool(kind, { maxResultChars: 1_000 }).call({ do: "huge" }, context);
    expect(result).toMatchObject({ ok: true, value: { truncated: true, characters: 300_010 } });
    expect(result.ok && JSON.stringify(resultValue(result)).length).toBeLessThan(1_200);
    const whole = await own.tool(kind, { maxResultChars: 1_000_000 }).call({ do: "huge" }, context);
    const beginning = whole.ok ? JSON.stringify(resultValue(whole)).slice(0, 1_000) : "";
    expect(result).toMatchObject({ value: { beginning } });
  });

  it("cannot return more bytes than allowed", async () => {
    const result = await own.tool(kind, { maxBytes: 100_000 }).call({ do: "huge" }, context);
    expect(result).toMatchObject({ ok: false, error: expect.stringContaining("more than 100000 bytes") });
  });

  it("checks its results against their schema", async () => {
    const resultSchema = { type: "object", properties: { word: { type: "string" } }, required: ["word"] };
    const tool = own.tool(kind, { resultSchema });
    expect(await tool.call({ do: "echo" }, context)).toMatchObject({ ok: true });
    const other = await tool.call({ do: "number" }, context);
    expect(other).toMatchObject({ ok: false, error: expect.stringContaining("does not match its schema") });
  });

  it("receives the configured secret, which no result shows", async () => {
    const result = await own.tool(kind).call({ do: "secret" }, context);
    expect(result).toMatchObject({ ok: true, value: { key: expect.stringContaining("[secret]") } });
    expect(JSON.stringify(result)).not.toContain(SECRET);
  });

  it("reports a missing variable by name, and stores no value in the file", async () => {
    const bare = await openOwnTools({});
    expect(await bare.tool(kind).call({ do: "echo" }, context)).toMatchObject({
      ok: false,
      error: expect.stringContaining("the environment variable TOOL_KEY is not set"),
    });
    await bare.end();
    expect(own.db.serialize().includes(SECRET)).toBe(false);
  });

  it.each([
    ["a limit out of bounds", { timeoutMs: 0 }],
    ["an unknown setting", { time_out: 3 }],
    ["an invalid result schema", { resultSchema: { type: "nothing" } }],
  ])("cannot be created if it has %s", (_, config) => {
    expect(() => own.tool(kind, config)).toThrow(/Cannot use the config of tool/);
  });
});

const problemOf = (url: string, parametersSchema: JsonObject) =>
  httpTool.validate?.(httpTool.config.parse({ url }), { parametersSchema } as unknown as ToolRow);

test("allows only the tool's parameters in a URL", () => {
  const withQuery = { type: "object", properties: { q: { type: "string" } } };
  expect(problemOf("https://a.example/{{q}}?p={{ q }}", withQuery)).toBeUndefined();
  expect(problemOf("https://a.example/", { type: "object" })).toBeUndefined();
  const problem = "its url contains {{p}}, which is not one of its parameters";
  expect(problemOf("https://a.example/{{q}}/{{p}}", withQuery)).toBe(problem);
  expect(problemOf("https://a.example/{{p}}", { type: "object" })).toBe(problem);
  expect(problemOf("https://a.example/{{p}}", { type: "object", properties: null })).toBe(problem);
});

describe("an HTTP tool", () => {
  let own: OwnTools;
  let web: WebServer;
  const requests: string[] = [];
  beforeAll(async () => {
    own = await openOwnTools();
    web = await startWeb(({ method, url }, response) => {
      requests.push(`${method} ${url}`);
      response.end("done");
    });
  });
  beforeEach(() => requests.splice(0));
  afterAll(() => Promise.all([own.end(), web.close()]));
  const call = (method: string, word: string) => {
    const tool = own.tool("http", { method, url: `${web.url}/about/{{word}}?w={{ word }}` });
    return tool.call({ do: "echo", word }, context);
  };

  it.each([
    ["GET", "/about/a%2Fb%20%3F%23%26..?w=a%2Fb+%3F%23%26..&do=echo"],
    ["DELETE", "/about/a%2Fb%20%3F%23%26..?w=a%2Fb+%3F%23%26..&do=echo"],
    ["PUT", "/about/a%2Fb%20%3F%23%26..?w=a%2Fb%20%3F%23%26.."],
  ])("encodes arguments in the path and query of a %s request", async (method, url) => {
    expect(await call(method, "a/b ?#&..")).toEqual({ ok: true, value: "done" });
    expect(requests).toEqual([`${method} ${url}`]);
  });

  it.each([".", ".."])("sends no request if an argument is %j in the path", async (word) => {
    const error = "An argument adds . or .. to the path of the URL. The request was not sent.";
    expect(await call("GET", word)).toEqual({ ok: false, kind: "failed", error });
    expect(requests).toEqual([]);
  });
});

test("reports a command tool's program that does not exist", async () => {
  const own = await openOwnTools();
  const result = await own.tool("command", { command: ["/no/such/program"] }).call({ do: "echo" }, context);
  const error = "Cannot start the program /no/such/program: no such file or directory";
  expect(result).toEqual({ ok: false, kind: "failed", error });
  await own.end();
});

describe("connections to MCP servers", () => {
  let db: TestDb;
  let mcp: McpConnections;
  const env = { PATH: process.env.PATH ?? "" };

  const server = (more: Record<string, string> = {}) => ({
    command: [process.execPath, stdioServerFile(db.folder)],
    env: { ...env, ...more },
  });

  /** Every call has its own signal, like in a run. */
  const fresh = () => new AbortController().signal;
  const patient = () => ({ signal: fresh(), timeout: 60_000 });

  beforeEach(() => {
    db = openEmpty();
    mcp = new McpConnections();
  });

  afterEach(async () => {
    await mcp.close();
    db.close();
  });

  const pidOf = async (tool = "pid", more = {}) => {
    const answer = await callServerTool(await mcp.to(server(more), fresh()), tool, {}, patient());
    return (answer as unknown as { value: { pid: number } }).value.pid;
  };

  it("serve all calls, including concurrent ones", async () => {
    const pids = await Promise.all(Array.from({ length: 8 }, () => pidOf()));
    expect(new Set(pids).size).toBe(1);
    expect(await pidOf("pid", { OTHER: "1" })).not.toBe(pids[0]);
  });

  it("restart a server that died", async () => {
    const before = await pidOf();
    const client = await mcp.to(server(), fresh());
    await expect(callServerTool(client, "die", {}, patient())).rejects.toThrow("Connection closed");
    const after = await pidOf();
    expect(after).not.toBe(before);
  });

  it("leave no process of the server or its children", async () => {
    const pids = [await pidOf(), await pidOf("child")];
    expect(pids.map(isThere)).toEqual([true, true]);
    await mcp.close();
    for (const pid of pids) await gone(pid);
    await expect(mcp.to(server(), fresh())).rejects.toThrow("closed");
  });

  it("use the MCP revision 2026-07-28 if a server supports nothing else", async () => {
    const http = await startModernHttpServer();
    const servers = [
      { command: [process.execPath, modernServerFile(db.folder)], env },
      { url: http.url, headers: {} },
    ];
    for (const at of servers) {
      const client = await mcp.to(at, fresh());
      expect(client.getNegotiatedProtocolVersion()).toBe("2026-07-28");
      const { tools } = await listServerTools(client, fresh(), 60_000);
      expect(tools.map(({ name }) => name)).toEqual(["era"]);
      expect(await callServerTool(client, "era", {}, patient())).toEqual({ ok: true, value: { era: "modern" } });
    }
    await mcp.close();
    await http.close();
  });

  it("restart a program that exits if its first request is not initialize", async () => {
    const at = { command: [process.execPath, impatientServerFile(db.folder)], env };
    const client = await mcp.to(at, fresh());
    expect(await callServerTool(client, "era", {}, patient())).toEqual({ ok: true, value: { era: "early" } });
    expect(await mcp.to(at, fresh())).toBe(client);
  });

  it("reconnect over HTTP if the server has forgotten the session", async () => {
    const http = await startHttpServer();
    const at = { url: http.url, headers: {} };
    const call = async () => callServerTool(await mcp.to(at, fresh()), "behave", { do: "echo", word: "a" }, patient());
    expect(await call()).toEqual({ ok: true, value: { word: "a" } });
    http.restart();
    await expect(call()).rejects.toThrow();
    expect(await call()).toEqual({ ok: true, value: { word: "a" } });
    expect(http.sessions()).toBe(2);
    await mcp.close();
    await http.close();
  });

  it.each([
    ["a missing program", ["no-such-program"]],
    ["a program that exits immediately", [process.execPath, "-e", "console.error('bad option'); process.exit(1)"]],
  ])("report %s", async (_, command) => {
    await expect(mcp.to({ command, env }, fresh())).rejects.toThrow("Cannot connect to the MCP server");
  });

  it("include the last output of a server that exits immediately", async () => {
    const command = [process.execPath, "-e", "console.error('the option is bad'); process.exit(1)"];
    await expect(mcp.to({ command, env }, fresh())).rejects.toThrow("(the option is bad)");
  });

  it("wait for an unresponsive server only until the timeout", async () => {
    const controller = new AbortController();
    const reason = new Error("enough");
    const connecting = mcp.to(
      { command: [process.execPath, "-e", "setInterval(() => {}, 1000)"], env },
      controller.signal,
    );
    controller.abort(reason);
    await expect(connecting).rejects.toBe(reason);
  });

  it("list the tools even if the server's list also contains other things", async () => {
    const { tools, malformed } = await listServerTools(
      await mcp.to(server({ MALFORMED: "1" }), fresh()),
      fresh(),
      60_000,
    );
    expect(tools.map(({ name }) => name)).toEqual([
      "behave",
      "pid",
      "die",
      "child",
      "a b/c",
      "no schema",
      "odd",
      "later",
    ]);
    expect(malformed).toBe(2);
  });

  it("read at most 100 pages of a server's list", async () => {
    const client = await mcp.to(server(), fresh());
    let pages = 0;
    client.request = async () => ({ tools: [], nextCursor: `page ${++pages}` });
    await listServerTools(client, fresh(), 60_000);
    expect(pages).toBe(100);
  });

  it("send no headers or content to another host after a redirect", async () => {
    const received: unknown[] = [];
    const stranger = createServer((request, response) => {
      received.push(request.headers);
      response.end("{}");
    });
    await new Promise<void>((up) => stranger.listen(0, "127.0.0.1", up));
    const elsewhere = `http://127.0.0.1:${(stranger.address() as AddressInfo).port}`;
    const moved = createServer((_, response) => response.writeHead(307, { location: `${elsewhere}/mcp` }).end());
    await new Promise<void>((up) => moved.listen(0, "127.0.0.1", up));
    const url = `http://127.0.0.1:${(moved.address() as AddressInfo).port}/mcp`;
    await expect(mcp.to({ url, headers: { "x-api-key": "secret" } }, fresh())).rejects.toThrow(
      `it redirects to ${elsewhere}. Pass the URL that it redirects to`,
    );
    expect(received).toEqual([]);
    for (const server of [stranger, moved]) server.close().closeAllConnections();
  });

  it("end when a response over HTTP is larger than 20 MB", async () => {
    const endless = createServer((_, response) => {
      response.writeHead(200, { "content-type": "application/json" });
      Readable.from(
        (function* () {
          for (;;) yield Buffer.alloc(1_000_000, " ");
        })(),
      ).pipe(response);
    });
    await new Promise<void>((up) => endless.listen(0, "127.0.0.1", up));
    const url = `http://127.0.0.1:${(endless.address() as AddressInfo).port}/mcp`;
    await expect(mcp.to({ url, headers: {} }, fresh())).rejects.toThrow("The MCP server's response is too large");
    endless.close().closeAllConnections();
  });

  it("follow a redirect within the server's own origin", async () => {
    const http = await startHttpServer();
    const { origin, pathname } = new URL(http.url);
    const proxy = createServer(async (request, response) => {
      // The stream of notifications that a client can request.
      if (request.method === "GET") return void response.writeHead(405).end();
      if (request.url === "/old") return void response.writeHead(308, { location: pathname }).end();
      const chunks: Buffer[] = [];
      for await (const chunk of request) chunks.push(chunk as Buffer);
      const { host: _, connection: __, "content-length": ___, ...headers } = request.headers;
      const answer = await fetch(`${origin}${request.url}`, {
        method: request.method ?? "GET",
        headers: headers as Record<string, string>,
        body: chunks.length === 0 ? null : Buffer.concat(chunks),
      });
      const { "content-encoding": ____, "transfer-encoding": _____, ...told } = Object.fromEntries(answer.headers);
      // With another kind of status, a location is not a redirect.
      response
        .writeHead(answer.status, { ...told, location: "http://127.0.0.1:1/" })
        .end(Buffer.from(await answer.arrayBuffer()));
    });
    await new Promise<void>((up) => proxy.listen(0, "127.0.0.1", up));
    const url = `http://127.0.0.1:${(proxy.address() as AddressInfo).port}/old`;
    const headers = { "x-own": "1" };
    const client = await mcp.to({ url, headers }, fresh());
    expect(await callServerTool(client, "behave", { do: "echo", word: "a" }, patient())).toMatchObject({ ok: true });
    await mcp.close();
    proxy.close().closeAllConnections();
    await http.close();
  });
});
