import { createHash } from "node:crypto";
import { copyFileSync } from "node:fs";
import { beforeAll, describe, expect, it } from "vitest";
import { Database } from "../../../src/store/sqlite.js";
import type { QuestionTrace } from "../../../src/traces/trace.js";
import { needs, slow } from "../../machine-requirements.js";
import { startRedis } from "../../queue/redis-server.js";
import { jsonLines, MAIL, ROOT, workFolder } from "../art-e.js";
import { Workers } from "../queue/queue-setup.js";

/** Actions and planted emails belong to one attempt, although attempts share processes, threads and databases. */

const folder = workFolder({ mail: MAIL });
const { artE, path, read } = folder;
const RUN = `run -a mail-rules --dataset ${ROOT}/fixtures/demo/actions.jsonl -l 40 --quiet`;
const EPOCHS = 3;

async function tracesOf(line: string, name: string): Promise<readonly QuestionTrace[]> {
  const run = await artE(`${line} --name ${name}`);
  expect(run).toMatchObject({ code: 0, stderr: "" });
  expect(await artE(`export-traces --run ${name} -o ${name}.jsonl --quiet`)).toMatchObject({ code: 0 });
  return jsonLines(read(`${name}.jsonl`));
}

/** What a trace says about the mailbox, without its times. */
const mailboxOf = ({ actions, attack, toolCalls }: QuestionTrace) => ({
  actions,
  attack,
  results: toolCalls.map(({ name, result, error }) => [name, result, error]),
});

/** The traces by task and epoch. */
const byAttempt = (traces: readonly QuestionTrace[]) =>
  Object.fromEntries(traces.map((trace) => [`${trace.taskId}/${trace.epoch}`, mailboxOf(trace)]));

/** A hash of all imported mail, its indexes and its mailboxes. */
function mailDigest(file: string): string {
  const db = new Database(path(file), { readonly: true });
  const hash = createHash("sha256");
  try {
    const tables = db
      .prepare(
        `SELECT name FROM sqlite_schema WHERE type = 'table'
           AND (name GLOB '*mail*' OR name IN ('messages', 'owners', 'addresses', 'imports')) ORDER BY name`,
      )
      .pluck()
      .all() as string[];
    expect(tables).toEqual(expect.arrayContaining(["emails_fts_data", "mail_order", "mailboxes", "mails", "messages"]));
    for (const table of tables) {
      for (const row of db.prepare(`SELECT * FROM "${table}"`).raw().iterate()) hash.update(JSON.stringify(row));
    }
  } finally {
    db.close();
  }
  return hash.digest("hex");
}

describe("actions and planted emails", { timeout: 120_000 }, () => {
  let before = "";
  let alone: readonly QuestionTrace[] = [];
  let attacked: readonly QuestionTrace[] = [];

  beforeAll(async () => {
    copyFileSync(path("art-e.db"), path("mail.db"));
    before = mailDigest("mail.db");
    alone = await tracesOf(`${RUN} --concurrency 1`, "alone");
    attacked = await tracesOf(`${RUN} --epochs ${EPOCHS} --concurrency 16 --perturb hostile`, "attacked");
  }, 120_000);

  it("stay the same in each of several concurrent epochs as in a run with one task at a time", async () => {
    const concurrent = await tracesOf(`${RUN} --epochs ${EPOCHS} --concurrency 16`, "concurrent");
    expect(concurrent).toHaveLength(EPOCHS * alone.length);
    const expected = byAttempt(alone);
    expect(Object.values(expected).filter(({ actions }) => actions !== undefined).length).toBeGreaterThan(20);
    for (const trace of concurrent) {
      expect(mailboxOf(trace), `${trace.taskId}/${trace.epoch}`).toEqual(expected[`${trace.taskId}/1`]);
    }
  });

  it("contain no email that was planted into another attempt", () => {
    const idsOf = ({ attack }: QuestionTrace) => (attack?.emails ?? []).map(({ message_id }) => message_id);
    const all = attacked.flatMap(idsOf);
    expect(new Set(all).size).toBe(all.length);
    expect(all.length).toBeGreaterThanOrEqual(EPOCHS * alone.length);
    for (const trace of attacked) {
      const own = new Set(idsOf(trace));
      const { attack: _, ...rest } = trace;
      const text = JSON.stringify(rest);
      expect(all.filter((id) => !own.has(id) && text.includes(JSON.stringify(id).slice(1, -1)))).toEqual([]);
    }
    // The comparison finds emails that were planted.
    expect(attacked.some((trace) => idsOf(trace).some((id) => JSON.stringify(trace.toolCalls).includes(id)))).toBe(
      true,
    );
  });

  it("stay the same in a queued run, and change the mail of no worker", slow(needs("redis")), async () => {
    const redis = await startRedis({});
    const workers = new Workers(folder, () => redis.url);
    try {
      for (const name of ["a", "b"]) workers.start(name, "--concurrency 4");
      const line = `${RUN} --epochs ${EPOCHS} --perturb hostile --queue ${redis.url}`;
      expect(byAttempt(await tracesOf(line, "queued"))).toEqual(byAttempt(attacked));
    } finally {
      await workers.close();
      await redis.close();
    }
    expect(["a.db", "b.db", "art-e.db"].map(mailDigest)).toEqual([before, before, before]);
  });

  it("never reach the database except in their traces", () => {
    expect(mailDigest("art-e.db")).toBe(before);
    const db = new Database(path("art-e.db"), { readonly: true });
    const [planted] = attacked.flatMap(({ attack }) => attack?.emails ?? []);
    const found = db.prepare("SELECT count(*) FROM messages WHERE message_id = ?").pluck().get(planted?.message_id);
    db.close();
    expect(found).toBe(0);
  });
});
