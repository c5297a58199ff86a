import { execFileSync } from "node:child_process";
import { existsSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
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

/** Mailboxes of the hand-written questions; those made by patterns are cut in the same way. */
const MAILBOXES: Readonly<Record<Part, readonly string[]>> = {
  tune: ["sean.crandall", "steven.south", "susan.scott", "chris.germany", "bill.iii"],
  test: ["stacy.dickson", "ryan.slinger", "stephanie.panus", "steven.kean", "kate.symes"],
};

/** Imports the mail and makes the questions, once for a folder that is kept. */
export function openSets(enron: string, folder: string): QuestionSet[] {
  const real = importMail(join(folder, "quality-real.db"), [
    join(enron, "maildir.tar.gz"),
    join(enron, "folders.tar.gz"),
  ]);
  const demo = importMail(join(folder, "quality-demo.db"), [join(ROOT, "fixtures/demo/maildir")]);
  const realDb = openStore(real, { mustExist: true });
  const written = (part: Part) => readQuestions(join(ROOT, `fixtures/search/hand-written-${part}.jsonl`));
  const made = (part: Part) => readQuestions(makeQuestions(real, join(folder, `quality-${part}.jsonl`), part));
  return [
    { name: "shared 60", part: "tune", questions: readQuestions(join(enron, "questions.jsonl")), db: realDb },
    {
      name: "demo",
      part: "tune",
      questions: readQuestions(join(ROOT, "fixtures/demo/questions.jsonl")),
      db: openStore(demo, { mustExist: true }),
    },
    { name: "hand-written", part: "tune", questions: written("tune"), db: realDb },
    { name: "patterns", part: "tune", questions: made("tune"), db: realDb },
    { name: "hand-written", part: "test", questions: written("test"), db: realDb },
    { name: "patterns", part: "test", questions: made("test"), db: realDb },
  ];
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

function runProgram(...args: readonly string[]): void {
  execFileSync(process.execPath, [join(ROOT, "bin/art-e.js"), ...args], { stdio: ["ignore", "ignore", "inherit"] });
}

function readQuestions(file: string): Question[] {
  const lines = readFileSync(file, "utf8").trim().split("\n");
  return lines.map((line) => questionSchema.parse(JSON.parse(line)));
}
