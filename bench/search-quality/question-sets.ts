import { execFileSync } from "node:child_process";
import { copyFileSync, existsSync, readFileSync, renameSync } from "node:fs";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { z } from "zod";
import { rebuildCorpusIndex } from "../../src/mail/import/corpus-index.js";
import { type Db, openStore } from "../../src/store/open-store.js";
import { questionSchema } from "../../src/tasks/question.js";

const ROOT = fileURLToPath(new URL("../../", import.meta.url));

/** The ranking is tuned on `tune`; `test` is reported. No mailbox is in both, except the shared five in `tune`. */
export type Part = "tune" | "test";

export const STYLES = ["close", "paraphrased", "vague"] as const;
export type Style = (typeof STYLES)[number];

const benchQuestionSchema = questionSchema.extend({ style: z.enum(STYLES).optional() });

/** Questions about the mail of one database. */
export interface QuestionSet {
  readonly name: string;
  readonly part: Part;
  /** Whether the search receives the question's date. */
  readonly dated: boolean;
  readonly questions: readonly z.output<typeof benchQuestionSchema>[];
  readonly db: Db;
}

/**
 * The questions in three styles (`fixtures/search`), in mailboxes as imported (`plain`), and in mailboxes with the mail
 * of every owner (`padded`). Imports the mail once per folder.
 */
export function openStyledSets(enron: string, folder: string): QuestionSet[] {
  const real = importReal(enron, folder);
  const files = { plain: real, padded: padMailboxes(real, join(folder, "quality-padded.db")) };
  return Object.entries(files).flatMap(([layout, file]) => {
    const db = openStore(file, { mustExist: true });
    return (["tune", "test"] as const).flatMap((part) => {
      const questions = readQuestions(join(ROOT, `fixtures/search/styles-${part}.jsonl`));
      return [true, false].map((dated) => ({
        name: dated ? layout : `${layout}, no date`,
        part,
        dated,
        questions,
        db,
      }));
    });
  });
}

function padMailboxes(from: string, to: string): string {
  if (existsSync(to)) return to;
  const partial = `${to}.partial`;
  copyFileSync(from, partial);
  const db = openStore(partial, { mustExist: true });
  db.transaction(() => {
    db.exec("INSERT OR IGNORE INTO filings (mail_id, owner_id) SELECT m.id, o.id FROM mails m, owners o");
    rebuildCorpusIndex(db, () => {});
  })();
  db.close();
  renameSync(partial, to);
  return to;
}

/** Mailboxes of the hand-written questions. The others, made from patterns, are split in the same way. */
const MAILBOXES: Readonly<Record<Part, readonly string[]>> = {
  tune: ["sean.crandall", "steven.south", "susan.scott", "chris.germany", "bill.iii"],
  test: ["stacy.dickson", "ryan.slinger", "stephanie.panus", "steven.kean", "kate.symes"],
};

/** Imports the mail and makes the questions, once for a folder that is kept. */
export function openSets(enron: string, folder: string): QuestionSet[] {
  const real = importReal(enron, folder);
  const demo = importMail(join(folder, "quality-demo.db"), [join(ROOT, "fixtures/demo/maildir")]);
  const realDb = openStore(real, { mustExist: true });
  const read = (name: string, part: Part, file: string, db = realDb): QuestionSet => {
    return { name, part, dated: true, questions: readQuestions(file), db };
  };
  const written = (part: Part) => read("hand-written", part, join(ROOT, `fixtures/search/hand-written-${part}.jsonl`));
  const made = (part: Part) => read("patterns", part, makeQuestions(real, join(folder, `quality-${part}.jsonl`), part));
  return [
    read("shared 60", "tune", join(enron, "questions.jsonl")),
    read("demo", "tune", join(ROOT, "fixtures/demo/questions.jsonl"), openStore(demo, { mustExist: true })),
    written("tune"),
    made("tune"),
    written("test"),
    made("test"),
  ];
}

export function importReal(enron: string, folder: string): string {
  return importMail(join(folder, "quality-real.db"), [join(enron, "maildir.tar.gz"), join(enron, "folders.tar.gz")]);
}

function importMail(db: string, sources: readonly string[]): string {
  if (!existsSync(db)) for (const source of sources) runProgram("import", source, "--db", db, "--quiet");
  return db;
}

function makeQuestions(db: string, file: string, part: Part): string {
  const inboxes = MAILBOXES[part].map((name) => `${name}@enron.com`);
  const flags = ["-n", "400", "--unanswerable", "0", "--seed", "1"];
  if (!existsSync(file))
    runProgram("questions", "make", "--inbox", ...inboxes, ...flags, "-o", file, "--db", db, "--quiet");
  return file;
}

export function runProgram(...args: readonly string[]): void {
  execFileSync(process.execPath, [join(ROOT, "bin/art-e.js"), ...args], { stdio: ["ignore", "ignore", "inherit"] });
}

function readQuestions(file: string): QuestionSet["questions"] {
  const lines = readFileSync(file, "utf8").trim().split("\n");
  return lines.map((line) => benchQuestionSchema.parse(JSON.parse(line)));
}
