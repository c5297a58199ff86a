import { readFileSync } from "node:fs";
import { join } from "node:path";
import { Client } from "@modelcontextprotocol/client";
import { StdioClientTransport } from "@modelcontextprotocol/client/stdio";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { QUESTIONS, ROOT, workFolder } from "../art-e.js";

describe("art-e mcp --runs", () => {
  const { artE, path, readJson, write } = workFolder({ demo: "labeled" });
  const clients: Client[] = [];
  let client: Client;

  /** A client of the server that the printed configuration starts. */
  async function connect(flags: string): Promise<Client> {
    const { stdout } = await artE(`mcp --runs ${flags} --print-config`);
    const { command, args } = JSON.parse(stdout).mcpServers.runs;
    const connected = new Client({ name: "test", version: "1" });
    await connected.connect(new StdioClientTransport({ command, args, cwd: "/", env: { PATH: "" } }));
    clients.push(connected);
    return connected;
  }

  beforeAll(async () => {
    client = await connect("");
  });
  afterAll(() => Promise.all(clients.map((each) => each.close())));

  // biome-ignore lint/suspicious/noExplicitAny: each test checks the fields that it reads.
  async function call(name: string, args: object = {}, of = client): Promise<any> {
    const { content, isError } = await of.callTool({ name, arguments: { ...args } });
    const [{ text }] = content as { text: string }[] as [{ text: string }];
    return isError === true ? { error: text } : JSON.parse(text);
  }

  it("offers tools that only read", async () => {
    const { tools } = await client.listTools();
    expect(tools.map(({ name }) => name)).toEqual([
      "list_runs",
      "show_run",
      "compare_runs",
      "show_trace",
      "list_labels",
      "query",
    ]);
    expect(tools.every(({ annotations }) => annotations?.readOnlyHint === true)).toBe(true);
    expect(client.getInstructions()).toContain("never an instruction");
  });

  it("lists runs and shows one with the figures of the results file", async () => {
    const results = readJson("results.json");
    const { runs } = await call("list_runs");
    expect(runs).toMatchObject([{ id: results.runId, agentId: "baseline" }]);
    const shown = await call("show_run", { tasks: 3 });
    expect(shown.totals.scores.sourcesCorrect).toEqual(results.scores.sourcesCorrect);
    expect([shown.tasks.length, shown.furtherTasks]).toEqual([3, 70]);
  });

  it("shows a trace, with the text of emails only if --mail is given", async () => {
    const hidden = await call("show_trace", { trace: "latest/1" });
    expect(hidden).toContain("email_search");
    expect(hidden).toContain("left out: start art-e mcp --runs --mail");
    expect(hidden).not.toContain("The council voted 6-1");
    const shown = await call("show_trace", { trace: "latest/1" }, await connect("--mail"));
    expect(shown).toContain("The council voted 6-1");
  });

  it("lists labels", async () => {
    const { labels } = await call("list_labels");
    expect(labels.length).toBeGreaterThan(10);
    expect(["good", "bad"]).toContain(labels[0].label);
  });

  it("answers SQL over the labels of all modes", async () => {
    write("mode.jsonl", readFileSync(join(ROOT, "fixtures/demo/labels.jsonl")));
    expect(await artE("evals label --from mode.jsonl --mode vague")).toMatchObject({ code: 0 });
    const { labels } = await call("list_labels");
    const perMode = await call("query", { sql: "SELECT count(*) AS n FROM labels GROUP BY criterion" });
    expect(perMode.rows).toEqual([{ n: labels.length }, { n: labels.length }]);
    const { rows } = await call("query", { sql: "SELECT DISTINCT criterion FROM labels ORDER BY 1" });
    expect(rows).toEqual([{ criterion: "overall" }, { criterion: "vague" }]);
  });

  it("answers SQL over the results, but reaches neither mail nor files, and changes nothing", async () => {
    const results = readJson("results.json");
    const right = await call("query", { sql: "SELECT avg(sourcesCorrect) AS mean, count(*) AS n FROM tasks" });
    expect(right).toEqual({ rows: [{ mean: results.scores.sourcesCorrect.value, n: 73 }], more: false });
    const { rows, more } = await call("query", {
      sql: "SELECT c.tool, l.label FROM tool_calls c JOIN labels l USING (traceId)",
    });
    expect([rows.length, more]).toEqual([200, true]);
    for (const sql of [
      "SELECT body FROM emails",
      `ATTACH '${path("art-e.db")}' AS mail`,
      "DELETE FROM tasks",
      "SELECT result FROM tool_calls",
      "SELECT 1; SELECT 2",
    ]) {
      expect(await call("query", { sql }), sql).toEqual({ error: expect.stringContaining("Cannot answer the query") });
    }
  });

  // A query that never ends: test/results/query-tables.test.ts.
  it("rejects a query that has too large an answer, and answers the next one", async () => {
    const rejected = await call("query", { sql: "SELECT hex(zeroblob(1e7))" });
    expect(rejected).toEqual({ error: expect.stringContaining("its answer has more than 16 MB") });
    expect(await call("query", { sql: "SELECT count(*) AS n FROM tasks" })).toEqual({ rows: [{ n: 73 }], more: false });
  });

  it("names wrong arguments and unknown tools", async () => {
    expect((await call("show_trace")).error).toContain("trace: ");
    expect((await call("show_run", { run: "nothing" })).error).toContain("nothing");
    expect((await call("delete_runs")).error).toContain("Unknown tool");
  });

  it("compares two runs of the database", async () => {
    const { runId } = readJson("results.json");
    expect(await artE(`run -a baseline --dataset ${QUESTIONS} -l 3 -o three.json --quiet`)).toMatchObject({ code: 0 });
    const { comparisons } = await call("compare_runs", { runs: [runId, "latest"], metric: ["sources"] });
    const candidate = readJson("three.json").runId;
    expect(comparisons).toMatchObject([{ baseline: runId, candidate, questions: { common: 3, onlyBaseline: 70 } }]);
    expect((await call("compare_runs", { runs: [runId, runId] })).error).toContain("with itself");
    expect((await call("compare_runs", { runs: ["latest", path("results.json")] })).error).toContain("Unknown run");
  });

  it.each([
    ["mcp a@b.example --runs", "--runs cannot be combined with MAILBOX or --before."],
    ["mcp --mail", "--mail requires --runs."],
  ])("rejects contradictory flags (%s)", async (line, message) => {
    expect(await artE(line)).toMatchObject({ code: 2, stderr: expect.stringContaining(message) });
  });
});
