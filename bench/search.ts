import type BetterSqlite3 from "better-sqlite3";
import { openMailLookup } from "../src/mail/mail-lookup.js";
import { type Db, openStore } from "../src/store/open-store.js";
import { Database } from "../src/store/sqlite.js";
import { emailSearch, searchEmails } from "../src/tools/handlers/mail-tools.js";
import { type Mailbox, openMailbox } from "../src/tools/mailbox.js";
import { resultValue, type ToolContext, type ToolResult } from "../src/tools/tool.js";
import { below, seeded } from "../test/random.js";
import type { ImportFiles } from "./import.js";
import { openArtSearch, openNaiveSearch, type SqlHit } from "./naive-search.js";
import { type Quantiles, quantiles } from "./quantiles.js";

export interface SearchLine {
  readonly what: string;
  /** The handler in a process without earlier searches, with the file in memory. */
  readonly cold: Quantiles;
  /** The handler in a process that has searched for the same words in the same mailboxes, with another limit. */
  readonly warm: Quantiles;
  /** The SQL of a current system, which stores nothing between queries. */
  readonly sql: Quantiles;
  /** Our warm p99 divided by theirs. */
  readonly p99Ratio: number;
  /** Fraction of the emails in either top ten that are in both, or null if not compared. Copies count as one. */
  readonly overlap: number | null;
}

interface Owner {
  readonly folder: string;
  readonly address: string;
}

const QUERIES = 300;
/** The SQL is slow for an entire question. */
const QUESTIONS = 100;

/**
 * Compares our search with the SQL of current systems over the same mail, with the file in memory. Words are drawn from
 * an email in the mailbox, so common words are drawn as often as they occur. Definitions of a mailbox differ: ours
 * includes the owner's folders, ART's contains mail from or to the address, iofold's is the mail of one folder.
 */
export function benchSearch(files: ImportFiles): SearchLine[] {
  const db = openStore(files.ours, { mustExist: true });
  const [naiveDb, artDb] = [openReading(files.naive), openReading(files.art)];
  const mails = openMailLookup(db);
  const naive = openNaiveSearch(naiveDb);
  const art = openArtSearch(artDb);
  const random = seeded(7);
  const bodyAt = db
    .prepare("SELECT m.body FROM mail_order o JOIN mails m ON m.id = o.mail_id WHERE o.position = ?")
    .pluck();
  const total = db.prepare("SELECT count(*) FROM mail_order").pluck().get() as number;
  const words = (count: number): string[] => {
    for (;;) {
      const all = (bodyAt.get(1 + below(random, total)) as string).split(/[^a-z0-9]+/).filter((word) => word !== "");
      if (all.length >= 20) return Array.from({ length: count }, () => all[below(random, all.length)] ?? "");
    }
  };
  const dateAt = db.prepare("SELECT date FROM mail_order WHERE position = ?").pluck();
  const dated = db.prepare("SELECT count(date) FROM mail_order").pluck().get() as number;
  const owners = ownersOf(db);
  const anyOwner = () => owners[below(random, owners.length)] as Owner;
  const few = Array.from({ length: QUERIES }, () => ({
    text: words(2 + below(random, 2)),
    owner: anyOwner(),
    before: null,
  }));
  const [largest] = owners;
  if (largest === undefined) throw new Error("the mail has zero owners to search for");
  const questions = Array.from({ length: QUESTIONS }, () => ({ text: words(8), owner: largest, before: null }));
  // Undated emails come last.
  const datedQuestions = questions.map((one) => ({ ...one, before: dateAt.get(1 + below(random, dated)) as string }));
  const ids = db.prepare("SELECT message_id FROM messages ORDER BY random() LIMIT 2000").pluck().all() as string[];
  const inLargest = db
    .prepare("SELECT count(*) FROM mailboxes WHERE address_id = (SELECT id FROM addresses WHERE address = ?)")
    .pluck()
    .get(largest.address) as number;

  const canonical = (hits: readonly SqlHit[]) => hits.map((hit) => mails.canonicalId(hit.message_id));
  const lines = [
    compare(db, "search_emails (ART)", few, searchAsArt, ({ text, owner }) => art(text, owner.address), canonical),
    compare(
      db,
      "email_search, 2 to 3 words (iofold: all words)",
      few,
      searchBest,
      ({ text, owner }) => naive.best(text, owner.folder),
      canonical,
    ),
    compare(
      db,
      `email_search, 8 words, ${inLargest.toLocaleString("en-US")} emails (iofold: any word)`,
      questions,
      searchBest,
      ({ text, owner }) => naive.any(text, owner.folder),
      canonical,
    ),
    compare(
      db,
      "the same, before a date",
      datedQuestions,
      searchBest,
      ({ text, owner, before }) => naive.anyBefore(text, owner.folder, before),
      canonical,
    ),
    {
      ...compare(db, "email_get", ids, ({ mails: lookup }, id) => [lookup.get(id)?.messageId ?? ""], naive.get),
      overlap: null,
    },
  ];
  for (const one of [db, naiveDb, artDb]) one.close();
  return lines;
}

const toContext = ({ owner, before }: Asked): ToolContext => ({
  inbox: owner.address,
  cutoff: before,
  signal: new AbortController().signal,
});

/** Calls the handler of email_search. */
function searchBest(mailbox: Mailbox, asked: Asked, limit = 10): string[] {
  const result = emailSearch.call({ query: asked.text.join(" "), limit }, toContext(asked), { mailbox }, {});
  return (resultOf(result) as { emails: SqlHit[] }).emails.map((hit) => hit.message_id);
}

/** Calls the handler of search_emails. */
function searchAsArt(mailbox: Mailbox, asked: Asked, limit = 10): string[] {
  const args = { keywords: [...asked.text], max_results: limit };
  return (resultOf(searchEmails.call(args, toContext(asked), { mailbox }, {})) as SqlHit[]).map(
    (hit) => hit.message_id,
  );
}

function resultOf(result: ToolResult | Promise<ToolResult>): unknown {
  if (result instanceof Promise || !result.ok) throw new Error(`the search failed: ${JSON.stringify(result)}`);
  return resultValue(result);
}

interface Asked {
  readonly text: readonly string[];
  readonly owner: Owner;
  /** Only mail sent before this time (ISO 8601 UTC). */
  readonly before: string | null;
}

function openReading(file: string): BetterSqlite3.Database {
  const db = new Database(file, { readonly: true });
  db.pragma("cache_size = -65536");
  db.pragma("mmap_size = 2147483648");
  return db;
}

/** Owners with an address, largest folders first. */
function ownersOf(db: Db): Owner[] {
  return db
    .prepare(
      `SELECT w.folder, w.address FROM owners w JOIN filings f ON f.owner_id = w.id
       WHERE w.address IS NOT NULL GROUP BY w.id ORDER BY count(*) DESC, w.folder`,
    )
    .all() as Owner[];
}

/** The Message-IDs that a search returns. */
type Answer<T> = (mailbox: Mailbox, query: T, limit?: number) => readonly string[];

function compare<T>(
  db: Db,
  what: string,
  asked: readonly T[],
  ours: Answer<T>,
  sql: (query: T) => readonly SqlHit[],
  canonical: (hits: readonly SqlHit[]) => readonly string[] = () => [],
): SearchLine {
  const mailbox = openMailbox(db);
  // Once without measuring, so that both files are in memory and both programs are compiled. The other limit prevents
  // cached results.
  for (const query of asked) ours(mailbox, query, 9);
  const pairs = asked.map((query) => ({ ours: ours(openMailbox(db), query), theirs: canonical(sql(query)) }));
  const warm = latencies(
    asked,
    (query) => ours(mailbox, query),
    () => null,
  );
  const cold = latencies(
    asked,
    (query, unused) => ours(unused, query),
    () => openMailbox(db),
  );
  const theirs = latencies(asked, sql, () => null);
  return { what, cold, warm, sql: theirs, p99Ratio: warm.p99 / theirs.p99, overlap: overlapOf(pairs) };
}

function overlapOf(pairs: readonly { ours: readonly string[]; theirs: readonly string[] }[]): number {
  let either = 0;
  let both = 0;
  for (const { ours, theirs } of pairs) {
    const [a, b] = [new Set(ours), new Set(theirs)];
    either += new Set([...a, ...b]).size;
    both += [...a].filter((id) => b.has(id)).length;
  }
  return both / either;
}

/** `prepare` creates the connection for a query, without measuring it. */
function latencies<T, P>(asked: readonly T[], answer: (query: T, prepared: P) => unknown, prepare: () => P): Quantiles {
  return quantiles(
    asked.map((query) => {
      const prepared = prepare();
      const started = performance.now();
      answer(query, prepared);
      return performance.now() - started;
    }),
  );
}
