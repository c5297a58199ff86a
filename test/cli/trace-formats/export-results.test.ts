import { spawnSync } from "node:child_process";
import { existsSync, mkdirSync, readdirSync, readFileSync } from "node:fs";
import { beforeAll, describe, expect, it } from "vitest";
import { needs } from "../../machine-requirements.js";
import { openDuckdb, rowsOf } from "../../trace-formats/duckdb.js";
import { jsonLines, MAIL, QUESTIONS, workFolder } from "../art-e.js";

const { artE, path, read, readJson, write } = workFolder({ mail: MAIL });

const FORMATS = ["parquet", "csv", "jsonl"] as const;
const FILES = ["tasks", "tool_calls", "turns"];

let runId = "";
let turns = 0;

beforeAll(async () => {
  const { code, stderr } = await artE(`run -a baseline --dataset ${QUESTIONS} -l 6 --epochs 2 --quiet -o run.json`);
  if (code !== 0) throw new Error(`the run failed: ${stderr}`);
  ({ runId, turns } = readJson("run.json"));
  for (const format of FORMATS) await artE(`export-results --format ${format} -o tables`);
});

describe("art-e export-results", () => {
  it("writes one file per table, and reports the numbers of rows", async () => {
    const { code, stdout, stderr } = await artE("export-results -o said");
    expect(readdirSync(path("said")).sort()).toEqual(FILES.map((name) => `${name}.parquet`));
    expect({ code, stdout }).toEqual({ code: 0, stdout: "" });
    expect(stderr).toMatch(
      new RegExp(
        `^Run ${runId} written to:\n  said/tasks.parquet  12 rows\n  said/turns.parquet  ${turns} rows\n  said/tool_calls.parquet  \\d+ rows\n$`,
      ),
    );
  });

  it("writes the numbers in the results file as Parquet tables that can be joined", async () => {
    const results = readJson("run.json");
    const duckdb = await openDuckdb();
    const [figures] = await rowsOf(
      duckdb,
      `SELECT count(*)::INT AS tasks, avg(semanticScore) AS semantic, sum(turns)::INT AS turns, count(DISTINCT taskId)::INT AS questions
       FROM '${path("tables/tasks.parquet")}'`,
    );
    expect(figures).toEqual({ tasks: 12, semantic: expect.closeTo(results.avgSemanticScore, 10), turns, questions: 6 });
    const [joined] = await rowsOf(
      duckdb,
      `SELECT count(*)::INT AS turns, sum(toolCalls)::INT AS calls, (SELECT count(*)::INT FROM '${path("tables/tool_calls.parquet")}') AS rows
       FROM '${path("tables/tasks.parquet")}' JOIN '${path("tables/turns.parquet")}' USING (runId, taskId, epoch)`,
    );
    expect(joined).toEqual({ turns, calls: joined?.rows, rows: joined?.rows });
    const tools = await rowsOf(
      duckdb,
      `SELECT DISTINCT arguments->>'$.inbox_id' AS inbox FROM '${path("tables/tool_calls.parquet")}' WHERE tool = 'email_search'`,
    );
    expect(tools.length).toBeGreaterThan(0);
    expect(tools.every(({ inbox }) => String(inbox).includes("@"))).toBe(true);
  });

  it("writes the same values in every format", async () => {
    const duckdb = await openDuckdb();
    const [, ...others] = FORMATS;
    for (const table of FILES) {
      const columns = "runId, taskId::VARCHAR AS taskId, epoch, traceId";
      const rows = (format: string) => rowsOf(duckdb, `SELECT ${columns} FROM '${path(`tables/${table}.${format}`)}'`);
      const parquet = await rows("parquet");
      for (const format of others) expect(await rows(format)).toEqual(parquet);
    }
  });

  it("prints one table as text", async () => {
    const { stdout } = await artE("export-results --tables tasks --format jsonl");
    expect(stdout).toBe(read("tables/tasks.jsonl"));
    expect(jsonLines(stdout).map(({ taskId, epoch }) => `${taskId}/${epoch}`)).toContain("6/2");
  });

  it("reads results files even if there is no database, and reports that their traces are missing", async () => {
    const { code, stderr } = await artE("export-results run.json -o from-file --format jsonl --db none.db");
    expect({ code, stderr }).toEqual({
      code: 0,
      stderr: `Run ${runId} written to:\n  from-file/tasks.jsonl  12 rows\n`,
    });
    expect(read("from-file/tasks.jsonl")).toBe(read("tables/tasks.jsonl"));
    const turnsOnly = await artE("export-results run.json --tables turns --format csv");
    expect(turnsOnly).toMatchObject({
      code: 2,
      stdout: "",
      stderr: expect.stringContaining(`Cannot export the table turns of ${runId}`),
    });
  });

  it("accepts several runs, and lists the runs that have no traces", async () => {
    const other = readJson("run.json");
    write("other.json", JSON.stringify({ ...other, runId: "run_other" }));
    const { stdout, stderr } = await artE(`export-results ${runId} other.json -o both --json`);
    const { runs, withoutTraces, tables } = JSON.parse(stdout);
    expect({ runs, withoutTraces }).toEqual({ runs: [runId, "run_other"], withoutTraces: ["run_other"] });
    expect(tables.map(({ table, rows }: { table: string; rows: number }) => [table, rows]).slice(0, 2)).toEqual([
      ["tasks", 24],
      ["turns", turns],
    ]);
    expect(stderr).toContain("Only included in tasks, because results files do not contain traces: run_other.");
  });

  it.each([
    ["", "Cannot print Parquet to stdout."],
    ["--format csv", "Cannot print several tables to stdout."],
    ["--format csv --tables tasks --json", "Cannot print a table together with --json."],
    ["--format xlsx -o x", "--format: expected parquet or csv or jsonl."],
    ["--tables task -o x", "--tables: expected tasks, turns, tool_calls, or several of them."],
    ["latest latest -o x", "is listed twice."],
    ["missing.json -o x", "Results file missing.json does not exist."],
    ["-o run.json", "--output: run.json is a file."],
  ])("rejects %s", async (flags, message) => {
    const { code, stderr } = await artE(`export-results ${flags}`);
    expect({ code, stderr }).toEqual({ code: 2, stderr: expect.stringContaining(message) });
    expect(existsSync(path("x"))).toBe(false);
  });

  it("overwrites only its own tables, and never the database", async () => {
    for (const format of FORMATS) {
      expect(await artE(`export-results -o tables --format ${format}`)).toMatchObject({ code: 0 });
      mkdirSync(path(`of-${format}`));
      const own = write(
        `of-${format}/tasks.${format}`,
        format === "parquet" ? "PAR1 of someone else PAR1" : "id,name\n",
      );
      const { code, stderr } = await artE(`export-results -o of-${format} --format ${format}`);
      expect({ code, stderr }).toEqual({ code: 2, stderr: expect.stringContaining(" exists and is not a table ") });
      expect(readdirSync(path(`of-${format}`))).toEqual([`tasks.${format}`]);
      expect(await artE(`export-results -o of-${format} --format ${format} --overwrite`)).toMatchObject({ code: 0 });
      expect(readFileSync(own, "latin1")).not.toContain("someone else");
    }
    mkdirSync(path("db"));
    expect(await artE(`import ${MAIL} --quiet --db db/tasks.csv`)).toMatchObject({ code: 0 });
    const { stderr } = await artE("export-results run.json -o db --format csv --db db/tasks.csv --overwrite");
    expect(stderr).toContain("db/tasks.csv is the database, which would be overwritten.");
  });

  it("writes files that pandas opens as in the documentation", needs("pandas"), () => {
    const program = `
import pandas
tasks = pandas.read_csv("tables/tasks.csv", dtype={"taskId": str}, parse_dates=["queryDate"])
calls = pandas.read_json("tables/tool_calls.jsonl", lines=True, dtype={"taskId": str}, convert_dates=["startedAt"])
joined = calls.merge(tasks, on=["runId", "taskId", "epoch"])
print(len(tasks), len(calls) == len(joined), tasks.failed.dtype, tasks.queryDate.dtype, calls.startedAt.dt.tz)
`;
    const { stdout, stderr } = spawnSync("/usr/bin/python3", ["-c", program], { cwd: path("."), encoding: "utf8" });
    expect({ stdout, stderr }).toEqual({ stdout: "12 True bool datetime64[ns] UTC\n", stderr: "" });
  });
});
