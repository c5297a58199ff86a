import { readFileSync } from "node:fs";
import { join } from "node:path";
import { DuckDBInstance } from "@duckdb/node-api";
import { beforeAll, expect, it } from "vitest";
import { ROOT, workFolder } from "../art-e.js";

/** The SQL of the page on analysis gives what the page shows. */

const { artE, path } = workFolder({ demo: "answered" });
const PAGE = readFileSync(join(ROOT, "docs/analysis.md"), "utf8");

beforeAll(async () => {
  const { code, stderr } = await artE("export-results -o tables");
  if (code !== 0) throw new Error(stderr);
});

/** Each query, with the cells of the table below it. */
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

it("the years of the questions are as the page shows them", async () => {
  const [first] = QUERIES;
  const [heading = [], , ...rows] = first?.rows ?? [];
  const found = await query(first?.sql ?? "");
  expect(rows.length).toBeGreaterThan(0);
  expect(found.map((row) => heading.map((column) => Number(row[column])))).toEqual(rows.map((row) => row.map(Number)));
});

it("what was searched where the sources were wrong is found", async () => {
  const { sql = "" } = QUERIES[1] ?? {};
  const found = await query(sql);
  expect(found.length).toBeGreaterThan(0);
  for (const { question, query: words } of found) expect([typeof question, typeof words]).toEqual(["string", "string"]);
});
