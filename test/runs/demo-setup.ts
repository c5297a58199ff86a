import { copyFileSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { inject } from "vitest";
import { type Db, openStore } from "../../src/store/open-store.js";
import type { Question, QuestionSet } from "../../src/tasks/question.js";
import { importFrom } from "../mail/import-setup.js";
import { questionsIn } from "../questions/question-file.js";

/** The bundled mailbox in a fresh database file, and its questions. */

const DEMO = join(import.meta.dirname, "../../fixtures/demo");
export const DEMO_MAIL = join(DEMO, "maildir");

export const MARCUS = "marcus.hale@kestrelplains.example";
export const DANA = "dana.okafor@kestrelplains.example";
export const RUTH = "ruth.whitlock@kestrelplains.example";

export const never = new AbortController().signal;

export interface TestDb {
  readonly db: Db;
  /** A separate folder, removed by `close`. */
  readonly folder: string;
  close(): void;
}

/** The file of a database without mail, after the first was created. The next ones are copies of it. */
let empty: Buffer | null = null;

/** A database without mail. */
export function openEmpty(): TestDb {
  const folder = mkdtempSync(join(tmpdir(), "art-e-test-"));
  const file = join(folder, "art-e.db");
  if (empty !== null) writeFileSync(file, empty);
  const db = openStore(file, { mustExist: empty !== null });
  empty ??= db.serialize();
  return opened(folder, db);
}

function opened(folder: string, db: Db): TestDb {
  return {
    db,
    folder,
    close() {
      db.close();
      rmSync(folder, { recursive: true });
    },
  };
}

export async function openWith(mail: string): Promise<TestDb> {
  const folder = mkdtempSync(join(tmpdir(), "art-e-test-"));
  return opened(folder, await importInto(join(folder, "art-e.db"), mail));
}

export async function importInto(file: string, mail: string): Promise<Db> {
  const db = openStore(file, { mustExist: false });
  await importFrom(db, mail, { strict: true });
  return db;
}

/** A copy of the demo mail's database. */
export async function openDemo(): Promise<TestDb> {
  const folder = mkdtempSync(join(tmpdir(), "art-e-test-"));
  const file = join(folder, "art-e.db");
  copyFileSync(inject("demoDatabase"), file);
  return opened(folder, openStore(file, { mustExist: true }));
}

/** A copy of a database in its current state. */
export function copyOf({ db }: TestDb): TestDb {
  const folder = mkdtempSync(join(tmpdir(), "art-e-test-"));
  const file = join(folder, "art-e.db");
  db.prepare("VACUUM INTO ?").run(file);
  return opened(folder, openStore(file, { mustExist: true }));
}

export const demoSet = (): Promise<QuestionSet> => questionsIn(join(DEMO, "questions.jsonl"));

export const unanswerableSet = (): Promise<QuestionSet> => questionsIn(join(DEMO, "unanswerable.jsonl"));

export function question(questions: readonly Question[], id: number): Question {
  const found = questions.find((one) => one.id === id);
  if (found === undefined) throw new Error(`unknown demo question ${id}`);
  return found;
}
