import { request } from "node:http";
import { connect, type Socket } from "node:net";
import { text } from "node:stream/consumers";
import { afterAll, describe, expect, it } from "vitest";
import { saveSynthetic } from "../reports/synthetic-run.js";
import { type DemoServer, startDemoServer } from "./demo-server.js";

const TOKEN = "a-token-for-this-test";
const FRIEND = "http://friend.example";

const open = await startDemoServer();
const guarded = await startDemoServer({ access: { token: TOKEN, cors: FRIEND } });
afterAll(() => Promise.all([open.close(), guarded.close()]));

interface Raw {
  readonly method?: string;
  readonly headers?: Record<string, string>;
  readonly body?: string;
}

/** Sends headers that fetch does not allow. */
async function raw(url: string, { method = "GET", headers = {}, body }: Raw = {}) {
  const response = await new Promise<import("node:http").IncomingMessage>((resolve, reject) => {
    request(url, { method, headers, agent: false }, resolve).on("error", reject).end(body);
  });
  return { status: response.statusCode, headers: response.headers, body: await text(response) };
}

const json = { "content-type": "application/json" };
const status = async (path: string, asked?: Raw, server = open) => (await raw(`${server.url}${path}`, asked)).status;

describe("a server on a loopback address", () => {
  it.each(["localhost", "127.0.0.1", "LOCALHOST:80", "[::1]:9"])("accepts the host %s", async (host) => {
    expect(await status("/api/agents", { headers: { host } })).toBe(200);
  });

  it.each(["evil.example", "evil.example:8787", "127.0.0.1.evil.example", "localhost.evil.example", "169.254.1.1"])(
    "rejects the host %s",
    async (host) => {
      expect(await status("/api/agents", { headers: { host } })).toBe(403);
      expect(await status("/", { headers: { host } })).toBe(403);
    },
  );
});

it.each(["GET /api/agents HTTP/1.0\r\n\r\n", "GET / HTTP/1.0\r\nHost:\r\n\r\n"])(
  "rejects a request without a host on a loopback address (%j)",
  async (words) => {
    const { hostname, port } = new URL(open.url);
    const socket = connect(Number(port), hostname, () => socket.write(words));
    expect(await text(socket)).toMatch(/^HTTP\/1\.1 403 /);
  },
);

describe("a web page", () => {
  it.each(["http://evil.example", "null", "http://127.0.0.1:1", "https://localhost"])(
    "cannot send requests from %s",
    async (origin) => {
      expect(await status("/api/agents", { headers: { origin } })).toBe(403);
      const body = JSON.stringify({ name: "x" });
      expect(await status("/api/agents", { method: "POST", headers: { ...json, origin }, body })).toBe(403);
      expect(await status("/api/agents/baseline", { method: "DELETE", headers: { origin } })).toBe(403);
    },
  );

  it("can send requests from the server's own origin", async () => {
    expect(await status("/api/agents", { headers: { origin: open.url } })).toBe(200);
  });

  it.each(["text/plain", "application/x-www-form-urlencoded", "multipart/form-data", "application/jsonp", ""])(
    "cannot send a body of type %j",
    async (type) => {
      const headers: Record<string, string> = type === "" ? {} : { "content-type": type };
      expect(await status("/api/agents", { method: "POST", headers, body: '{"name":"x"}' })).toBe(415);
    },
  );

  it("can send requests from another origin with --cors, with the permitted methods and headers", async () => {
    const headers = { origin: FRIEND, authorization: `Bearer ${TOKEN}` };
    const answered = await raw(`${guarded.url}/api/agents`, { headers });
    expect([answered.status, answered.headers["access-control-allow-origin"]]).toEqual([200, FRIEND]);
    const preflight = { origin: FRIEND, "access-control-request-method": "POST" };
    const asked = await raw(`${guarded.url}/api/agents`, { method: "OPTIONS", headers: preflight });
    expect([asked.status, asked.headers["access-control-allow-origin"]]).toEqual([204, FRIEND]);
    expect(asked.headers["access-control-allow-headers"]).toContain("Authorization");
    const other = await raw(`${guarded.url}/api/agents`, { headers: { ...headers, origin: "http://evil.example" } });
    expect([other.status, other.headers["access-control-allow-origin"]]).toEqual([403, undefined]);
  });

  it("receives no CORS headers if --cors is missing", async () => {
    const { headers } = await raw(`${open.url}/api/agents`);
    expect(Object.keys(headers).filter((name) => name.startsWith("access-control"))).toEqual([]);
  });
});

describe("a token", () => {
  it.each([
    ["none", {}],
    ["a wrong token", { authorization: "Bearer wrong" }],
    ["a prefix of the token", { authorization: `Bearer ${TOKEN.slice(0, -1)}` }],
    ["a token with text added", { authorization: `Bearer ${TOKEN}x` }],
    ["the token in another scheme", { authorization: `Basic ${TOKEN}` }],
  ])("must be sent for everything except the page (%s)", async (_, headers) => {
    for (const path of ["/api/agents", "/api/health", "/v1/models", "/openapi.json", "/nothing"]) {
      const refused = await raw(`${guarded.url}${path}`, { headers });
      expect([path, refused.status, refused.headers["www-authenticate"]]).toEqual([path, 401, "Bearer"]);
    }
    expect(await status("/", { headers }, guarded)).toBe(200);
    expect(await status("/page/main.js", { headers }, guarded)).toBe(200);
  });

  it("grants access and never appears in the log", async () => {
    expect((await guarded.ask("GET", "/api/agents?token=in-the-query")).status).toBe(200);
    await expect.poll(() => guarded.log.length).toBeGreaterThan(0);
    expect(JSON.stringify(guarded.log)).not.toMatch(/a-token-for-this-test|in-the-query/);
  });

  it("must be set on every address except loopback", async () => {
    await expect(startDemoServer({ access: { host: "0.0.0.0" } })).rejects.toThrow("no token is set");
  });
});

describe("an HTTP request", () => {
  it("causes an error if it has too many bytes, whether or not it states its length", async () => {
    const body = JSON.stringify({ name: "x".repeat(4_100_000) });
    expect(await status("/api/agents", { method: "POST", headers: json, body })).toBe(413);
    const chunked = { ...json, "transfer-encoding": "chunked" };
    expect(await status("/api/agents", { method: "POST", headers: chunked, body })).toBe(413);
  });

  // Created as a string, because JSON.stringify has too small a stack for it too.
  const DEEP = `${'{"type":"object","properties":{"a":'.repeat(5_000)}{}${"}}".repeat(5_000)}`;
  const tool = '"id":"deep","description":"d","handler_key":"http"';

  it.each([
    ["a schema", `{${tool},"parameters_schema":${DEEP}}`],
    ["a schema as a string", `{${tool},"parameters_schema":${JSON.stringify(DEEP)}}`],
    ["a field that nobody reads", `{"anything":${DEEP}}`],
  ])("causes an error if it has 5,000 levels (%s)", async (_, body) => {
    for (const path of ["/api/tools", "/api/agents", "/v1/chat/completions"]) {
      const told = await raw(`${open.url}${path}`, { method: "POST", headers: json, body });
      expect([path, told.status]).toEqual([path, 400]);
    }
    expect(open.faults).toEqual([]);
  });

  it("causes no server error if it breaks off", async () => {
    const { hostname, port } = new URL(open.url);
    const before = open.log.length;
    const socket = connect(Number(port), hostname);
    const head = "POST /api/agents HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\n";
    socket.write(`${head}Content-Length: 100\r\n\r\n{`);
    await expect.poll(() => socket.bytesWritten).toBeGreaterThan(0);
    setTimeout(() => socket.destroy(), 50);
    await expect.poll(() => open.log.length).toBeGreaterThan(before);
    expect(open.faults).toEqual([]);
  });

  it("reaches the server even if there are hundreds of incomplete ones, whose memory is limited", async () => {
    const crowded = await startDemoServer();
    const { hostname, port } = new URL(crowded.url);
    const piece = Buffer.alloc(600_000, 0x20);
    const head = `POST /api/agents HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\nContent-Length: ${piece.length + 1}\r\n\r\n`;
    let refused = 0;
    let cut = 0;
    const sockets = Array.from({ length: 400 }, () => {
      const socket = connect(Number(port), hostname, () => socket.write(head, () => socket.write(piece)));
      socket.on("data", (data) => {
        if (data.toString().startsWith("HTTP/1.1 503")) refused++;
      });
      return socket.on("close", () => cut++).on("error", () => undefined);
    });
    // 32 MB are about fifty of them. 80 connections are one too many each.
    await expect.poll(() => refused, { timeout: 30_000 }).toBeGreaterThan(250);
    expect(cut).toBeGreaterThan(79);
    expect(await status("/api/health", {}, crowded)).toBe(200);
    const made = await crowded.ask("POST", "/api/agents", { name: "Small" });
    expect(made.status).toBe(201);
    for (const socket of sockets) socket.destroy();
    await crowded.close();
  }, 60_000);

  it("reaches the server even if hundreds never send their header", async () => {
    const crowded = await startDemoServer();
    const { hostname, port } = new URL(crowded.url);
    let cut = 0;
    const sockets = Array.from({ length: 700 }, () =>
      connect(Number(port), hostname)
        .on("connect", function (this: Socket) {
          this.write("GET /api/health HTTP/1.1\r\nHost: local");
        })
        .on("close", () => cut++)
        .on("error", () => undefined),
    );
    // Every connection above the limit closes the oldest one.
    await expect.poll(() => cut, { timeout: 5_000 }).toBeGreaterThan(300);
    expect(await status("/api/health", {}, crowded)).toBe(200);
    for (const socket of sockets) socket.destroy();
    await crowded.close();
  }, 60_000);

  it("blocks no other request if it is incomplete", async () => {
    const { hostname, port } = new URL(open.url);
    const socket = connect(Number(port), hostname);
    socket.write(
      "POST /api/agents HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\nContent-Length: 100\r\n\r\n{",
    );
    expect(await status("/api/health")).toBe(200);
    socket.destroy();
  });

  it("gets an id, which the client can choose if it is a plain one", async () => {
    expect(
      (await open.ask("GET", "/api/health", undefined, { "x-request-id": "mine-1" })).headers.get("x-request-id"),
    ).toBe("mine-1");
    const { headers } = await open.ask("GET", "/api/health", undefined, { "x-request-id": "not <plain>" });
    expect(headers.get("x-request-id")).toMatch(/^req_/);
  });

  it("causes one line in the log", async () => {
    await open.ask("GET", "/api/agents/nobody", undefined, { "x-request-id": "logged", "x-workspace-id": "ws_1" });
    await expect
      .poll(() => open.log.filter((line) => line.request_id === "logged"))
      .toMatchObject([{ level: "info", method: "GET", path: "/api/agents/nobody", status: 404 }]);
  });
});

it("lets the page load from and send requests to only its own server, without frames", async () => {
  const { headers, body } = await raw(open.url);
  expect(headers["content-security-policy"]).toBe(
    "default-src 'none'; script-src 'self'; style-src 'self'; connect-src 'self'; img-src 'self' data:; base-uri 'none'; form-action 'none'; frame-ancestors 'none'",
  );
  expect(headers["x-content-type-options"]).toBe("nosniff");
  expect(body).not.toMatch(/https?:|<script>| on\w+=| style=/);
});

it("compresses responses for other machines only, and never streams", async () => {
  const shared = await startDemoServer({ access: { host: "0.0.0.0", token: TOKEN } });
  saveSynthetic(shared.db, { id: "run_a", tasks: 3 });
  const headers = { authorization: `Bearer ${TOKEN}`, "accept-encoding": "gzip" };
  const get = (server: DemoServer, path: string) =>
    fetch(`http://127.0.0.1:${new URL(server.url).port}${path}`, { headers });
  try {
    for (const path of ["/page/plot.js", "/api/agents"]) {
      const [far, near] = await Promise.all([get(shared, path), get(open, path)]);
      expect(far.headers.get("content-encoding")).toBe("gzip");
      expect(near.headers.get("content-encoding")).toBeNull();
      expect(await far.text()).toBe(await near.text());
    }
    const events = await get(shared, "/api/runs/run_a/events");
    expect(events.headers.get("content-encoding")).toBeNull();
    await events.body?.cancel();
  } finally {
    await shared.close();
  }
});
