import { spawn } from "node:child_process";
import { request as httpRequest } from "node:http";
import { createInterface } from "node:readline";
import { Client as ModernClient, StreamableHTTPClientTransport as ModernHttp } from "@modelcontextprotocol/client";
import { StdioClientTransport as ModernStdio } from "@modelcontextprotocol/client/stdio";
import { Client } from "@modelcontextprotocol/sdk/client/index.js";
import { StdioClientTransport } from "@modelcontextprotocol/sdk/client/stdio.js";
import { StreamableHTTPClientTransport } from "@modelcontextprotocol/sdk/client/streamableHttp.js";
import type { Transport } from "@modelcontextprotocol/sdk/shared/transport.js";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { BIN, demoQuestion, MAIL, MARCUS, type Started, workFolder } from "../art-e.js";

const { artE, start, path } = workFolder({ mail: MAIL });

/** A question about Marcus's mail, which is older than the question's date. */
const question = demoQuestion(1);
const [gold = ""] = question.message_ids;
const uriOf = (id: string) => `mail://${encodeURIComponent(id.replace(/^<|>$/g, ""))}`;

async function overStdio(args: readonly string[]): Promise<Client> {
  const client = new Client({ name: "test", version: "1" });
  await client.connect(
    new StdioClientTransport({ command: process.execPath, args: [BIN, "mcp", "--db", path("art-e.db"), ...args] }),
  );
  return client;
}

async function listening(
  args: readonly string[],
  variables: Record<string, string> = {},
): Promise<{ server: Started; url: string }> {
  const server = start(["mcp", "--http", "--port", "0", ...args], variables);
  const url = await new Promise<string>((resolve, reject) => {
    server.child.stdout?.once("data", (text: string) => resolve(text.trim()));
    void server.ended.then(({ stderr }) => reject(new Error(stderr)));
  });
  return { server, url };
}

async function overHttp(url: string, token?: string): Promise<Client> {
  const client = new Client({ name: "test", version: "1" });
  const requestInit = token === undefined ? {} : { headers: { authorization: `Bearer ${token}` } };
  await client.connect(new StreamableHTTPClientTransport(new URL(url), { requestInit }) as Transport);
  return client;
}

function post(url: string, headers: Record<string, string>, body = "{}"): Promise<{ status: number; text: string }> {
  return new Promise((resolve, reject) => {
    const sent = httpRequest(
      url,
      { method: "POST", headers: { "content-type": "application/json", ...headers } },
      (reply) => {
        let text = "";
        reply.setEncoding("utf8").on("data", (more: string) => {
          text += more;
        });
        reply.on("end", () => resolve({ status: reply.statusCode ?? 0, text }));
      },
    );
    sent.on("error", reject).end(body);
  });
}

describe("the command art-e mcp --print-config", () => {
  it("prints a configuration that starts the server in any folder and with any PATH", async () => {
    const { code, stdout } = await artE(`mcp ${MARCUS} --before 2001-06-01 --print-config`);
    expect(code).toBe(0);
    const { command, args } = JSON.parse(stdout).mcpServers.mail;
    const client = new Client({ name: "test", version: "1" });
    await client.connect(new StdioClientTransport({ command, args, cwd: "/", env: { PATH: "" } }));
    expect((await client.listTools()).tools.map(({ name }) => name)).toContain("email_search");
    await client.close();
    expect(args).toEqual(expect.arrayContaining(["--before", "2001-06-01"]));
  });

  it("requires a mailbox if the database has several", async () => {
    const { code, stderr } = await artE("mcp --print-config");
    expect(code).toBe(2);
    expect(stderr).toMatch(
      /^art-e: MAILBOX is required, because \S+art-e\.db has \d+ mailboxes\.\n +Pass one of them: .*@/,
    );
  });

  it("rejects an unknown mailbox, and --http", async () => {
    expect(await artE("mcp --inbox nobody@nowhere.example --print-config")).toMatchObject({ code: 2, stdout: "" });
    expect(await artE(`mcp ${MARCUS} --inbox nobody@nowhere.example --print-config`)).toMatchObject({
      code: 2,
      stderr: expect.stringContaining(`MAILBOX (${MARCUS}) and --inbox (nobody@nowhere.example) differ.`),
    });
    const both = await artE(`mcp --inbox ${MARCUS} --print-config --http`);
    expect(both).toMatchObject({
      code: 2,
      stderr: expect.stringContaining("--print-config and --http cannot be combined"),
    });
  });
});

it("art-e mcp replies to invalid messages over stdio and continues, writes nothing else, and exits when its input ends", async () => {
  const lines = ["no json", '{"x": 1}', '{"jsonrpc": "2.0", "id": 7, "method": "ping"}'];
  const args = [BIN, "mcp", "--inbox", MARCUS, "--db", path("art-e.db"), "--verbose"];
  const server = spawn(process.execPath, args, { stdio: ["pipe", "pipe", "inherit"] });
  const closed = new Promise((resolve) => server.on("close", resolve));
  server.stdin.write(lines.map((line) => `${line}\n`).join(""));
  const replies: string[] = [];
  for await (const line of createInterface(server.stdout)) {
    replies.push(line);
    if (replies.length === lines.length) server.stdin.end();
  }
  expect(replies).toHaveLength(lines.length);
  const [parse, request, ping] = replies.map((line) => JSON.parse(line));
  expect(parse).toEqual({ jsonrpc: "2.0", id: null, error: { code: -32700, message: "Parse error" } });
  expect(request).toEqual({ jsonrpc: "2.0", id: null, error: { code: -32600, message: "Invalid Request" } });
  expect(ping).toEqual({ jsonrpc: "2.0", id: 7, result: {} });
  expect(await closed).toBe(0);
});

describe.each(["stdio", "http"])("the MCP server over %s", (transport) => {
  let client: Client;
  let server: Started | null = null;
  beforeAll(async () => {
    if (transport === "stdio") {
      client = await overStdio(["--inbox", MARCUS]);
      return;
    }
    const http = await listening(["--inbox", MARCUS]);
    server = http.server;
    client = await overHttp(http.url);
  });
  afterAll(async () => {
    await client.close();
    server?.child.kill("SIGTERM");
    await server?.ended;
  });

  it("describes itself and offers its tools, bound to the mailbox and read-only", async () => {
    expect(client.getServerVersion()).toMatchObject({ name: "art-e" });
    expect(client.getInstructions()).toContain(MARCUS);
    const { tools } = await client.listTools();
    expect(tools.map(({ name }) => name)).toEqual([
      "email_search",
      "email_get",
      "list_needs_reply",
      "list_waiting_for",
    ]);
    expect(tools.every(({ annotations }) => annotations?.readOnlyHint === true)).toBe(true);
    expect(tools.map(({ inputSchema }) => inputSchema.required)).toEqual([[], ["message_id"], undefined, undefined]);
    expect(Object.keys(tools[0]?.inputSchema.properties ?? {})).not.toContain("inbox_id");
  });

  it("finds and reads the email that answers a question", async () => {
    const found = await client.callTool({ name: "email_search", arguments: { query: question.question } });
    // biome-ignore lint/suspicious/noExplicitAny: the test checks the properties that it reads.
    const { emails } = found.structuredContent as any;
    expect(emails.map((mail: { message_id: string }) => mail.message_id)).toContain(gold);
    const read = await client.callTool({ name: "email_get", arguments: { message_id: gold } });
    expect(read.structuredContent).toMatchObject({ message_id: gold, body: expect.stringMatching(/\w/) });
    expect(JSON.parse((read.content as { text: string }[])[0]?.text ?? "")).toEqual(read.structuredContent);
  });

  it("lists the emails that may need a reply, with the rule's reasons", async () => {
    const { structuredContent } = await client.callTool({ name: "list_needs_reply", arguments: { limit: 1 } });
    expect(structuredContent).toMatchObject({
      window: { from: "2002-02-05", until: "2002-02-11" },
      emails: [{ subject: "Heron", reasons: ["addressed to you and 2 others"] }],
      total: 2,
    });
    const waiting = await client.callTool({ name: "list_waiting_for", arguments: { sent_after: "2001-12-01" } });
    expect(waiting.structuredContent).toMatchObject({
      window: { from: "2001-12-01", until: "2002-02-11" },
      emails: [{ subject: "Ardmore renewal", sender: MARCUS }],
      total: 1,
    });
    const { isError, content } = await client.callTool({ name: "list_needs_reply", arguments: { sent_after: "June" } });
    expect([isError, content]).toEqual([true, [{ type: "text", text: expect.stringContaining("sent_after") }]]);
  });

  it("rejects another mailbox, an email in another mailbox, an invalid call and an unknown tool, with a message", async () => {
    const calls = [
      { name: "email_search", arguments: { query: "x", inbox_id: "dana.okafor@kestrelplains.example" } },
      { name: "email_get", arguments: { message_id: "<nowhere@example>" } },
      { name: "email_search", arguments: { query: 5 } },
      { name: "send_email", arguments: {} },
    ];
    const said = [];
    for (const call of calls) {
      const { isError, content } = await client.callTool(call);
      said.push([isError, (content as { text: string }[])[0]?.text]);
    }
    expect(said).toEqual([
      [true, expect.stringContaining(`You may search only the mailbox ${MARCUS}`)],
      [true, expect.stringContaining("Unknown email <nowhere@example>")],
      [true, expect.stringContaining("Invalid arguments")],
      [true, expect.stringContaining('Unknown tool "send_email"')],
    ]);
  });

  it("lists the mailbox's emails newest first in pages, each email once", async () => {
    const all: { uri: string; description?: string | undefined }[] = [];
    let cursor: string | undefined;
    do {
      const page = await client.listResources(cursor === undefined ? {} : { cursor });
      expect(page.resources.length).toBeLessThanOrEqual(50);
      all.push(...page.resources);
      cursor = page.nextCursor;
    } while (cursor !== undefined);
    expect(new Set(all.map(({ uri }) => uri)).size).toBe(all.length);
    expect(all.length).toBeGreaterThan(100);
    const days = all.map(({ description = "" }) => description.split(", from ")[0]).filter((day) => day !== "no date");
    for (const day of days) expect(day).toMatch(/^\d{4}-\d\d-\d\d$/);
    expect(days).toEqual([...days].sort().reverse());
    await expect(client.listResources({ cursor: "nonsense" })).rejects.toThrow(/cursor/);
  });

  it("reads an email as a resource, and completes its Message-ID", async () => {
    const { resourceTemplates } = await client.listResourceTemplates();
    expect(resourceTemplates.map(({ uriTemplate }) => uriTemplate)).toEqual(["mail://{message_id}"]);
    const { contents } = await client.readResource({ uri: uriOf(gold) });
    expect(contents).toMatchObject([
      { mimeType: "text/plain", text: expect.stringContaining(`Message-ID: ${gold}\n`) },
    ]);
    for (const uri of ["mail://nowhere%40example", "file:///etc/passwd", "mail://%"]) {
      await expect(client.readResource({ uri })).rejects.toThrow(/mail/i);
    }
    const argument = { name: "message_id", value: gold.slice(1, 8) };
    const { completion } = await client.complete({
      ref: { type: "ref/resource", uri: "mail://{message_id}" },
      argument,
    });
    expect(completion.values).toContain(gold.replace(/^<|>$/g, ""));
    const none = await client.complete({
      ref: { type: "ref/resource", uri: "mail://{message_id}" },
      argument: { name: "message_id", value: "no-such" },
    });
    expect(none.completion.values).toEqual([]);
    const every = await client.complete({
      ref: { type: "ref/resource", uri: "mail://{message_id}" },
      argument: { name: "message_id", value: "" },
    });
    expect(every.completion.values).toHaveLength(100);
    expect(every.completion.hasMore).toBe(true);
  });
});

describe("the MCP revision 2026-07-28", () => {
  const modern = () =>
    new ModernClient({ name: "test", version: "1" }, { versionNegotiation: { mode: { pin: "2026-07-28" } } });

  /** Checks the tools, a found email as a resource, and the refusal of an email elsewhere. */
  async function use(client: ModernClient) {
    expect(client.getNegotiatedProtocolVersion()).toBe("2026-07-28");
    expect((await client.listTools()).tools.map(({ name }) => name)).toEqual([
      "email_search",
      "email_get",
      "list_needs_reply",
      "list_waiting_for",
    ]);
    const found = await client.callTool({ name: "email_search", arguments: { query: question.question } });
    expect(JSON.stringify(found.structuredContent)).toContain(gold);
    const { contents } = await client.readResource({ uri: uriOf(gold) });
    expect(contents).toMatchObject([{ text: expect.stringContaining(`Message-ID: ${gold}\n`) }]);
    await expect(client.readResource({ uri: "mail://nowhere%40example" })).rejects.toThrow(/Unknown email/);
    await client.close();
  }

  it("works over stdio", async () => {
    const client = modern();
    const args = [BIN, "mcp", "--db", path("art-e.db"), "--inbox", MARCUS];
    await client.connect(new ModernStdio({ command: process.execPath, args }));
    await use(client);
  });

  it("works over HTTP, in addition to earlier revisions", async () => {
    const { server, url } = await listening(["--inbox", MARCUS]);
    const client = modern();
    await client.connect(new ModernHttp(new URL(url)) as Parameters<ModernClient["connect"]>[0]);
    const earlier = await overHttp(url);
    await use(client);
    expect((await earlier.listTools()).tools).toHaveLength(4);
    await earlier.close();
    server.child.kill("SIGTERM");
    expect((await server.ended).code).toBe(0);
  });
});

describe("art-e mcp --before", () => {
  it("hides later mail from tools, lists, resources and completions", async () => {
    const all = await overStdio(["--inbox", MARCUS]);
    const late = (await all.listResources()).resources[0];
    await all.close();
    const day = late?.description?.slice(0, 10) ?? "";
    const client = await overStdio(["--inbox", MARCUS, "--before", day]);
    const listed = (await client.listResources()).resources;
    expect(listed.length).toBeGreaterThan(10);
    expect(listed.every(({ description = "" }) => description.slice(0, 10) < day)).toBe(true);
    const uri = late?.uri ?? "";
    await expect(client.readResource({ uri })).rejects.toThrow(/Unknown email/);
    const id = decodeURIComponent(uri.slice("mail://".length));
    expect(await client.callTool({ name: "email_get", arguments: { message_id: `<${id}>` } })).toMatchObject({
      isError: true,
    });
    const argument = { name: "message_id", value: id };
    const { completion } = await client.complete({
      ref: { type: "ref/resource", uri: "mail://{message_id}" },
      argument,
    });
    expect(completion.values).toEqual([]);
    await client.close();
  });
});

describe("art-e mcp --http", () => {
  it("requires a token if other machines can connect, says so before it starts, and reports a port in use", async () => {
    const without = await artE(["mcp", "--inbox", MARCUS, "--http", "--host", "0.0.0.0", "--port", "0"]);
    expect(without).toMatchObject({ code: 2, stderr: expect.stringContaining("ART_E_TOKEN") });
    const { server, url } = await listening(["--inbox", MARCUS, "--host", "0.0.0.0"], {
      ART_E_TOKEN: "a-long-secret-token",
    });
    const local = url.replace("0.0.0.0", "127.0.0.1");
    const second = await artE(["mcp", "--inbox", MARCUS, "--http", "--port", new URL(url).port]);
    expect(second).toMatchObject({ code: 1, stderr: expect.stringContaining("EADDRINUSE") });
    expect((await post(local, {})).status).toBe(401);
    expect((await post(local, { authorization: "Bearer a-long-secret-tokem" })).status).toBe(401);
    const authorization = "Bearer a-long-secret-token";
    expect((await post(local.replace("/mcp", "/other"), { authorization })).status).toBe(404);
    const client = await overHttp(local, "a-long-secret-token");
    expect((await client.listTools()).tools).toHaveLength(4);
    await client.close();
    server.child.kill("SIGTERM");
    expect((await server.ended).code).toBe(0);
  });

  it("rejects a short token, and a port if --http is missing", async () => {
    const short = await artE(["mcp", "--inbox", MARCUS, "--http", "--port", "0"], { ART_E_TOKEN: "short" });
    expect(short).toMatchObject({ code: 2, stderr: expect.stringContaining("at least 16 characters") });
    const stdio = await artE(["mcp", "--inbox", MARCUS, "--port", "0"]);
    expect(stdio).toMatchObject({ code: 2, stderr: expect.stringContaining("--port requires --http") });
  });
});

it("rejects an unknown mailbox, and lists the available ones", async () => {
  const { code, stderr } = await artE("mcp --inbox nobody@nowhere.example");
  expect(code).toBe(2);
  expect(stderr).toContain("No mail in ./art-e.db is from or to nobody@nowhere.example.");
  expect(stderr).toContain(MARCUS);
});
