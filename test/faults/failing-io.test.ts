import { copyFileSync, mkdirSync, mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import pLimit from "p-limit";
import { afterAll, beforeAll, describe, expect, inject, it } from "vitest";
import type { Db } from "../../src/store/open-store.js";
import { MAIL, QUESTIONS, ROOT, startProgram } from "../cli/art-e.js";
import { needs } from "../machine-requirements.js";
import { BEN, fill, mail } from "../mail/small-corpus.js";
import { createEarlierFile } from "../store/earlier-database.js";
import { compileLibrary } from "./compile.js";
import {
  countCalls,
  type Ended,
  type Fault,
  type FaultedCommand,
  harmOf,
  KINDS,
  plainOutcome,
  withDatabase,
} from "./failing-io.js";

/**
 * Fails one write, sync, truncation or rename of the database during a command: afterwards the file is sound, nothing
 * that was acknowledged is missing, nothing hangs, and the repeated command has the same outcome as without a fault.
 */

const LABELS = join(ROOT, "fixtures/demo/labels.jsonl");
const TASKS = 12;
const RUN = ["run", "-a", "baseline", "--dataset", QUESTIONS, "-l", `${TASKS}`, "--quiet"];

/**
 * Number of failing calls per command, kind of fault and duration in the slow test. ART_E_LONG fails every single call.
 */
const POINTS = process.env.ART_E_LONG ? Number.POSITIVE_INFINITY : 6;
const CONCURRENT = 2;

const folder = mkdtempSync(join(tmpdir(), "art-e-failing-io-"));
const library = compileLibrary("failing-io", folder);
afterAll(() => rmSync(folder, { recursive: true, force: true }));

const state = (name: string) => join(folder, name);
const rows = (db: Db, sql: string) => db.prepare(sql).raw().all();
const numberOf = (db: Db | null, sql: string) => (db === null ? 0 : Number(db.prepare(sql).pluck().get()));

beforeAll(async () => {
  for (const name of ["empty", "mail", "answered", "stopped", "earlier"]) mkdirSync(state(name));
  for (const name of ["mail", "answered"]) copyFileSync(inject("demoDatabase"), join(state(name), "art-e.db"));
  const { code } = await startProgram(
    state("answered"),
    process.execPath,
    [join(ROOT, "bin/art-e.js"), ...RUN, "-l", "0"],
    {},
  ).ended;
  expect(code).toBe(0);
  copyFileSync(join(state("answered"), "art-e.db"), join(state("stopped"), "art-e.db"));
  // A run that was stopped after some tasks.
  withDatabase(state("stopped"), (db) =>
    db?.exec(`DELETE FROM results WHERE task_id % 7 > 0;
              DELETE FROM traces WHERE id NOT IN (SELECT trace_id FROM results);
              UPDATE runs SET status = 'interrupted', completed_at = NULL;`),
  );
  const mails = Array.from({ length: 40 }, (_, i) => mail(`m${i}`, { body: `Größe ${i}, gas prices ${i}` }));
  const earlier = createEarlierFile(join(state("earlier"), "art-e.db"), 1);
  fill(earlier, mails);
  earlier.close();
}, 60_000);

const results = (db: Db) =>
  rows(
    db,
    `SELECT task_id, epoch, json_extract(result, '$.agentAnswer'), json_extract(result, '$.scores'),
            (SELECT count(*) FROM traces t WHERE t.id = r.trace_id)
     FROM results r WHERE superseded = 0 ORDER BY task_id`,
  );

/** Compares the results with the number of tasks that the program says it saved. */
function lostResults(db: Db | null, { code, stderr }: Ended, tasks: number): string | null {
  const said = code === 0 ? tasks : Number(/(\d+) of \d+ tasks are saved/.exec(stderr)?.[1] ?? 0);
  const stored = numberOf(db, "SELECT count(*) FROM results WHERE superseded = 0");
  return stored < said ? `loses ${said - stored} acknowledged tasks` : null;
}

const COMMANDS: readonly FaultedCommand[] = [
  {
    name: "import",
    before: state("empty"),
    line: ["import", MAIL, "--quiet"],
    again: () => ["import", MAIL, "--quiet"],
    outcome: (db) => [
      rows(db, "SELECT message_id, subject, sender, body FROM emails ORDER BY message_id"),
      rows(db, "SELECT count(*) FROM emails_fts WHERE emails_fts MATCH 'dues'"),
    ],
    lost(db, { code }) {
      const stored = db === null ? 0 : numberOf(db, "SELECT count(*) FROM emails");
      if (code === 0 && stored === 0) return "loses the imported mail";
      return code !== 0 && stored > 0 ? "leaves a part of the mail" : null;
    },
  },
  {
    name: "run",
    before: state("mail"),
    line: RUN,
    again: (at) =>
      withDatabase(at, (db) => numberOf(db, "SELECT count(*) FROM runs")) === 0 ? RUN : ["run", "--resume", "latest"],
    outcome: results,
    lost: (db, ended) => lostResults(db, ended, TASKS),
  },
  {
    name: "resume",
    before: state("stopped"),
    line: ["run", "--resume", "latest", "--quiet"],
    again: () => ["run", "--resume", "latest"],
    outcome: results,
    lost(db, ended) {
      if (numberOf(db, "SELECT count(*) FROM results WHERE task_id % 7 = 0") < 10) return "loses earlier results";
      return lostResults(db, ended, 73);
    },
  },
  {
    name: "evals label",
    before: state("answered"),
    line: ["evals", "label", "--from", LABELS, "--quiet"],
    again: () => ["evals", "label", "--from", LABELS, "--quiet"],
    outcome: (db) => rows(db, "SELECT DISTINCT trace_id, label, note FROM eval_labels ORDER BY trace_id, label"),
    lost(db, { code }) {
      const stored = numberOf(db, "SELECT count(*) FROM eval_labels");
      return code === 0 && stored === 0 ? "loses the labels" : null;
    },
  },
  {
    name: "migrate",
    before: state("earlier"),
    line: ["search", BEN, "gas", "--quiet"],
    again: () => ["search", BEN, "gas", "--quiet"],
    outcome: (db) => [
      rows(db, "PRAGMA user_version"),
      rows(db, "SELECT id FROM tools ORDER BY id"),
      rows(db, "SELECT message_id, body FROM emails ORDER BY message_id"),
      rows(db, "SELECT count(*) FROM emails_fts WHERE emails_fts MATCH 'gas'"),
    ],
    lost: (db) => (numberOf(db, "SELECT count(*) FROM messages") < 40 ? "loses mail" : null),
  },
];

/** Returns `most` numbers from 1 to `last`, in the middle of equal parts, or all of them. */
function spaced(last: number, most: number): number[] {
  if (last <= most) return Array.from({ length: last }, (_, i) => i + 1);
  return Array.from({ length: most }, (_, i) => Math.ceil(((i + 0.5) * last) / most));
}

async function expectNoHarm(command: FaultedCommand, points: number): Promise<void> {
  if (library === null) throw new Error("the library was not compiled");
  const calls = await countCalls(library, command);
  const wanted = await plainOutcome(command);
  const faults = KINDS.flatMap((kind) =>
    [false, true].flatMap((forever) => spaced(calls, points).map((at): Fault => ({ at, kind, forever }))),
  );
  const harm = await pLimit(CONCURRENT).map(faults, (fault) => harmOf(library, command, fault, wanted));
  if (points > 1)
    console.log(`${command.name}: ${calls} calls, ${faults.length} faults, ${harm.flat().length} harmful`);
  expect(calls).toBeGreaterThan(3);
  expect(harm.flat()).toEqual([]);
}

describe("a disk fault", needs("compiler", library !== null), () => {
  // The slow test fails calls of all commands. An import is killed in other tests.
  it.each(COMMANDS.filter(({ name }) => name === "run"))(
    "during $name does no harm at one call",
    (command) => expectNoHarm(command, 1),
    300_000,
  );
  it.each(COMMANDS)("during $name does no harm at many calls", { tags: ["slow"], timeout: 6 * 3_600_000 }, (command) =>
    expectNoHarm(command, POINTS),
  );
});
