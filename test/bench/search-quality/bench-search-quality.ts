import { execFileSync } from "node:child_process";
import { existsSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { questionQuery } from "../../../src/app/mailbox/question-query.js";
import type { Estimate } from "../../../src/domain/scores/interval-estimate.js";
import { type Question, questionSchema } from "../../../src/domain/tasks/question.js";
import { measureSearch, reciprocalRank, type SearchQuality } from "../../../src/run-analysis/search-quality.js";
import { pairedDifference } from "../../../src/statistics/paired-difference.js";
import { type Db, openStore } from "../../../src/store/connection/open-store.js";
import { openMailSearch } from "../../../src/store/search/mail-search.js";
import type { RankingSignal } from "../../../src/store/search/ranking/ranking-signal.js";
import { RANKING_SIGNALS } from "../../../src/store/search/ranking/ranking-signals.js";
import { openMailbox } from "../../../src/tools/open-mailbox.js";
import { openPlainBm25 } from "./plain-bm25.js";

const ROOT = fileURLToPath(new URL("../../../", import.meta.url));

/** The ranking is tuned on `tune`; `test` is reported. No mailbox is in both, except the shared five in `tune`. */
export type Part = "tune" | "test";

interface QuestionSet {
  readonly name: string;
  readonly part: Part;
  readonly questions: readonly Question[];
  readonly db: Db;
}

export interface SetQuality {
  readonly set: string;
  readonly part: Part;
  readonly quality: SearchQuality;
}

/** MRR@10 of the search less that of another, in pairs. */
export interface QualityDifference {
  readonly less: string;
  readonly sets: string;
  readonly difference: Estimate;
  readonly better: number;
  readonly worse: number;
}

export interface SearchQualityBench {
  readonly sets: readonly SetQuality[];
  readonly differences: readonly QualityDifference[];
}

/** Mailboxes of the hand-written questions; those made by patterns are cut in the same way. */
const MAILBOXES: Readonly<Record<Part, readonly string[]>> = {
  tune: ["sean.crandall", "steven.south", "susan.scott", "chris.germany", "bill.iii"],
  test: ["stacy.dickson", "ryan.slinger", "stephanie.panus", "steven.kean", "kate.symes"],
};

/** The search, without each of its signals, without any, and plain bm25, over sets of questions about real mail. */
export function benchSearchQuality(enron: string, folder: string): SearchQualityBench {
  const sets = openSets(enron, folder);
  const rivals = [
    ...RANKING_SIGNALS.map(({ name }) => ({
      name: `without ${name}`,
      measure: measureWith(RANKING_SIGNALS.filter((signal) => signal.name !== name)),
    })),
    { name: "words alone", measure: measureWith([]) },
    { name: "plain bm25, any word", measure: measurePlain },
  ];
  const measured = sets.map((set) => ({ set, quality: measureWith(RANKING_SIGNALS)(set) }));
  const differences = rivals.flatMap(({ name, measure }) => {
    const pairs = measured.map(({ set, quality }) => ({ set, ranks: pairRanks(quality, measure(set)) }));
    const over = (sets: string, isIn: (set: QuestionSet) => boolean) =>
      toDifference(
        name,
        sets,
        pairs.filter(({ set }) => isIn(set)).flatMap(({ ranks }) => ranks),
      );
    return [
      ...sets.map((one) => over(`${one.name} (${one.part})`, (set) => set === one)),
      over("all of tune", ({ part }) => part === "tune"),
      over("all of test", ({ part }) => part === "test"),
    ];
  });
  for (const { db } of sets) if (db.open) db.close();
  return { sets: measured.map(({ set: { name, part }, quality }) => ({ set: name, part, quality })), differences };
}

function openSets(enron: string, folder: string): QuestionSet[] {
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

/** Once for a folder that is kept. */
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

function measureWith(signals: readonly RankingSignal[]) {
  return ({ questions, db }: QuestionSet): SearchQuality => {
    const { mails, addresses } = openMailbox(db);
    const search = openMailSearch(db, signals);
    return measureSearch(
      questions,
      (question) => search.bestFirst(questionQuery(question, addresses)).hits.map(({ messageId }) => messageId),
      (id) => mails.canonicalId(id),
    );
  };
}

function measurePlain({ questions, db }: QuestionSet): SearchQuality {
  const { mails, addresses } = openMailbox(db);
  const search = openPlainBm25(db);
  return measureSearch(
    questions,
    (question) => search(questionQuery(question, addresses)),
    (id) => mails.canonicalId(id),
  );
}

function pairRanks(ours: SearchQuality, theirs: SearchQuality): number[] {
  return ours.ranks.map((rank, i) => reciprocalRank(rank) - reciprocalRank(theirs.ranks[i] ?? rank));
}

function toDifference(less: string, sets: string, differences: readonly number[]): QualityDifference {
  return {
    less,
    sets,
    difference: pairedDifference(differences),
    better: differences.filter((one) => one > 0).length,
    worse: differences.filter((one) => one < 0).length,
  };
}
