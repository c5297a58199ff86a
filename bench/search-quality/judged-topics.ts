// Topical queries by people, with their graded judgments of emails. The collection is not part of the project: it is a
// folder with maildir.tar.gz, queries.tsv (need, query id, text) and qrels.txt (query id, 0, file number, grade).
import { createReadStream, existsSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { createGunzip } from "node:zlib";
import { extract } from "tar-stream";
import type { MailLookup } from "../../src/mail/mail-lookup.js";
import type { Estimate } from "../../src/statistics/estimate.js";
import { meanOf } from "../../src/statistics/intervals.js";
import { pairedDifference } from "../../src/statistics/significance.js";
import { openStore } from "../../src/store/open-store.js";
import { openMailbox } from "../../src/tools/mailbox.js";
import { runProgram } from "./question-sets.js";
import { ALL_WORDS, OURS, SEARCHES, WITHOUT_STOP_WORDS } from "./searches.js";

/** nDCG@10 of one search. */
export interface TopicQuality {
  readonly search: string;
  readonly queries: number;
  readonly all: number;
  /** Without the emails that nobody judged. */
  readonly judged: number;
  /** art-e minus this search, paired by information need. Null for art-e itself. */
  readonly difference: { readonly all: Estimate; readonly judged: Estimate } | null;
}

/** For every search, because the first ten judged emails of a list can have many others between them. */
const HITS = 80;
const DEPTH = 10;
const MAILBOX = "sara@enron.com";

export async function benchJudgedTopics(collection: string, folder: string): Promise<TopicQuality[]> {
  const db = openStore(importCollection(collection, folder), { mustExist: true });
  const { mails, addresses } = openMailbox(db);
  const numbers = await fileNumbers(join(collection, "maildir.tar.gz"));
  const firstCopy = openFirstCopy(mails);
  const canonical = new Map([...numbers].map(([number, id]) => [number, firstCopy(id)]));
  const grades = readGrades(join(collection, "qrels.txt"), canonical);
  const queries = readFileSync(join(collection, "queries.tsv"), "utf8")
    .trim()
    .split("\n")
    .map((line) => line.split("\t") as [need: string, id: string, words: string])
    .filter(([, id]) => [...(grades.get(id)?.values() ?? [])].some((grade) => grade > 0));
  // No date is known, so there is no recency. ART's SQL finds mail from or to an address, and these emails are neither.
  const names = [OURS, WITHOUT_STOP_WORDS, ALL_WORDS];
  const searches = names.map((name) => SEARCHES[name]?.(db, HITS) ?? (() => []));
  const inboxId = addresses.idOf(MAILBOX);
  const asked = { inboxId, fromIds: null, toIds: null, period: { after: null, before: null }, limit: HITS };
  const scores = searches.map((find) =>
    queries.map(([need, id, words]) => {
      const hits = [...new Set(find({ ...asked, words, askedAt: null }).map(firstCopy))];
      const relevant = grades.get(id) ?? new Map<string, number>();
      const judgedHits = hits.filter((hit) => relevant.has(hit));
      return { need, all: ndcg(hits, relevant), judged: ndcg(judgedHits, relevant) };
    }),
  );
  db.close();
  const ours = scores[names.indexOf(OURS)] ?? [];
  const needs = [...new Set(queries.map(([need]) => need))];
  return names.map((search, i) => {
    const theirs = scores[i] ?? [];
    const difference = (list: "all" | "judged") =>
      pairedDifference(needs.map((need) => meanOver(ours, need, list) - meanOver(theirs, need, list)));
    return {
      search,
      queries: queries.length,
      all: meanOver(theirs, null, "all"),
      judged: meanOver(theirs, null, "judged"),
      difference: search === OURS ? null : { all: difference("all"), judged: difference("judged") },
    };
  });
}

interface QueryScore {
  readonly need: string;
  readonly all: number;
  readonly judged: number;
}

/** Returns the mean over the queries of an information need, or over all queries if it is null. */
function meanOver(scores: readonly QueryScore[], need: string | null, list: "all" | "judged"): number {
  return meanOf(scores.filter((one) => need === null || one.need === need).map((one) => one[list])) ?? 0;
}

function importCollection(collection: string, folder: string): string {
  const db = join(folder, "quality-topics.db");
  const owners = join(folder, "topics-owners.tsv");
  writeFileSync(owners, `sara-a\t${MAILBOX}\n`);
  const mail = join(collection, "maildir.tar.gz");
  if (!existsSync(db)) runProgram("import", mail, "--db", db, "--owner-map", owners, "--quiet");
  return db;
}

/**
 * Returns the same id for all emails with the same subject and text. The collection has many copies that only differ in
 * recipients and date, which were judged separately.
 */
function openFirstCopy(mails: MailLookup): (messageId: string) => string {
  const firstIds = new Map<string, string>();
  const known = new Map<string, string>();
  const find = (messageId: string) => {
    const mail = mails.get(messageId);
    const text = mail === null ? messageId : `${mail.subject.trim()}\n${mail.body.replace(/\s+/g, " ").trim()}`;
    const first = firstIds.get(text) ?? messageId;
    firstIds.set(text, first);
    known.set(messageId, first);
    return first;
  };
  return (messageId) => known.get(messageId) ?? find(messageId);
}

/** Returns the Message-ID per file number. */
async function fileNumbers(tar: string): Promise<Map<string, string>> {
  const numbers = new Map<string, string>();
  const entries = createReadStream(tar).pipe(createGunzip()).pipe(extract());
  for await (const entry of entries) {
    const chunks: Buffer[] = [];
    for await (const chunk of entry) chunks.push(chunk as Buffer);
    const number = /(\d+)\.$/.exec(entry.header.name)?.[1];
    const id = /^message-id:\s*(\S+)/im.exec(Buffer.concat(chunks).toString("latin1"))?.[1];
    if (number !== undefined && id !== undefined) numbers.set(number, id);
  }
  return numbers;
}

/** Returns the grades per query. The best grade counts for copies of an email. */
function readGrades(path: string, canonical: ReadonlyMap<string, string>): Map<string, Map<string, number>> {
  const grades = new Map<string, Map<string, number>>();
  for (const line of readFileSync(path, "utf8").trim().split("\n")) {
    const [query = "", , number = "", grade = "0"] = line.split(/\s+/);
    const mail = canonical.get(number);
    if (mail === undefined) continue;
    const ofQuery = grades.get(query) ?? new Map<string, number>();
    grades.set(query, ofQuery.set(mail, Math.max(ofQuery.get(mail) ?? 0, Number(grade))));
  }
  return grades;
}

/** Normalized discounted cumulative gain of the first ten hits (Järvelin and Kekäläinen, 2002). */
function ndcg(hits: readonly string[], grades: ReadonlyMap<string, number>): number {
  const gain = (values: readonly number[]) =>
    values.slice(0, DEPTH).reduce((sum, grade, i) => sum + grade / Math.log2(i + 2), 0);
  const ideal = gain([...grades.values()].sort((a, b) => b - a));
  return gain(hits.map((hit) => grades.get(hit) ?? 0)) / ideal;
}
