import { execFileSync } from "node:child_process";
import { copyFileSync, existsSync, readFileSync, renameSync } from "node:fs";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { z } from "zod";
import { rebuildCorpusIndex } from "../../../src/mail/import/corpus-index.js";
import { type Db, openStore } from "../../../src/store/open-store.js";
import { type Question, questionSchema } from "../../../src/tasks/question.js";

const ROOT = fileURLToPath(new URL("../../../", import.meta.url));

/** The ranking is tuned on `tune`; `test` is reported. No mailbox is in both, except the shared five in `tune`. */
export type Part = "tune" | "test";

/** Questions about the mail of one database. */
export interface QuestionSet {
  readonly name: string;
  readonly part: Part;
  readonly questions: readonly Question[];
  readonly db: Db;
}

export const STYLES = ["close", "paraphrased", "vague"] as const;

const styledQuestionSchema = questionSchema.extend({ style: z.enum(STYLES) });

/** `plain`: unchanged mailboxes. `padded`: the mail of every owner is filed into each mailbox. */
export const LAYOUTS = ["plain", "padded"] as const;
export type Layout = (typeof LAYOUTS)[number];

export interface StyledSet {
  readonly layout: Layout;
  readonly part: Part;
  readonly questions: readonly z.output<typeof styledQuestionSchema>[];
  readonly db: Db;
}

/** The questions in three styles (`fixtures/search`), in both layouts. Imports the mail once per folder. */
export function openStyledSets(enron: string, folder: string): StyledSet[] {
  const real = importReal(enron, folder);
  const files = { plain: real, padded: padMailboxes(real, join(folder, "quality-padded.db")) };
  return LAYOUTS.flatMap((layout) => {
    const db = openStore(files[layout], { mustExist: true });
    return (["tune", "test"] as const).map((part) => {
      const file = join(ROOT, `fixtures/search/styles-${part}.jsonl`);
      return { layout, part, questions: readQuestions(file, styledQuestionSchema), db };
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
  const written = (part: Part) =>
    readQuestions(join(ROOT, `fixtures/search/hand-written-${part}.jsonl`), questionSchema);
  const made = (part: Part) =>
    readQuestions(makeQuestions(real, join(folder, `quality-${part}.jsonl`), part), questionSchema);
  return [
    {
      name: "shared 60",
      part: "tune",
      questions: readQuestions(join(enron, "questions.jsonl"), questionSchema),
      db: realDb,
    },
    {
      name: "demo",
      part: "tune",
      questions: readQuestions(join(ROOT, "fixtures/demo/questions.jsonl"), questionSchema),
      db: openStore(demo, { mustExist: true }),
    },
    { name: "hand-written", part: "tune", questions: written("tune"), db: realDb },
    { name: "patterns", part: "tune", questions: made("tune"), db: realDb },
    { name: "hand-written", part: "test", questions: written("test"), db: realDb },
    { name: "patterns", part: "test", questions: made("test"), db: realDb },
  ];
}

function importReal(enron: string, folder: string): string {
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

function readQuestions<T extends z.ZodType>(file: string, schema: T): z.output<T>[] {
  const lines = readFileSync(file, "utf8").trim().split("\n");
  return lines.map((line) => schema.parse(JSON.parse(line)));
}
