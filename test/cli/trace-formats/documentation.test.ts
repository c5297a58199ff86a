import { existsSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { DuckDBInstance } from "@duckdb/node-api";
import { beforeAll, describe, expect, it } from "vitest";
import { MAIL, QUESTIONS, ROOT, workFolder } from "../art-e.js";

describe("the page about analysis", () => {
  /** The queries on the analysis page return the rows that the page shows. */

  const { artE, path } = workFolder({ demo: "answered" });
  const PAGE = readFileSync(join(ROOT, "docs/analysis.md"), "utf8");

  beforeAll(async () => {
    const { code, stderr } = await artE("export-results -o tables");
    if (code !== 0) throw new Error(stderr);
  });

  /** The queries, each with the cells of the table below it. */
  const QUERIES = [...PAGE.matchAll(/```sql\n(.*?)```\n(?:```\n(.*?)```)?/gs)].map(([, sql = "", shown = ""]) => ({
    sql,
    rows: shown
      .split("\n")
      .filter((line) => line.startsWith("│"))
      .map((line) =>
        line
          .slice(1, -1)
          .split("│")
          .map((cell) => cell.trim()),
      ),
  }));

  async function query(sql: string): Promise<Record<string, unknown>[]> {
    const instance = await DuckDBInstance.create();
    const connection = await instance.connect();
    const reader = await connection.runAndReadAll(sql.replaceAll("'tables/", `'${path("tables")}/`));
    return reader.getRowObjectsJson();
  }

  it("shows the actual years of the questions", async () => {
    const [first] = QUERIES;
    const [heading = [], , ...rows] = first?.rows ?? [];
    const found = await query(first?.sql ?? "");
    expect(rows.length).toBeGreaterThan(0);
    expect(found.map((row) => heading.map((column) => Number(row[column])))).toEqual(
      rows.map((row) => row.map(Number)),
    );
  });

  it("finds the searches of tasks with wrong sources", async () => {
    const { sql = "" } = QUERIES[1] ?? {};
    const found = await query(sql);
    expect(found.length).toBeGreaterThan(0);
    for (const { question, query: words } of found)
      expect([typeof question, typeof words]).toEqual(["string", "string"]);
  });
});

describe("the page about exports", () => {
  /** The commands on the export pages work as printed. */

  const { artE, path } = workFolder({ mail: MAIL });

  beforeAll(async () => {
    const { code, stderr } = await artE(`run -a baseline --dataset ${QUESTIONS} --ids 1,2 --quiet`);
    if (code !== 0) throw new Error(stderr);
  });

  const PAGES = ["docs/inspect.md", "docs/training.md", "docs/cli/export-traces.md"];

  /** The commands without the usage line, and without folders, because the test has none. */
  const COMMANDS = PAGES.flatMap((page) =>
    [...readFileSync(join(ROOT, page), "utf8").matchAll(/^(?:\$ )?art-e (export-traces [^[\n].*)$/gm)].map(
      ([, line = ""]) => line.replaceAll(/-o \S*\//g, "-o ").replace(/ --db \S+/, ""),
    ),
  );

  it.each(COMMANDS)("contains a command that works (%s)", async (command) => {
    const { code, stderr } = await artE(command);
    expect({ code, stderr }).toEqual({ code: 0, stderr: expect.stringContaining("written to") });
    expect(existsSync(path(command.split(" -o ")[1]?.split(" ")[0] ?? ""))).toBe(true);
  });

  it("contains several commands", () => expect(COMMANDS.length).toBeGreaterThanOrEqual(5));
});
