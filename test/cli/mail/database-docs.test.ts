import { readFileSync } from "node:fs";
import { join } from "node:path";
import { beforeAll, expect, it } from "vitest";
import { DOCUMENTED_SQL } from "../../../src/mail/integrity.js";
import { Database } from "../../../src/store/sqlite.js";
import { MARCUS, ROOT, workFolder } from "../art-e.js";

/** The queries on the documentation page about the database return rows, and use an index if the page says so. */

const { artE, path, readJson, write } = workFolder({ demo: "answered" });
const PAGE = readFileSync(join(ROOT, "docs/database.md"), "utf8");
const ALL = [...PAGE.matchAll(/```sql\n(.*?)```/gs)].flatMap(([, block = ""]) =>
  block
    .replace(/ *--.*/g, "")
    .split(";")
    .map((sql) => sql.trim())
    .filter((sql) => sql !== ""),
);
const STATEMENTS = ALL.filter((sql) => sql.startsWith("SELECT"));
const STATEMENTS_THAT_WRITE = ALL.filter((sql) => !sql.startsWith("SELECT"));

/** Validates and watches an eval, because the demo has no watches. */
beforeAll(async () => {
  const { runId, taskResults } = readJson("results.json");
  const labels = (taskResults as { traceId: string; agentAnswer: string }[]).map(({ traceId, agentAnswer }) =>
    JSON.stringify({
      trace: traceId,
      source: "person",
      label: /the/i.test(agentAnswer) ? "good" : "bad",
      drawn: "all",
    }),
  );
  write("labels.jsonl", labels.join("\n"));
  for (const line of [
    "evals label --from labels.jsonl",
    "evals add has_article --contains the",
    "evals test has_article",
    `evals watch has_article@1 ${runId}`,
  ])
    expect(await artE(line)).toMatchObject({ code: 0, stderr: expect.not.stringContaining("art-e:") });
});

function query(sql: string): Record<string, unknown>[] {
  const db = new Database(path("art-e.db"), { readonly: true });
  try {
    return db.prepare(sql).all() as Record<string, unknown>[];
  } finally {
    db.close();
  }
}

it.each(STATEMENTS)("the SQL on the page about the database works (%s)", (sql) => expect(query(sql)).not.toEqual([]));

it("art-e doctor checks the plan of every query on the page", async () => {
  expect(Object.values(DOCUMENTED_SQL)).toEqual(STATEMENTS);
  const { findings } = JSON.parse((await artE("doctor --json")).stdout);
  expect(findings).toContainEqual({ check: "Query plans", ok: true, detail: expect.stringMatching(/^all \d+ /) });
});

/** Steps of a query's plan that read a whole table. FTS5 reports every MATCH as a scan, with an M. */
const scansOf = (sql: string) =>
  query(`EXPLAIN QUERY PLAN ${sql}`)
    .map(({ detail }) => String(detail))
    .filter((step) => /^SCAN (?!f VIRTUAL TABLE INDEX \d+:M)/.test(step));

it.each([
  ["on the page", (sql: string) => sql],
  [
    "with the tables in the other order",
    (sql: string) => sql.replace(/FROM .* ON/, "FROM emails_fts f JOIN emails e ON"),
  ],
  ["with CROSS JOIN", (sql: string) => sql.replace(/FROM .* ON/, "FROM emails_fts f CROSS JOIN emails e ON")],
])("the join of emails with emails_fts reads only matching emails (%s)", (_, change) => {
  const sql = STATEMENTS.find((statement) => statement.includes("JOIN emails_fts")) ?? "";
  expect(scansOf(change(sql))).toEqual([]);
  expect(query(change(sql))).toEqual(query(sql));
});

it("the view uses an index that the user adds, as on the page, and the index survives an import", async () => {
  const [create = ""] = STATEMENTS_THAT_WRITE;
  const sql = "SELECT message_id FROM emails WHERE sender = 'marcus.hale@kestrelplains.example'";
  expect(scansOf(sql)).not.toEqual([]);
  const db = new Database(path("art-e.db"));
  db.exec(create);
  db.close();
  write("new.eml", "Message-ID: <new@x>\nFrom: new@x.example\nDate: Mon, 2 Apr 2001 10:00:00 +0000\n\nNew.\n");
  expect(await artE(["import", path("new.eml"), "--quiet"])).toMatchObject({ code: 0 });
  expect(scansOf(sql)).toEqual([]);
});

it("the SQL on the page about the database uses an index for a mailbox and a month, and finds the same emails as the program", async () => {
  const indexed = STATEMENTS.filter((sql) => sql.includes("mail_order"));
  expect(indexed).toHaveLength(2);
  for (const sql of indexed) expect(scansOf(sql)).toEqual([]);
  const mailbox = indexed[0]?.replace("LIMIT 10", "") ?? "";
  const imported = await artE(`search ${MARCUS} the --json`);
  expect(query(mailbox).length).toBeGreaterThanOrEqual(JSON.parse(imported.stdout).total);
});
