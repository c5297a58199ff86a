import { existsSync, mkdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { DuckDBInstance } from "@duckdb/node-api";
import Database from "better-sqlite3";
import { describe, expect, it } from "vitest";
import type { JsonObject } from "../../src/platform/json.js";
import { CollectedFile } from "../../src/suites/grading-function.js";
import { checkLocalDatabase } from "../../src/suites/spider2v/databases.js";
import { temporaryFolder } from "./temporary-folder.js";

async function create(path: string, type: string, statements: readonly string[]): Promise<CollectedFile> {
  if (type === "sqlite3") {
    const database = new Database(path);
    for (const sql of statements) database.exec(sql);
    database.close();
    return new CollectedFile(path);
  }
  const instance = await DuckDBInstance.create(path);
  const connection = await instance.connect();
  for (const sql of statements) await connection.run(sql);
  connection.closeSync();
  instance.closeSync();
  return new CollectedFile(path);
}

async function check(db_type: string, result: readonly string[], gold: readonly string[], options: JsonObject = {}) {
  const folder = temporaryFolder();
  mkdirSync(join(folder, "gold"));
  const own = await create(join(folder, "data.db"), db_type, result);
  const other = await create(join(folder, "gold", "data.db"), db_type, gold);
  return await checkLocalDatabase(own, other, { db_type, ...options });
}

const rows = (...values: string[]) => [
  "create table t(x int, y varchar)",
  ...values.map((row) => `insert into t values ${row}`),
];

describe.each(["sqlite3", "duckdb"])("databases of %s", (type) => {
  const content = { check_type: ["table-schema-content"] };

  it.each<[string, string[], string[], JsonObject, number]>([
    ["names only by default", rows("(2,'b')"), rows("(1,'a')"), {}, 1],
    ["another table", [...rows(), "create table u(z int)"], rows(), {}, 0],
    ["another table beside the targets", [...rows(), "create table u(z int)"], rows(), { table_targets: ["t"] }, 1],
    ["another view", [...rows(), "create view v as select 1"], rows(), {}, 0],
    ["another view, tables only", [...rows(), "create view v as select 1"], rows(), { check_type: ["table"] }, 1],
    ["columns", ["create table t(x int)"], rows(), { check_type: ["table-schema"] }, 0],
    ["equal rows", rows("(1,'a')", "(NULL,'b')"), rows("(1,'a')", "(NULL,'b')"), content, 1],
    ["order of rows", rows("(2,'b')", "(1,'a')"), rows("(1,'a')", "(2,'b')"), content, 0],
    ["more rows", rows("(1,'a')", "(2,'b')"), rows("(1,'a')"), content, 0],
    [
      "rows of a view",
      [...rows("(1,'a')"), "create view v as select x from t"],
      [...rows("(1,'a')"), "create view v as select t.x from t"],
      { check_type: ["view-schema-content"] },
      1,
    ],
  ])("%s", async (_, result, gold, options, score) => expect(await check(type, result, gold, options)).toBe(score));

  it("is 0 for a file that is none, or is not there", async () => {
    const folder = temporaryFolder();
    writeFileSync(join(folder, "no.db"), "not a database");
    const gold = await create(join(folder, "data.db"), type, rows());
    expect(await checkLocalDatabase(new CollectedFile(join(folder, "no.db")), gold, { db_type: type })).toBe(0);
    expect(await checkLocalDatabase(null, gold, { db_type: type })).toBe(0);
    await expect(async () => checkLocalDatabase(gold, undefined, { db_type: type })).rejects.toThrow();
    await expect(async () => checkLocalDatabase(gold, gold, { db_type: "oracle" })).rejects.toThrow("oracle");
  });
});

describe("DuckDB", () => {
  it("compares a schema by its name, and types of values exactly", async () => {
    const of = (type: string, value: string) => [
      "create schema s",
      `create table s.t(x ${type})`,
      `insert into s.t values (${value})`,
    ];
    const options = { schema_name: "s", check_type: ["table-schema-content"] };
    expect(await check("duckdb", of("decimal(4,2)", "1.50"), of("decimal(4,2)", "1.5"), options)).toBe(1);
    expect(
      await check("duckdb", of("timestamp", "'2024-01-01 00:00:01'"), of("timestamp", "'2024-01-01'"), options),
    ).toBe(0);
    expect(await check("duckdb", of("double", "'nan'"), of("double", "'nan'"), options)).toBe(0);
    expect(await check("duckdb", rows(), of("int", "1"), options)).toBe(0);
  });

  it("does not read other files through a view", async () => {
    const secret = join(temporaryFolder(), "secret.csv");
    writeFileSync(secret, "x\n1\n");
    const view = [`create view v as select * from read_csv('${secret}')`];
    expect(existsSync(secret)).toBe(true);
    expect(await check("duckdb", view, view, { check_type: ["view"] })).toBe(1);
    expect(await check("duckdb", view, view, { check_type: ["view-schema-content"] })).toBe(0);
  });
});
