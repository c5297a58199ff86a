import { readFileSync } from "node:fs";
import { join } from "node:path";
import { beforeAll, expect, it } from "vitest";
import { Database } from "../../../src/store/sqlite.js";
import { MARCUS, ROOT, workFolder } from "../art-e.js";

/** The queries on the documentation page about the database return rows, and use an index if the page says so. */

const { artE, path, readJson, write } = workFolder({ demo: "answered" });
const PAGE = readFileSync(join(ROOT, "docs/database.md"), "utf8");
const STATEMENTS = [...PAGE.matchAll(/```sql\n(.*?)```/gs)].flatMap(([, block = ""]) =>
  block
    .replace(/ *--.*/g, "")
    .split(";")
    .map((sql) => sql.trim())
    .filter((sql) => sql !== ""),
);

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

it.each(STATEMENTS)("the SQL on the page about the database works: %s", (sql) => expect(query(sql)).not.toEqual([]));

it("the SQL on the page about the database uses an index for a mailbox and a month, and finds the same emails as the program", async () => {
  const indexed = STATEMENTS.filter((sql) => sql.includes("mail_order"));
  expect(indexed).toHaveLength(2);
  for (const sql of indexed) {
    const plan = query(`EXPLAIN QUERY PLAN ${sql}`).map(({ detail }) => String(detail));
    expect(plan.filter((step) => /^SCAN (?!f VIRTUAL TABLE INDEX)/.test(step))).toEqual([]);
  }
  const mailbox = indexed[0]?.replace("LIMIT 10", "") ?? "";
  const imported = await artE(`search ${MARCUS} the --json`);
  expect(query(mailbox).length).toBeGreaterThanOrEqual(JSON.parse(imported.stdout).total);
});
