import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test } from "vitest";
import { z } from "zod";
import { agentSettingsSchema } from "../../src/agents/agent.js";
import { listAgents } from "../../src/agents/registry-store.js";
import { UserError } from "../../src/platform/errors.js";
import type { JsonObject, JsonValue } from "../../src/platform/json.js";
import { SuiteDocuments } from "../../src/suites/task/document-search.js";
import type { TaskDocuments } from "../../src/tasks/suite-task.js";
import { addInboxArgument, HANDLERS, loadTools, toTool } from "../../src/tools/load-tools.js";
import { type Mailbox, openMailbox } from "../../src/tools/mailbox.js";
import { resultValue, type Tool } from "../../src/tools/tool.js";
import { getTool, listTools } from "../../src/tools/tools-store.js";
import { openDemo, openEmpty, type TestDb } from "../runs/demo-setup.js";
import { context } from "./demo-tools.js";

const ACTION_TOOLS = [
  "label_emails",
  "move_emails",
  "mark_emails",
  "create_draft",
  "list_drafts",
  "send_draft",
  "discard_draft",
];

describe("loading tools", () => {
  /** Message-ID of an email to Marcus with a body of more than 20,000 characters. */
  const LONG = "<9104454.1075840737295.JavaMail.demo@kestrel>";
  let empty: TestDb;
  let mailbox: Mailbox;

  beforeEach(() => {
    empty = openEmpty();
    mailbox = openMailbox(empty.db);
  });

  afterEach(() => empty.close());

  const addAgent = (id: string) =>
    empty.db.prepare("INSERT INTO agents (id, name, prompt) VALUES (?, ?, 'p')").run(id, id);

  const addTool = (id: string, schema: string, handler: string) =>
    empty.db
      .prepare("INSERT INTO tools (id, name, description, parameters_schema, handler_key) VALUES (?, ?, 'd', ?, ?)")
      .run(id, id, schema, handler);

  const attach = (agent: string, tool: string, config: string | null = null) =>
    empty.db.prepare("INSERT INTO agent_tools (agent_id, tool_id, config) VALUES (?, ?, ?)").run(agent, tool, config);

  const load = (agent: string) => loadTools(empty.db, agent, { mailbox });
  const ids = (tools: readonly Tool[]) => tools.map((tool) => tool.id);

  function refusalOf(action: () => unknown): UserError {
    try {
      action();
    } catch (error) {
      if (error instanceof UserError) return error;
      throw error;
    }
    throw new Error("not refused");
  }

  describe("a tool that cannot be loaded", () => {
    const anything = '{"type": "object"}';

    test.each(["sql_query", "", "constructor", "toString", "__proto__"])(
      "appears in the error if its handler_key %j is unknown",
      (key) => {
        addAgent("mine");
        addTool("odd", anything, key);
        attach("mine", "odd");
        const error = refusalOf(() => load("mine"));
        expect(error).toMatchObject({ code: "handler_unknown", exitCode: 2 });
        expect(error.message).toContain('tool "odd"');
        expect(error.message).toContain(`"${key}"`);
        expect(error.hint).toContain("email_search, email_get");
      },
    );

    test.each([
      ["not JSON", '{"type": "obj'],
      ["not an object", '["type"]'],
      ["null", "null"],
    ])("appears in the error if its stored schema is %s", (_, schema) => {
      addAgent("mine");
      addTool("odd", schema, "email_get");
      attach("mine", "odd");
      const error = refusalOf(() => load("mine"));
      expect(error).toMatchObject({ code: "row_damaged", exitCode: 1 });
      expect(error.message).toContain("table tools, row odd, column parameters_schema");
    });

    test.each([
      ["of another type", '{"type": "string"}'],
      ["missing a type", '{"properties": {}}'],
      ["missing a bound's type", '{"type": "object", "properties": {"n": {"minimum": 1}}}'],
      ["using a misspelled keyword", '{"type": "object", "propertys": {}}'],
    ])("appears in the error if its schema is %s", (_, schema) => {
      addAgent("mine");
      addTool("odd", schema, "email_get");
      attach("mine", "odd");
      const error = refusalOf(() => load("mine"));
      expect(error).toMatchObject({ code: "tool_schema_invalid", exitCode: 2 });
      expect(error.message).toContain('tool "odd"');
      expect(error.hint).toContain("table tools");
    });

    test.each([
      ["not JSON", "{pageSize: 3000}"],
      ["not an object", "3000"],
      ["null in JSON", "null"],
    ])("appears in the error if its stored config is %s", (_, config) => {
      addAgent("mine");
      attach("mine", "email_get", config);
      const error = refusalOf(() => load("mine"));
      expect(error).toMatchObject({ code: "row_damaged", exitCode: 1 });
      expect(error.message).toContain("table agent_tools");
      expect(error.message).toContain("email_get");
    });

    test.each([
      ["of the wrong type", "email_get", '{"pageSize": "3000"}'],
      ["out of bounds", "email_get", '{"pageSize": 10}'],
      ["using a misspelled name", "email_get", '{"page_size": 3000}'],
      ["given for a tool without a config", "email_search", '{"limit": 3}'],
    ])("appears in the error if its config is %s", (_, tool, config) => {
      addAgent("mine");
      attach("mine", tool, config);
      const error = refusalOf(() => load("mine"));
      expect(error).toMatchObject({ code: "tool_config_invalid", exitCode: 2 });
      expect(error.message).toContain(`tool "${tool}"`);
      expect(error.hint).toContain("agent_tools");
    });

    test("appears in the error even if all others are valid", () => {
      addAgent("mine");
      addTool("odd", anything, "nothing");
      attach("mine", "email_search");
      attach("mine", "odd");
      expect(refusalOf(() => load("mine")).message).toContain('"odd"');
      expect(ids(load("email-search"))).toHaveLength(3);
    });
  });

  describe("the tools of an agent", () => {
    test("equal the default tools if it has no rows", () => {
      addAgent("plain");
      expect(ids(load("plain"))).toEqual(["email_search", "email_get", "return_final_answer"]);
    });

    test("follow its rows, in their order of attachment", () => {
      addAgent("mine");
      attach("mine", "read_email");
      attach("mine", "email_search");
      expect(ids(load("mine"))).toEqual(["read_email", "email_search"]);
    });

    test("equal the default tools again after its last tool is removed", () => {
      addAgent("mine");
      attach("mine", "read_email");
      empty.db.prepare("DELETE FROM agent_tools WHERE agent_id = 'mine'").run();
      expect(ids(load("mine"))).toEqual(["email_search", "email_get", "return_final_answer"]);
    });

    test("can include a custom tool that has a built-in handler and a custom description, bounds and defaults", async () => {
      addAgent("mine");
      const schema = {
        type: "object",
        properties: { query: { type: "string" }, limit: { type: "integer", maximum: 3, default: 2 } },
        required: ["query"],
        additionalProperties: false,
      };
      addTool("find", JSON.stringify(schema), "email_search");
      attach("mine", "find");
      const [find] = load("mine");
      expect(find).toMatchObject({ id: "find", description: "d", parameters: schema });
      expect(await find?.call({ query: "x", limit: 4 }, context)).toMatchObject({ ok: false, kind: "bad_arguments" });
    });

    test("return an error from the handler if a tool's schema is looser than its handler", async () => {
      addAgent("mine");
      addTool("read", '{"type": "object"}', "email_get");
      attach("mine", "read");
      const result = await load("mine")[0]?.call({}, context);
      expect(result).toMatchObject({ ok: false, kind: "bad_arguments" });
      expect(result).toMatchObject({ error: expect.stringContaining("message_id") });
    });
  });

  describe("the seed data", () => {
    test("contains the agents, their settings and their tools", () => {
      const seeded = listAgents(empty.db).map((agent) => ({
        id: agent.id,
        model: agent.model,
        settings: agent.settings,
        tools: ids(load(agent.id)),
      }));
      const usual = { maxTurns: 10, maxTokens: 2048, toolCalls: "all", toolChoice: "auto", toolResults: "plain" };
      const tools = ["email_search", "email_get", "return_final_answer"];
      const acting = ["email_search", "email_get", ...ACTION_TOOLS, "return_final_answer"];
      expect(seeded).toEqual([
        {
          id: "art-e",
          model: null,
          settings: { ...usual, toolCalls: "first", toolChoice: "required" },
          tools: ["search_emails", "read_email", "return_final_answer"],
        },
        { id: "baseline", model: "offline/baseline", settings: usual, tools },
        {
          id: "data-worker",
          model: null,
          settings: { ...usual, maxTurns: 50, maxTokens: 8192 },
          tools: [
            "run_shell",
            "execute_python",
            "read_file",
            "write_file",
            "list_files",
            "run_notebook",
            "search_documents",
            "return_final_answer",
          ],
        },
        { id: "email-search", model: null, settings: { ...usual, toolResults: "delimited" }, tools },
        { id: "mail-rules", model: "offline/mail-rules", settings: usual, tools: acting },
        {
          id: "mail-worker",
          model: null,
          settings: { ...usual, maxTurns: 25, maxTokens: 4096, toolResults: "delimited" },
          tools: acting,
        },
        {
          id: "noop",
          model: "offline/noop",
          settings: { ...usual, maxTurns: 3 },
          tools: ["return_final_answer"],
        },
        {
          id: "oracle",
          model: "offline/oracle",
          settings: { ...usual, maxTurns: 3 },
          tools: ["apply_oracle", "return_final_answer"],
        },
      ]);
      expect(agentSettingsSchema.parse({})).toEqual(usual);
    });

    test("contains the tools, and one tool per handler, except handlers of custom tools", () => {
      const rows = listTools(empty.db).map(({ id, handlerKey, category }) => [id, handlerKey, category]);
      expect(rows).toEqual([
        ...[...ACTION_TOOLS].sort().map((id) => [id, id, "actions"]),
        ["return_final_answer", "return_final_answer", "answer"],
        ["execute_python", "execute_python", "code"],
        ["search_documents", "search_documents", "documents"],
        ["email_get", "email_get", "email"],
        ["email_search", "email_search", "email"],
        ["read_email", "email_get", "email"],
        ["search_emails", "search_emails", "email"],
        ["list_files", "list_files", "filesystem"],
        ["read_file", "read_file", "filesystem"],
        ["write_file", "write_file", "filesystem"],
        ["apply_oracle", "apply_oracle", "machine"],
        ["run_notebook", "run_notebook", "machine"],
        ["run_shell", "run_shell", "machine"],
      ]);
      const own = ["http", "command", "mcp", "module"];
      expect(new Set([...rows.map(([, handler]) => handler), ...own])).toEqual(new Set(Object.keys(HANDLERS)));
    });
  });

  describe("tool configs of different agents", () => {
    let demo: TestDb;
    beforeAll(async () => {
      demo = await openDemo();
    });
    afterAll(() => demo.close());

    const lengthReadBy = async (agent: string, toolId: string) => {
      const tools = loadTools(demo.db, agent, { mailbox: openMailbox(demo.db) });
      const result = await tools.find(({ id }) => id === toolId)?.call({ message_id: LONG }, context);
      if (!result?.ok) throw new Error("not read");
      return (resultValue(result) as { body: string }).body.length;
    };

    test("let art-e read a long email completely, email-search in pages, and a third agent in other pages", async () => {
      demo.db.exec(`INSERT INTO agents (id, name, prompt) VALUES ('third', 'third', 'p');
      INSERT INTO agent_tools (agent_id, tool_id, config) VALUES ('third', 'email_get', '{"pageSize": 1500}')`);
      const whole = demo.db.prepare("SELECT length(body) FROM emails WHERE message_id = ?").pluck().get(LONG);
      expect(whole).toBeGreaterThan(20_000);
      expect(await lengthReadBy("art-e", "read_email")).toBe(whole);
      expect(await lengthReadBy("email-search", "email_get")).toBe(20_000);
      expect(await lengthReadBy("third", "email_get")).toBe(1500);
    });
  });
});

const object = (properties: JsonObject): { parameters: JsonObject } => ({
  parameters: { type: "object", properties, required: [] },
});

const WITH = object({ inbox_id: { type: "string" }, q: { type: "string" } });
const INBOX = "ann@plains.example";

describe("the mailbox of a task", () => {
  test("becomes a tool's argument if the tool has a mailbox parameter and the call does not specify it", () => {
    expect(addInboxArgument(WITH, { q: "x" }, INBOX)).toEqual({ inbox_id: INBOX, q: "x" });
    expect(addInboxArgument(WITH, { q: "x", inbox_id: "ben@plains.example" }, INBOX)).toEqual({
      q: "x",
      inbox_id: "ben@plains.example",
    });
  });

  test.each([
    ["if a tool has no mailbox parameter", object({ q: { type: "string" } }), { q: "x" }, INBOX],
    ["if the arguments are not an object", WITH, "x", INBOX],
    ["outside a mailbox", WITH, { q: "x" }, null],
    ["if the tool's mailbox parameter is of another kind", { parameters: { type: "object" } }, { q: "x" }, INBOX],
  ])("does not become an argument of %s", (_, tool, args, inbox) => {
    expect(addInboxArgument(tool, args, inbox)).toEqual(args);
  });
});

describe("the tools that search documents", () => {
  const root = mkdtempSync(join(tmpdir(), "art-e-documents-"));
  const text = "Seeds are CSV files. ".repeat(2_000);
  let empty: TestDb;
  let documents: TaskDocuments;

  beforeAll(() => {
    empty = openEmpty();
    mkdirSync(join(root, "documents"));
    writeFileSync(join(root, "documents/seeds.md"), text);
    documents = new SuiteDocuments(root, null).open(root);
  });

  afterAll(() => {
    empty.close();
    rmSync(root, { recursive: true });
  });

  function call(args: JsonValue, given: { readonly documents?: TaskDocuments } = { documents }) {
    const tool = toTool(
      { tool: getTool(empty.db, "search_documents"), config: null },
      { mailbox: openMailbox(empty.db) },
    );
    return tool.call(args, { ...context, ...given });
  }

  test("find documents and open one of them, page by page", async () => {
    expect(await call({ query: "seed", limit: 1 })).toEqual({
      ok: true,
      value: {
        documents: [
          { path: "documents/seeds.md", offset: 0, snippet: expect.stringContaining("CSV"), match: "all_words" },
        ],
      },
    });
    const first = await call({ path: "documents/seeds.md" });
    expect(first).toMatchObject({ value: { offset: 0, length: text.length, next_offset: 20_000 } });
    expect(await call({ path: "documents/seeds.md", offset: 40_000 })).toEqual({
      ok: true,
      value: {
        path: "documents/seeds.md",
        content: text.slice(40_000),
        offset: 40_000,
        length: text.length,
        next_offset: null,
      },
    });
  });

  test.each([
    [{}, "Pass a query"],
    [{ path: "documents/none.md" }, "Unknown document documents/none.md"],
    [{ path: "../secret" }, "Unknown document"],
    [{ path: "documents/seeds.md", offset: 50_000 }, "has 42000 characters"],
  ])("reject %j in a way that lets the model continue", async (args, why) => {
    expect(await call(args)).toEqual({ ok: false, kind: "bad_arguments", error: expect.stringContaining(why) });
  });

  test("report that a task has no documents", async () => {
    expect(await call({ query: "seed" }, {})).toMatchObject({
      ok: false,
      kind: "failed",
      error: expect.stringContaining("does not have documents"),
    });
  });
});

/** `limit 1..50 = 10`: bounds of a number or a length, in parentheses those of a list's items, and the default. */
function limitsOf(schema: z.ZodType): string {
  const { properties = {} } = z.toJSONSchema(schema, { io: "input", unrepresentable: "any" });
  const bounds = (one: z.core.JSONSchema.JSONSchema) => {
    const low = one.minLength ?? one.minItems ?? one.minimum ?? "";
    const high = one.maxLength ?? one.maxItems ?? one.maximum ?? "";
    return `${low}..${high === Number.MAX_SAFE_INTEGER ? "" : high}`;
  };
  const limits = Object.entries(properties as Record<string, z.core.JSONSchema.JSONSchema>).map(([name, one]) => {
    const items = typeof one.items === "object" ? `(${bounds(one.items as z.core.JSONSchema.JSONSchema)})` : "";
    return `${name} ${bounds(one)}${items}${one.default === undefined ? "" : ` = ${JSON.stringify(one.default)}`}`;
  });
  return limits.filter((limit) => !limit.endsWith(" ..")).join(", ");
}

test("errors about arguments have at most 2,000 characters", async () => {
  const empty = openEmpty();
  const required = Array.from({ length: 20 }, (_, i) => `${"x".repeat(150)}${i}`);
  const properties = Object.fromEntries(required.map((name) => [name, { type: "string" }]));
  const row = { ...getTool(empty.db, "list_drafts"), builtin: false };
  const tool = { ...row, id: "odd", parametersSchema: { type: "object", properties, required } };
  const mailbox = openMailbox(empty.db);
  const result = await toTool({ tool, config: null }, { mailbox }).call({}, context);
  const error = result.ok ? "" : result.error;
  expect(error.slice(0, 30)).toBe("Invalid arguments for odd: xxx");
  expect(error.slice(-6)).toMatch(/. \.{4}$/);
  expect(error).toHaveLength("Invalid arguments for odd: ".length + 2_000 + " ....".length);
  empty.close();
});

describe("handlers", () => {
  const CALLS = "timeoutMs 1..600000 = 30000, maxBytes 1..100000000 = 1000000, maxResultChars 100..1000000 = 20000";

  test.each([
    ["email_search", 'query ..10000 = "", inbox_id ..1000, limit 1..50 = 10, from ..1000, to ..1000', ""],
    ["email_get", "message_id 1..2000, offset 0.. = 0", "pageSize 1000.. = 20000"],
    ["search_emails", "keywords 1..100(..1000), from_addr ..1000, to_addr ..1000, max_results 1..10 = 10", ""],
    ["return_final_answer", "sources ..(..) = []", ""],
    ["read_file", "offset 1.. = 1, limit 1..1000 = 200", ""],
    ["list_files", 'path .. = "."', ""],
    ["run_shell", "command 1.., timeout_seconds 1.. = 60", "maxSeconds 1..3600 = 600, outputChars 200.. = 20000"],
    ["run_notebook", "path 1.., timeout_seconds 1.. = 300, continue_on_error .. = false", "maxSeconds 1..3000 = 1800"],
    ["search_documents", "offset 0.. = 0, limit 1..50 = 10", ""],
    ["label_emails", "message_ids 1..200(1..2000), add ..50(1..200) = [], remove ..50(1..200) = []", ""],
    ["move_emails", "message_ids 1..200(1..2000), folder 1..200", ""],
    ["mark_emails", "message_ids 1..200(1..2000)", ""],
    [
      "create_draft",
      'to ..100(..1000), cc ..100(..1000), bcc ..100(..1000), subject ..2000, body ..200000 = "", reply_to 1..2000, reply_all .. = false, forward 1..2000',
      "",
    ],
    ["send_draft", "draft_id 1..2000", ""],
    ["discard_draft", "draft_id 1..2000", ""],
    ["http", "", `method .. = "GET", url 1..4000, headers .. = {}, allowPrivate .. = false, ${CALLS}`],
    ["command", "", `command 1..200(..10000), env ..100(..) = [], cwd 1.., ${CALLS}`],
    ["mcp", "", `tool 1.., ${CALLS}`],
    ["module", "", `env ..100(..) = [], ${CALLS}`],
  ])("limit the arguments and settings of %s", (key, args, config) => {
    const handler = HANDLERS[key];
    expect([handler?.args, handler?.config].map((schema) => schema && limitsOf(schema))).toEqual([args, config]);
  });
});
