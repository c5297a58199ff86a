import { copyFileSync, rmSync, writeFileSync } from "node:fs";
import { describe, expect, inject, it } from "vitest";
import { checkHealth } from "../../src/mail/integrity.js";
import { onMigrationIndexing } from "../../src/store/migrate.js";
import { openStore } from "../../src/store/open-store.js";
import { Database } from "../../src/store/sqlite.js";
import { runSettingsSchema, withRunKind } from "../../src/traces/run-settings.js";
import { getRun } from "../../src/traces/runs-store.js";
import { BEN, mail } from "../mail/small-corpus.js";
import { MIGRATIONS, writeEarlierCopy, writeEarlierFile } from "../store/earlier-database.js";
import { boxLines, jsonLines, MAIL, QUESTIONS, workFolder } from "./art-e.js";

const { artE, path } = workFolder();

const MAILS = [
  mail("dash", { body: "the bid–ask spread" }),
  mail("umlaut", { body: "Grüße an MÜLLER" }),
  mail("japanese", { body: "来週の会議室を予約しました" }),
  mail("plain", { body: "gas prices" }),
];

function earlier(name: string): string {
  writeEarlierFile(path(name), MAILS);
  return path(name);
}

function versionOf(file: string): unknown {
  const db = new Database(file, { readonly: true });
  const version = db.pragma("user_version", { simple: true });
  db.close();
  return version;
}

it("a file from an earlier version has its index rebuilt by the first command that opens it, which says so once", async () => {
  const db = earlier("search.db");
  const first = await artE(["search", BEN, "ask", "--db", db]);
  expect(first).toMatchObject({ code: 0, stdout: expect.stringContaining("<dash@plains.example>") });
  expect(first.stderr).toContain("search.db was made by an earlier version: its mail will be reindexed once.");
  for (const [words, found] of [
    ["müller", "umlaut"],
    ["会議室", "japanese"],
    ["price", "plain"],
  ] as const) {
    const { stdout, stderr } = await artE(["search", BEN, words, "--db", db]);
    expect({ stdout, stderr }).toEqual({ stdout: expect.stringContaining(`<${found}@plains.example>`), stderr: "" });
  }
});

it("a file from an earlier version has the two indexes of a large import merged", () => {
  const file = path("two-indexes.db");
  writeEarlierFile(file, MAILS, "one_index");
  const before = new Database(file);
  before.exec(`
    UPDATE corpus_state SET older_from = 3;
    INSERT INTO emails_fts (emails_fts) VALUES ('rebuild');
    INSERT INTO emails_fts_older (emails_fts_older) VALUES ('rebuild');
  `);
  const inOlder = before.prepare("SELECT count(*) FROM emails_fts_older_docsize").pluck().get();
  before.close();
  const db = openStore(file, { mustExist: true });
  const ids = (match: string) =>
    db
      .prepare("SELECT message_id FROM emails e JOIN emails_fts f ON e.rowid = f.rowid WHERE emails_fts MATCH ?")
      .pluck()
      .all(match);
  expect(inOlder).toBe(2);
  for (const [words, found] of [
    ["spread", "dash"],
    ["müller", "umlaut"],
    ["price", "plain"],
  ] as const) {
    expect(ids(words)).toEqual([`<${found}@plains.example>`]);
  }
  // Tokens of the mailboxes column, which no longer exists.
  for (const token of ["in1", "from*", "in*"]) expect(ids(token)).toEqual([]);
  expect(db.prepare("SELECT count(*) FROM mailboxes").pluck().get()).toBe(2 * MAILS.length);
  expect([...checkHealth(db)].filter(({ ok }) => !ok)).toEqual([]);
  db.close();
});

it("a file from an earlier version keeps the folder of a suite run, and task paths relative to it", () => {
  const file = path("suite-run.db");
  writeEarlierFile(file, MAILS, "occurrences");
  const root = "/home/ann/suites/flowbook";
  const task = {
    id: "t1",
    instruction: "Sort it.",
    folder: `${root}/examples/excel/t1`,
    suite: { name: "flowbook", root },
  };
  const before = new Database(file);
  before.exec(`
    INSERT INTO datasets (id, source, revision, sha256) VALUES ('d1', '${root}', NULL, 'abc'), ('d2', 'acme/questions', 'f00d', 'def');
    INSERT INTO suite_tasks (dataset_id, id, task) VALUES ('d1', 't1', '${JSON.stringify(task)}');
  `);
  const run = before.prepare(
    `INSERT INTO runs (id, agent_id, model, dataset_id, split, settings, corpus_fingerprint, total_tasks, status, started_at)
     VALUES (?, 'noop', 'offline/noop', ?, ?, '{}', '', 1, 'completed', '2026-01-01T00:00:00.000Z')`,
  );
  run.run("run_suite", "d1", "suite");
  run.run("run_questions", "d2", "test");
  before.close();
  const db = openStore(file, { mustExist: true });
  expect(db.prepare("SELECT id, source, revision FROM runs ORDER BY id").all()).toEqual([
    { id: "run_questions", source: "acme/questions", revision: "f00d" },
    { id: "run_suite", source: root, revision: null },
  ]);
  const stored = db.prepare("SELECT task FROM suite_tasks").pluck().get() as string;
  expect(JSON.parse(stored)).toEqual({ id: "t1", instruction: "Sort it.", folder: "examples/excel/t1" });
  db.close();
});

it("traces get their kind, and damaged ones stay as they are", () => {
  const file = path("traces-without-kind.db");
  writeEarlierFile(file, MAILS, "kinds");
  const before = new Database(file);
  before.exec(`
    INSERT INTO datasets (id, sha256) VALUES ('d1', 'abc');
    INSERT INTO runs (id, agent_id, model, dataset_id, source, split, settings, corpus_fingerprint, total_tasks, status, started_at)
    VALUES ('r', 'noop', 'offline/noop', 'd1', 'questions.jsonl', 'test', '{}', '', 1, 'completed', '2026-01-01T00:00:00.000Z');
  `);
  const add = before.prepare(
    "INSERT INTO traces (id, run_id, agent_id, session_id, started_at, ending, trace) VALUES (?, ?, 'noop', 's', '', 'answered', ?)",
  );
  const traces = {
    chat: { traceId: "chat", question: "Who asked?" },
    question: { traceId: "question", task: { id: 1 }, answer: 'The "grade" of 0.10' },
    suite: { traceId: "suite", task: { id: "t1" }, grade: { score: 1.0 } },
  };
  for (const [id, trace] of Object.entries(traces)) add.run(id, id === "chat" ? null : "r", JSON.stringify(trace));
  add.run("damaged", "r", '{"traceId":"damaged","ta');
  add.run("list", "r", "[]");
  before.close();
  const db = openStore(file, { mustExist: true });
  const stored = new Map(db.prepare("SELECT id, trace FROM traces").raw().all() as [string, string][]);
  for (const [kind, trace] of Object.entries(traces)) {
    expect(stored.get(kind)).toBe(JSON.stringify({ kind, ...trace }));
  }
  expect([stored.get("damaged"), stored.get("list")]).toEqual(['{"traceId":"damaged","ta', "[]"]);
  db.close();
});

/** Settings as earlier versions wrote them, with defaults for unknown values. */
const EARLIER = {
  agentId: "email-search",
  agentVersion: 0,
  model: "acme/best",
  baseUrl: null,
  wireApi: null,
  prompt: "",
  tools: [],
  toolsDigest: "d",
  maxTurns: 10,
  maxTokens: 2048,
  temperature: null,
  toolCalls: "all",
  toolChoice: "auto",
  cutoff: "query_date",
  taskTimeoutMs: 600_000,
  maxTaskCostUsd: null,
  price: null,
  concurrency: 1,
  selection: {},
  epochs: 1,
  scorers: ["exactMatch"],
  judge: null,
};
const FILE = { format: "inspect", file: "a.eval", sha256: "a", tools: [] };
const ENVIRONMENT = { protocol: "openenv", reward: "artReward", maxTokens: null };

it("the settings of runs get their kind, and lose the defaults that stood for unknown values", () => {
  const file = path("settings-without-kind.db");
  writeEarlierFile(file, MAILS, "kinds");
  const settings = {
    own: { ...EARLIER, agentVersion: 3, prompt: "Search." },
    external: { ...EARLIER, elsewhere: { kind: "command", argv: ["a.py"] }, changes: ["the mail has grown since"] },
    imported: { ...EARLIER, imported: FILE },
    stated: { ...EARLIER, imported: FILE, agentVersion: 2, maxTokens: 500, temperature: 0, selection: { limit: 3 } },
    training: { ...EARLIER, agentVersion: 3, environment: ENVIRONMENT },
  };
  const before = new Database(file);
  before.exec("INSERT INTO datasets (id, sha256) VALUES ('d1', 'abc')");
  const add = before.prepare(
    `INSERT INTO runs (id, agent_id, model, dataset_id, source, split, settings, corpus_fingerprint, total_tasks, status, started_at)
     VALUES (?, 'noop', 'offline/noop', 'd1', 'questions.jsonl', 'test', ?, '', 1, 'completed', '2026-01-01T00:00:00.000Z')`,
  );
  for (const [id, earlier] of Object.entries(settings)) add.run(id, JSON.stringify(earlier));
  add.run("damaged", '{"agentId":"x"');
  before.close();
  const db = openStore(file, { mustExist: true });
  for (const [id, earlier] of Object.entries(settings)) {
    const now = getRun(db, id).settings;
    expect(now).toEqual(withRunKind(earlier));
    expect(() => runSettingsSchema.parse(now)).not.toThrow();
  }
  expect(getRun(db, "external").settings).toMatchObject({ kind: "external", externalAgent: { argv: ["a.py"] } });
  expect(getRun(db, "imported").settings).toEqual({
    kind: "imported",
    agentId: "email-search",
    model: "acme/best",
    tools: [],
    maxTurns: 10,
    epochs: 1,
    scorers: ["exactMatch"],
    judge: null,
    imported: FILE,
  });
  expect(getRun(db, "stated").settings).toMatchObject({ agentVersion: 2, maxTokens: 500, selection: { limit: 3 } });
  expect(getRun(db, "training").settings).not.toHaveProperty("maxTokens");
  expect(db.prepare("SELECT settings FROM runs WHERE id = 'damaged'").pluck().get()).toBe('{"agentId":"x"');
  db.close();
});

it("a file from an earlier version is upgraded by doctor --repair, which finds no faults", async () => {
  const { code, stdout } = await artE(["doctor", "--repair", "--db", earlier("doctor.db")]);
  expect(code).toBe(0);
  expect(boxLines(stdout)["Full-text index"]).toBe("ok: matches the emails");
  const { stdout: found } = await artE(["search", BEN, "会議", "--db", path("doctor.db")]);
  expect(found).toContain("<japanese@plains.example>");
});

it("a file from an earlier version can be imported into, and keeps its content", async () => {
  const db = earlier("import.db");
  const imported = await artE([
    "import",
    "--db",
    db,
    "--json",
    "--quiet",
    `${import.meta.dirname}/../../fixtures/demo/maildir`,
  ]);
  expect(imported.code).toBe(0);
  expect((await artE(["search", BEN, "ask", "--db", db])).stdout).toContain("<dash@plains.example>");
  expect((await artE(["doctor", "--db", db])).code).toBe(0);
});

it("a file from an earlier version is unchanged after an interrupted migration, which the next command completes", () => {
  const file = earlier("broken-off.db");
  const before = versionOf(file);
  onMigrationIndexing((done) => {
    if (done > 0) throw new Error("the disk is full");
  });
  expect(() => openStore(file, { mustExist: true })).toThrow("the disk is full");
  const db = new Database(file, { readonly: true });
  const found = db.prepare("SELECT count(*) FROM emails_fts WHERE emails_fts MATCH 'price'").pluck().get();
  db.close();
  expect({ found, version: versionOf(file) }).toEqual({ found: 1, version: before });
  const heard: number[] = [];
  onMigrationIndexing((done) => heard.push(done));
  openStore(file, { mustExist: true }).close();
  // Three migrations rebuild the index or part of it.
  expect(heard).toEqual([0, MAILS.length, MAILS.length, MAILS.length]);
});

describe("a stopped run in a file of an earlier version", () => {
  const folder = workFolder({ mail: MAIL });
  const done = async (line: string) => {
    const { code, stderr } = await folder.artE(line);
    expect({ line, code, stderr }).toMatchObject({ line, code: 0 });
  };

  /** Exports the labels. Earlier files than those with labels have none. */
  async function labelsIn(db: string): Promise<unknown> {
    await done(`evals labels --db ${db} --quiet -o ${db}.labels.jsonl`);
    return jsonLines(folder.read(`${db}.labels.jsonl`));
  }

  /** Resumes the run and exports it. Returns everything except ids, times, and what depends on display names. */
  async function resumed(db: string, hasNames: boolean): Promise<unknown> {
    await done(`run --resume latest --db ${db} --quiet -o ${db}.json`);
    await done(`export-traces --run latest --db ${db} --quiet -o ${db}.jsonl`);
    await done(`doctor --db ${db} --quiet`);
    const { settings, dataset, endings } = folder.readJson(`${db}.json`);
    const traces = jsonLines(folder.read(`${db}.jsonl`));
    const seen = traces.map(({ kind, taskId, task, messages, answer, scores }) => {
      const isOld = taskId % 3 === 0;
      // Files of earlier versions lack the display names of senders, so that a few emails rank differently.
      return isOld || hasNames ? { kind, taskId, task, messages, answer, scores } : { kind, taskId, task };
    });
    return { settings, dataset, endings, traces: seen };
  }

  const LABELS = [
    { trace: "latest/3", source: "person", label: "good", note: "It quotes the email." },
    { trace: "latest/6", source: "person", label: "bad", note: "Wrong month." },
  ];

  const withRuns = MIGRATIONS.slice(MIGRATIONS.indexOf("run_limits"));

  async function expectSame(states: readonly string[]): Promise<void> {
    await done(`run -a baseline --dataset ${QUESTIONS} -l 20 --quiet`);
    writeFileSync(folder.path("labels.jsonl"), LABELS.map((label) => JSON.stringify(label)).join("\n"));
    await done("evals label --from labels.jsonl --quiet");
    const present = new Database(folder.path("art-e.db"));
    present.exec(`DELETE FROM results WHERE task_id % 3 > 0;
                  DELETE FROM traces WHERE id NOT IN (SELECT trace_id FROM results);
                  UPDATE runs SET status = 'interrupted', completed_at = NULL;`);
    present.close();
    for (const before of states) writeEarlierCopy(folder.path(`${before}.db`), folder.path("art-e.db"), before);
    copyFileSync(folder.path("art-e.db"), folder.path("same.db"));
    const wanted = { all: await resumed("art-e.db", true), common: await resumed("same.db", false) };
    const labels = await labelsIn("art-e.db");
    expect(labels).toMatchObject(LABELS.map(({ label, note }) => ({ label, note })));
    for (const before of states) {
      const hasNames = MIGRATIONS.indexOf(before) > MIGRATIONS.indexOf("names_and_spellings");
      const run = await resumed(`${before}.db`, hasNames);
      expect({ before, run }).toEqual({ before, run: hasNames ? wanted.all : wanted.common });
      const hasLabels = MIGRATIONS.indexOf(before) > MIGRATIONS.indexOf("evals");
      expect({ before, labels: await labelsIn(`${before}.db`) }).toEqual({ before, labels: hasLabels ? labels : [] });
    }
    for (const name of [...states, "art-e", "same"]) rmSync(folder.path(`${name}.db`));
    copyFileSync(inject("demoDatabase"), folder.path("art-e.db"));
  }

  it(
    "is migrated, resumed and exported like one of the present version",
    () => expectSame(["run_limits", "one_index", "kinds", "label_probabilities"]),
    120_000,
  );

  it("is so whatever the earlier version", { tags: ["slow"], timeout: 900_000 }, () => expectSame(withRuns));
});
