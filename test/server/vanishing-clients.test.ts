import { connect, type Socket } from "node:net";
import { setFlagsFromString } from "node:v8";
import { runInNewContext } from "node:vm";
import { afterAll, expect, it } from "vitest";
import { startFakeProvider } from "../providers/fake-provider.js";
import { MARCUS } from "../runs/demo-setup.js";
import { says, startDemoServer } from "./demo-server.js";

const AT_ONCE = 32;
const PATIENT = { timeout: 60_000, interval: 50 };

setFlagsFromString("--expose-gc");
const collectGarbage = runInNewContext("gc") as () => void;

// A search that finds email, then a model that never finishes.
const provider = await startFakeProvider(({ turn }) =>
  turn === 0
    ? { toolCalls: [{ name: "email_search", arguments: { query: "dues", inbox_id: MARCUS } }] }
    : { fail: "silence" },
);
const server = await startDemoServer({ modelServer: provider.baseUrl("openai-chat") });

afterAll(async () => {
  await server.close();
  await provider.close();
});

/** Posts a chat on its own socket. `destroy` drops the connection without a close message. */
function chatOn(url: string, body: object): Socket {
  const { hostname, port } = new URL(url);
  const text = JSON.stringify({ modelId: "openai/test", variables: { inbox_address: MARCUS }, ...body });
  const socket = connect(Number(port), hostname);
  socket.on("error", () => undefined);
  socket.write(
    `POST /api/agents/email-search/playground/chat HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\nContent-Length: ${Buffer.byteLength(text)}\r\n\r\n${text}`,
  );
  return socket;
}

const sockets = () => process.getActiveResourcesInfo().filter((name) => name === "TCPSocketWrap").length;

function heap(): number {
  collectGarbage();
  return process.memoryUsage().heapUsed;
}

it(`leaves no chat, no socket and no memory behind after ${AT_ONCE} streams whose clients vanish`, {
  timeout: 240_000,
}, async () => {
  // Stored wherever a chat is stored, and different in each chat.
  const question = (n: number) => `${n} ${"why ".repeat(40_000)}`;
  const round = async (first: number) => {
    const before = provider.requests.length;
    const clients = Array.from({ length: AT_ONCE }, (_, i) => chatOn(server.url, says(question(first + i))));
    for (const client of clients) client.resume();
    await provider.received(before + 2 * AT_ONCE);
    expect(server.chats.count).toBe(AT_ONCE);
    for (const client of clients) client.destroy();
    await expect.poll(() => server.chats.count, PATIENT).toBe(0);
    // The fake provider stores its requests, which is its own memory.
    (provider.requests as unknown[]).fill(null);
  };
  const idle = sockets();
  await round(0);
  await expect.poll(sockets, PATIENT).toBeLessThanOrEqual(idle);
  const after = heap();
  for (let n = 1; n <= 2; n++) await round(n * AT_ONCE);
  await expect.poll(sockets, PATIENT).toBeLessThanOrEqual(idle);
  // 64 chats with 160 kB each would be 10 MB.
  await expect.poll(() => (heap() - after) / 1e6, PATIENT).toBeLessThan(4);
  const { body } = await server.ask("GET", "/api/traces?q=ending:interrupted&limit=1");
  expect(body.total_count).toBe(3 * AT_ONCE);
  await expect.poll(() => server.log.filter((line) => line.client_left === true).length, PATIENT).toBe(3 * AT_ONCE);
  expect(server.faults).toEqual([]);
});

it("blocks the agent of a client that does not read, and disconnects that client", { timeout: 120_000 }, async () => {
  const talker = await startFakeProvider(() => ({
    content: "x".repeat(500_000),
    toolCalls: [{ name: "email_search", arguments: { query: "dues", inbox_id: MARCUS } }],
  }));
  const strict = await startDemoServer({
    modelServer: talker.baseUrl("openai-chat"),
    services: { stream: { heartbeatMs: 60_000, stallMs: 500 } },
  });
  const client = chatOn(strict.url, { ...says("?"), variables: { inbox_address: MARCUS, max_turns: 1000 } });
  client.pause();
  await talker.received(2);
  await expect.poll(() => strict.chats.count, PATIENT).toBe(0);
  // Only as much as the system's own buffers hold, although 1000 turns were allowed.
  expect(talker.requests.length).toBeLessThan(60);
  const { body } = await strict.ask("GET", "/api/traces");
  expect(body.traces).toMatchObject([{ ending: "interrupted" }]);
  client.destroy();
  await strict.close();
  await talker.close();
});

/** Returns all data on a socket until it is closed. */
function allOf(socket: Socket): Promise<string> {
  let text = "";
  socket.setEncoding("utf8").on("data", (chunk: string) => {
    text += chunk;
  });
  return new Promise((resolve) => socket.on("close", () => resolve(text)));
}

it("accepts no more requests while stopping, and lets chats finish", { timeout: 60_000 }, async () => {
  let release = () => {};
  const held = new Promise<void>((resolve) => {
    release = resolve;
  });
  const slow = await startFakeProvider(async () => {
    await held;
    return { content: "done" };
  });
  const stopping = await startDemoServer({ modelServer: slow.baseUrl("openai-chat") });
  const told = allOf(chatOn(stopping.url, says("?")));
  await slow.received(1);
  const stopped = stopping.running.stop(50_000);
  await expect(fetch(`${stopping.url}/api/health`)).rejects.toThrow();
  release();
  await stopped;
  expect(await told).toMatch(/"type":"finish"[\s\S]*session-info[\s\S]*\[DONE\]/);
  await stopping.close();
  await slow.close();
});

it("ends chats that do not finish while stopping, and reports them", { timeout: 60_000 }, async () => {
  const endless = await startFakeProvider(() => ({ fail: "silence" }));
  const stopping = await startDemoServer({ modelServer: endless.baseUrl("openai-chat") });
  const told = allOf(chatOn(stopping.url, says("?")));
  await endless.received(1);
  await stopping.running.stop(0);
  expect(await told).toMatch(/recoverable-error[\s\S]*The server is stopping[\s\S]*session-info[\s\S]*\[DONE\]/);
  await stopping.close();
  await endless.close();
});
