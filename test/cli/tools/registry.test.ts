import { readdirSync } from "node:fs";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { answerFrames, frame, startPlayground } from "../../providers/fake-playground.js";
import { MAIL, QUESTIONS, workFolder } from "../art-e.js";

describe("registry commands without a database", () => {
  const { artE, path } = workFolder();

  it("list the agents of a new database with agents list", async () => {
    const { code, stdout, stderr } = await artE("agents list");
    expect({ code, stderr }).toEqual({ code: 0, stderr: "" });
    expect(stdout).toMatchInlineSnapshot(`
      "id            name                model               tools
      ────────────  ──────────────────  ──────────────────  ──────────────────────────────────────────────────────────────────────────────────────────────────────────────────────────────────────────
      art-e         ART-E Agent         the run's           search_emails, read_email, return_final_answer
      baseline      Offline Baseline    offline/baseline    email_search, email_get, return_final_answer
      data-worker   Data Worker         the run's           run_shell, execute_python, read_file, write_file, list_files, run_notebook, search_documents, return_final_answer
      email-search  Email Search Agent  the run's           email_search, email_get, return_final_answer
      mail-rules    Mail Rules          offline/mail-rules  email_search, email_get, label_emails, move_emails, mark_emails, create_draft, list_drafts, send_draft, discard_draft, return_final_answer
      mail-worker   Mail Worker         the run's           email_search, email_get, label_emails, move_emails, mark_emails, create_draft, list_drafts, send_draft, discard_draft, return_final_answer
      noop          No Operation        offline/noop        return_final_answer
      oracle        Oracle              offline/oracle      apply_oracle, return_final_answer
      "
    `);
  });

  it("print an agent with its prompt and tools with agents show", async () => {
    const { code, stdout } = await artE("agents show art-e");
    expect(code).toBe(0);
    expect(stdout).toMatch(/^art-e: ART-E Agent\n/);
    expect(stdout).toContain("\nModel:    the run's\n");
    expect(stdout).toContain(
      "\nSettings: maxTurns 10, maxTokens 2048, toolCalls first, toolChoice required, toolResults plain\n",
    );
    expect(stdout).toMatch(/\nTools: {4}search_emails, read_email.*, return_final_answer\n/);
    expect(stdout).toMatch(/\nPrompt:\n {2}\S/);
    expect(stdout).toContain("{{inbox_address}}");
  });

  it("print one document with agents show --json", async () => {
    expect(JSON.parse((await artE("agents show baseline --json")).stdout)).toMatchObject({
      id: "baseline",
      model: "offline/baseline",
      tools: [
        { id: "email_search", config: null },
        { id: "email_get", config: null },
        { id: "return_final_answer", config: null },
      ],
    });
  });

  it("show one category with tools list", async () => {
    const { code, stdout, stderr } = await artE("tools list --category email");
    expect({ code, stderr }).toEqual({ code: 0, stderr: "" });
    expect(stdout).toMatchInlineSnapshot(`
      "id             category  handler        name
      ─────────────  ────────  ─────────────  ───────────────────
      email_get      email     email_get      Read Email
      email_search   email     email_search   Search Emails
      read_email     email     email_get      Read Email (ART)
      search_emails  email     search_emails  Search Emails (ART)
      "
    `);
  });

  it("show all tools with their parameters with tools list --json", async () => {
    const tools = JSON.parse((await artE("tools list --json")).stdout);
    const ids = tools.map((tool: { id: string }) => tool.id);
    expect(ids).toEqual(expect.arrayContaining(["email_search", "read_email", "execute_python"]));
    for (const tool of tools) expect(tool.parametersSchema).toMatchObject({ type: "object" });
  });

  it("print a tool with its parameters as JSON Schema with tools show", async () => {
    const { code, stdout } = await artE("tools show email_get");
    expect(code).toBe(0);
    expect(stdout).toMatch(/^email_get: Read Email\n/);
    expect(stdout).toContain("\nCategory: email\nHandler:  email_get\n");
    const [, parameters = ""] = stdout.split("\nParameters:\n");
    expect(JSON.parse(parameters)).toMatchObject({ required: ["message_id"] });
  });

  it("leave the folder empty", () => {
    expect(readdirSync(path(""))).toEqual([]);
  });
});

describe("the secrets of tools", () => {
  /** A tool's results and errors must contain neither a forbidden address nor the truncated end of a key. */

  const { artE, write, path } = workFolder({ mail: MAIL });
  /** None of its substrings of six characters occurs in other text. */
  // Only letters: six digits could also occur in a trace's time by chance.
  const KEY = "wombat-qzjxvkwpyhgmtrns-zebra";
  const env = { TOOL_KEY: KEY };

  /** Whether a usable part of the key is shown. */
  function showsKey(text: string): boolean {
    return Array.from({ length: KEY.length - 5 }, (_, i) => KEY.slice(i, i + 6)).some((part) => text.includes(part));
  }

  let asked: string[] = [];

  /** Returns the received key after N other characters: `/STATUS/BEFORE`. */
  const server = createServer((request, response) => {
    asked.push(request.url ?? "");
    const [, status, before] = (request.url ?? "").split("/");
    if (status === "moved") response.writeHead(302, { location: `http://127.0.0.1:${port}/200/0` }).end();
    else {
      response.writeHead(Number(status), { "content-type": "application/json" });
      response.end(`${"x".repeat(Number(before))}${request.headers["x-key"]} and more`);
    }
  });

  let port = 0;

  beforeAll(async () => {
    await new Promise<void>((up) => server.listen(0, "127.0.0.1", up));
    port = (server.address() as AddressInfo).port;
    write("params.json", '{"type": "object", "properties": {}}');
  });

  afterAll(() => server.close().closeAllConnections());

  let made = 0;

  async function add(flags: readonly string[]): Promise<string> {
    const id = `tool_${++made}`;
    const added = await artE(
      ["tools", "add", id, "--parameters", "@params.json", "--description", "Asks.", ...flags],
      env,
    );
    expect(added).toMatchObject({ code: 0, stderr: "" });
    return id;
  }

  const HEADERS = ["--headers", `{"x-key": "\${ENV:TOOL_KEY}"}`];
  const test = (id: string) => artE(["tools", "test", id, "{}"], env);

  describe("in an HTTP tool", () => {
    it.each(["127.0.0.1", "localhost", "[::ffff:127.0.0.1]", "0.0.0.0"])(
      "never reach this machine as %s unless allowed",
      async (host) => {
        asked = [];
        const address = `http://${host}:${port}/200/0`;
        const { code, stdout } = await test(await add(["--http", address, ...HEADERS]));
        expect([code, stdout, asked]).toEqual([1, expect.stringContaining("is not on the public internet"), []]);
        if (host !== "127.0.0.1") return;
        await test(await add(["--http", address, ...HEADERS, "--allow-private"]));
        expect(asked).toEqual(["/200/0"]);
      },
    );

    it.each([400, 200])(
      "stay hidden if a text with status %s is truncated in the middle of the key",
      async (status) => {
        const limit = status === 400 ? 500 : 200;
        for (const shown of [6, KEY.length - 1]) {
          const address = `http://127.0.0.1:${port}/${status}/${limit - shown}`;
          const { code, stdout } = await test(await add(["--http", address, ...HEADERS, "--allow-private"]));
          expect([code, showsKey(stdout)]).toEqual([1, false]);
        }
      },
    );
  });

  describe("in a program used as a tool", () => {
    const program = async (source: string) => {
      write(`program-${++made}.mjs`, source);
      return add(["--command", `"${process.execPath}" "${path(`program-${made}.mjs`)}"`, "--env", "TOOL_KEY"]);
    };

    it.each([6, KEY.length - 1])("stay hidden if only the last %s characters are kept", async (kept) => {
      const source = `process.stderr.write("begin " + process.env.TOOL_KEY.repeat(40) + "y".repeat(${2_000 - kept})); process.exitCode = 1;`;
      const { code, stdout } = await test(await program(source));
      expect([code, showsKey(stdout)]).toEqual([1, false]);
      expect(stdout).toContain("y".repeat(1_900));
    });

    it("stay hidden in invalid JSON output", async () => {
      const source = `process.stdout.write("x".repeat(190) + process.env.TOOL_KEY)`;
      const { code, stdout } = await test(await program(source));
      expect([code, showsKey(stdout)]).toEqual([1, false]);
    });
  });

  it("stay hidden if only the end of an MCP server's output is kept", async () => {
    const source = (words: string) =>
      `process.stderr.write("begin " + process.env.TOOL_KEY + ${words}); process.exitCode = 1;`;
    for (const kept of [6, KEY.length - 1]) {
      write("mcp.mjs", source(`"y".repeat(${1_000 - kept})`));
      const line = `"${process.execPath}" "${path("mcp.mjs")}"`;
      const { code, stderr } = await artE(["tools", "add", "--mcp", line, "--env", "TOOL_KEY"], env);
      expect([code, showsKey(stderr), stderr]).toEqual([1, false, expect.stringContaining("yyyyyyyy")]);
    }
  });

  describe("in an agent on a server", () => {
    const run = (url: string) =>
      artE(`run -a agent_1 --dataset ${QUESTIONS} -l 1 --quiet --api-url ${url}`, { API_TOKEN: KEY });
    const everything = async () => (await artE("export-traces")).stdout;

    it("stay hidden in an error", async () => {
      for (const shown of [6, KEY.length - 1]) {
        const server = await startPlayground(() => ({ status: 400, body: `${"x".repeat(300 - shown)}${KEY} more` }));
        const { stderr } = await run(server.url);
        expect(showsKey(stderr + (await everything()))).toBe(false);
        await server.close();
      }
    });

    it("stay hidden in an error that is not read to its end", async () => {
      // Reading ends with the packet that makes the response larger than 64,000 bytes.
      const server = createServer((_, response) => {
        response.writeHead(400).write(`refused${" ".repeat(64_000)}${KEY.slice(0, 15)}`);
        setTimeout(() => response.end(KEY.slice(15)), 1_000);
      });
      await new Promise<void>((up) => server.listen(0, "127.0.0.1", up));
      const { stderr } = await run(`http://127.0.0.1:${(server.address() as AddressInfo).port}`);
      const traces = await everything();
      expect(traces).toContain("400 refused");
      expect(showsKey(stderr + traces)).toBe(false);
      server.close().closeAllConnections();
    });

    it("stay hidden in streamed messages and in results", async () => {
      const pieces = [...KEY].map((text) => frame({ type: "text-delta", text }));
      const [info = "", ...rest] = answerFrames({ text: `It is ${KEY}.` });
      const server = await startPlayground(() => ({
        chunks: [
          info,
          ...pieces,
          frame({ type: "tool-call", toolCallId: "t", toolName: "echo" }),
          frame({ type: "tool-call-args", toolCallId: "t", args: `{"${KEY}":"${KEY}"}` }),
          frame({ type: "tool-result", toolCallId: "t", result: { said: KEY } }),
          ...rest,
        ],
      }));
      const { code } = await run(server.url);
      const traces = await everything();
      expect([code, showsKey(traces)]).toEqual([0, false]);
      expect(traces).toContain("[secret]");
      await server.close();
    });
  });

  it("stay hidden in the errors and answers of an agent's program", async () => {
    const reply = (fields: string) => `
    import { createInterface } from "node:readline";
    for await (const line of createInterface({ input: process.stdin })) {
      const { id } = JSON.parse(line);
      ${fields}
    }`;
    const key = "process.env.TOOL_KEY";
    for (const [i, fields] of [
      `process.stderr.write("begin " + ${key} + "y".repeat(${2_000 - 15})); process.exit(1);`,
      `console.log(JSON.stringify({ id, answer: "It is " + ${key} }));`,
      `console.log('{"id": 7, "no": "' + "x".repeat(175) + ${key});`,
    ].entries()) {
      write(`agent-${i}.mjs`, reply(fields));
      await artE(
        [
          "run",
          "--agent-command",
          `"${process.execPath}" "${path(`agent-${i}.mjs`)}"`,
          "--dataset",
          QUESTIONS,
          "-l",
          "1",
          "--quiet",
        ],
        env,
      );
      const { stdout } = await artE("export-traces");
      expect([i, showsKey(stdout)]).toEqual([i, false]);
    }
  });
});
