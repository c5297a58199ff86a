import { LRUCache } from "lru-cache";
import type { Db } from "../store/open-store.js";
import type { AddressCount } from "./import-owners.js";
import { FTS_TABLES, PARTY, type PositionRange, termExpression } from "./search-query.js";

/** Whose mail, and when it was sent. Ids are those of the address book; null: any. */
export interface MailFilter {
  readonly inboxId: number | null;
  /** Sent by this address, or to, cc or bcc it, wherever it was filed; undefined: any. */
  readonly namedId?: number;
  readonly fromIds: readonly number[] | null;
  readonly toIds: readonly number[] | null;
  readonly range: PositionRange;
}

/** The mails that pass a filter. Positions are row ids of the index, newest mail first. */
export interface FtsPostings {
  /** Positions that match an expression on subject and body, newest first, within `range`. */
  newestMatching(words: string, range: PositionRange, limit: number): number[];
  /** Positions within the filter's range that hold a word in any form, newest first, up to `POSTING_LIST_LIMIT`. */
  postingsOf(term: string): readonly number[];
  /** Mails in the mailbox, or in the whole file, whatever their date. */
  readonly mailboxSize: number;
  mailAt(position: number): number;
  /** What was computed for the key since the last import, or else what `compute` gives. */
  remember<Value extends object>(key: string, compute: () => Value): Value;
}

/** better-sqlite3 binds numbers as reals, and of those FTS5 takes no range: it would read each match before it. */
export const rowidBetween = (rowid: string) => `${rowid} BETWEEN CAST(? AS INTEGER) AND CAST(? AS INTEGER)`;

// `+?`: SQLite plans a statement by the value of a bare `LIMIT ?`, so it prepares it again for each new value.
const newestOf = (table: string) =>
  `SELECT rowid FROM ${table} WHERE ${table} MATCH ? AND ${rowidBetween("rowid")} ORDER BY rowid LIMIT +?`;

export const POSTINGS_SQL = {
  newest: newestOf("emails_fts"),
  newestOfOlder: newestOf("emails_fts_older"),
  mailAt: "SELECT mail_id FROM mail_order WHERE position = ?",
} as const;

/** Asks the index which mails match. It does not rank: FTS5's bm25() reads every mail of the file that holds a word. */
export function openPostings(db: Db): (filter: MailFilter) => FtsPostings {
  const matching = db.prepare(POSTINGS_SQL.newest).pluck();
  const matchingOlder = db.prepare(POSTINGS_SQL.newestOfOlder).pluck();
  const countMails = openMailCount(db);
  // Positions run from 1 without a gap.
  const all = db.prepare("SELECT coalesce(max(position), 0) FROM mail_order").pluck();
  const readState = db.prepare("SELECT fingerprint, older_from FROM corpus_state").raw();
  const mailAt = db.prepare(POSTINGS_SQL.mailAt).pluck();
  // An imported corpus never has the fingerprint null.
  let known = new KnownUntilImport(null, 0);
  // The first position of the second index; null: there is one.
  let olderFrom: number | null = null;

  const newest = (expression: string, { first, last }: PositionRange, limit: number): number[] => {
    if (first > last) return [];
    const older = olderFrom ?? Number.POSITIVE_INFINITY;
    const found = first < older ? (matching.all(expression, first, last, limit) as number[]) : [];
    if (last < older || found.length >= limit) return found;
    return found.concat(matchingOlder.all(expression, first, last, limit - found.length) as number[]);
  };

  const sizeOf = (inboxId: number | null): number => {
    if (inboxId === null) return known.mails;
    let size = known.mailsByInbox.get(inboxId);
    if (size === undefined) {
      size = countMails(inboxId);
      known.mailsByInbox.set(inboxId, size);
    }
    return size;
  };

  const listOf = (expression: string, range: PositionRange): readonly number[] => {
    const key = `${range.first} ${range.last} ${expression}`;
    let list = known.lists.get(key);
    if (list === undefined) {
      list = newest(expression, range, POSTING_LIST_LIMIT);
      known.lists.set(key, list);
    }
    return list;
  };

  return (filter) => {
    // Another process may have imported mail meanwhile.
    const [fingerprint = null, from = null] = (readState.get() ?? []) as [string?, number?];
    olderFrom = from;
    if (fingerprint !== known.fingerprint) known = new KnownUntilImport(fingerprint, all.get() as number);
    const parties = partiesExpression(filter);
    return {
      newestMatching: (words, range, limit) => newest(expressionOf(parties, words), range, limit),
      postingsOf: (term) => listOf(expressionOf(parties, termExpression(term)), filter.range),
      get mailboxSize() {
        return sizeOf(filter.inboxId);
      },
      mailAt(position) {
        const mailId = known.mailIds[position] || (mailAt.get(position) as number);
        known.mailIds[position] = mailId;
        return mailId;
      },
      remember<Value extends object>(key: string, compute: () => Value) {
        const value = (known.results.get(key) as Value | undefined) ?? compute();
        known.results.set(key, value);
        return value;
      },
    };
  };
}

/** Of all lists together; some 8 bytes each. */
const MAX_KEPT_POSITIONS = 250_000;

/** Results of searches, some 5 KB each. */
const MAX_KEPT_RESULTS = 250;

/** What changes only with an import. Agents ask again for words that they, or others, have asked for before. */
class KnownUntilImport {
  readonly mailsByInbox = new Map<number, number>();
  readonly lists = new LRUCache<string, readonly number[]>({
    maxSize: MAX_KEPT_POSITIONS,
    sizeCalculation: (list) => list.length + 20,
  });
  readonly results = new LRUCache<string, object>({ max: MAX_KEPT_RESULTS });
  /** By position; 0: not read so far. Each mail stands on a page of its own. */
  readonly mailIds: Uint32Array;

  constructor(
    readonly fingerprint: unknown,
    /** In the whole file. */
    readonly mails: number,
  ) {
    this.mailIds = new Uint32Array(mails + 1);
  }
}

/** Words that begin like a token of `parties`, whatever suffix the stemmer removes. */
const LIKE_PARTY_TOKEN = /\b(?:in|from|to)\d/;

/** The filter on sender, recipients and mailbox; empty where all are null. */
function partiesExpression({ inboxId, namedId, fromIds, toIds }: MailFilter): string {
  const filters: string[] = [];
  if (namedId !== undefined) filters.push(`(${PARTY.from(namedId)} OR ${PARTY.to(namedId)})`);
  if (inboxId !== null) filters.push(PARTY.in(inboxId));
  if (fromIds !== null) filters.push(`(${fromIds.map(PARTY.from).join(" OR ")})`);
  if (toIds !== null) filters.push(`(${toIds.map(PARTY.to).join(" OR ")})`);
  return filters.map((filter) => `parties : ${filter} AND `).join("");
}

/** The words in subject or body, and the filter. */
function expressionOf(parties: string, words: string): string {
  // A column filter costs time; only a word that might match a token of `parties` needs it.
  return LIKE_PARTY_TOKEN.test(words) ? `${parties}{subject body bigrams} : (${words})` : `${parties}(${words})`;
}

/** A term in more mails than this is common: it yields no candidates if rarer terms yield enough. */
const COMMON_TERM_MAILS = 1_000;

/** Length limit of a posting list: just enough to see that a term is common. */
export const POSTING_LIST_LIMIT = COMMON_TERM_MAILS + 1;

/** For each term the positions of the mails that hold it, newest first, up to `POSTING_LIST_LIMIT`. */
export type PostingLists = readonly (readonly number[])[];

/** The idf of each term. A common term's frequency is not known; a quarter of the mailbox is assumed. */
export function idfWeights(lists: PostingLists, mails: number): number[] {
  return lists.map((list) => idf(isRare(list) ? list.length : Math.max(COMMON_TERM_MAILS, mails / 4), mails));
}

export function isRare(list: readonly number[]): boolean {
  return list.length <= COMMON_TERM_MAILS;
}

/** The range of the mails that hold all rare terms. Restricting the all-words query to it is most of the speed. */
export function intersectionRange(lists: PostingLists, range: PositionRange): PositionRange {
  const [rarest, ...others] = lists.filter(isRare).sort((a, b) => a.length - b.length);
  if (rarest === undefined) return range;
  const shared = rarest.filter((position) => others.every((list) => hasPosting(list, position)));
  return { first: shared[0] ?? 1, last: shared.at(-1) ?? 0 };
}

export function hasPosting(list: readonly number[], position: number): boolean {
  return list[lowerBound(list, position)] === position;
}

/** Index of the first entry that is not below `position`. */
function lowerBound(list: readonly number[], position: number): number {
  let from = 0;
  let to = list.length;
  while (from < to) {
    const middle = (from + to) >>> 1;
    if ((list[middle] as number) < position) from = middle + 1;
    else to = middle;
  }
  return from;
}

/** Inverse document frequency as BM25 has it, never negative. */
function idf(documentFrequency: number, mails: number): number {
  const n = Math.min(documentFrequency, mails);
  return Math.log(1 + (mails - n + 0.5) / (n + 0.5));
}

/** How many mails are in the inbox of an address, by its id. */
export function openMailCount(db: Db): (inboxId: number) => number {
  const counts = FTS_TABLES.map((table) => db.prepare(`SELECT count(*) FROM ${table} WHERE ${table} MATCH ?`).pluck());
  return (inboxId) => counts.reduce((sum, count) => sum + (count.get(`parties : ${PARTY.in(inboxId)}`) as number), 0);
}

/** The addresses with most mail in their inboxes, whether imported as mailboxes or not. Reads only the index. */
export function largestInboxes(db: Db, limit: number): AddressCount[] {
  for (const table of FTS_TABLES) {
    // The terms of an index, with the number of mails that hold each. Temporary, as the file may be read-only.
    db.exec(`CREATE VIRTUAL TABLE IF NOT EXISTS temp.${table}_terms USING fts5vocab('main', '${table}', 'col')`);
  }
  const inboxes = FTS_TABLES.map(
    (table) =>
      `SELECT CAST(substr(term, 3) AS INTEGER) AS id, doc FROM temp.${table}_terms
       WHERE term >= 'in0' AND term < 'in:' AND col = 'parties'`,
  );
  return db
    .prepare(
      `SELECT a.address, sum(doc) AS mails FROM (${inboxes.join(" UNION ALL ")}) JOIN addresses a USING (id)
       GROUP BY id ORDER BY mails DESC, address LIMIT ?`,
    )
    .all(limit) as AddressCount[];
}
