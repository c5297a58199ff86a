import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { afterEach, beforeEach, expect, it } from "vitest";
import { startSupervised } from "../../src/platform/processes.js";
import { callServerTool, listServerTools, McpConnections } from "../../src/tools/mcp-connections.js";
import { gone, isThere } from "../platform/processes.js";
import { openEmpty, type TestDb } from "../runs/demo-setup.js";
import { startHttpServer, stdioServerFile } from "./sdk-servers.js";

let db: TestDb;
let mcp: McpConnections;
const env = { PATH: process.env.PATH ?? "" };
const server = (more: Record<string, string> = {}) => ({
  command: [process.execPath, stdioServerFile(db.folder)],
  env: { ...env, ...more },
});
/** Every call has a signal of its own, as in a run. */
const fresh = () => new AbortController().signal;
const patient = () => ({ signal: fresh(), timeout: 60_000 });

beforeEach(() => {
  db = openEmpty();
  mcp = new McpConnections((argv, environment) => startSupervised({ argv, env: environment }));
});
afterEach(async () => {
  await mcp.close();
  db.close();
});

const pidOf = async (tool = "pid", more = {}) => {
  const answer = await callServerTool(await mcp.to(server(more), fresh()), tool, {}, patient());
  return (answer as unknown as { value: { pid: number } }).value.pid;
};

it("shares one connection among all calls, also those made at once", async () => {
  const pids = await Promise.all(Array.from({ length: 8 }, () => pidOf()));
  expect(new Set(pids).size).toBe(1);
  expect(await pidOf("pid", { OTHER: "1" })).not.toBe(pids[0]);
});

it("starts a server anew that has died", async () => {
  const before = await pidOf();
  const client = await mcp.to(server(), fresh());
  await expect(callServerTool(client, "die", {}, patient())).rejects.toThrow("Connection closed");
  const after = await pidOf();
  expect(after).not.toBe(before);
});

it("leaves no process behind, nor what a server has started", async () => {
  const pids = [await pidOf(), await pidOf("child")];
  expect(pids.map(isThere)).toEqual([true, true]);
  await mcp.close();
  for (const pid of pids) await gone(pid);
  await expect(mcp.to(server(), fresh())).rejects.toThrow("closed");
});

it("is reached again over HTTP when the server has forgotten the session", async () => {
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
  ["a program that is not there", ["no-such-program"]],
  ["a program that ends at once", [process.execPath, "-e", "console.error('bad option'); process.exit(1)"]],
])("says so of %s", async (_, command) => {
  await expect(mcp.to({ command, env }, fresh())).rejects.toThrow("The MCP server cannot be reached");
});

it("gives the last words of a server that ends at once", async () => {
  const command = [process.execPath, "-e", "console.error('the option is bad'); process.exit(1)"];
  await expect(mcp.to({ command, env }, fresh())).rejects.toThrow("(the option is bad)");
});

it("waits no longer for a server that does not answer than it is told to", async () => {
  const controller = new AbortController();
  const reason = new Error("enough");
  const connecting = mcp.to(
    { command: [process.execPath, "-e", "setInterval(() => {}, 1000)"], env },
    controller.signal,
  );
  controller.abort(reason);
  await expect(connecting).rejects.toBe(reason);
});

it("lists what is a tool of a list that holds other things too", async () => {
  const { tools, malformed } = await listServerTools(
    await mcp.to(server({ MALFORMED: "1" }), fresh()),
    fresh(),
    60_000,
  );
  expect(tools.map(({ name }) => name)).toEqual(["behave", "pid", "die", "child", "a b/c", "odd", "later"]);
  expect(malformed).toBe(3);
});

it("takes its headers and its words to no other host that a server sends it to", async () => {
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
    `it redirects to ${elsewhere}, which is not asked`,
  );
  expect(received).toEqual([]);
  for (const server of [stranger, moved]) server.close().closeAllConnections();
});

it("follows a server that has moved within its own address", async () => {
  const http = await startHttpServer();
  const { origin, pathname } = new URL(http.url);
  const proxy = createServer(async (request, response) => {
    // The stream of notifications that a client may ask for.
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
    response.writeHead(answer.status, told).end(Buffer.from(await answer.arrayBuffer()));
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
