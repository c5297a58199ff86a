import type { Db } from "../connection/open-store.js";
import { PARTY } from "./address-book.js";
import type { PositionRange } from "./date-range.js";
import { termExpression } from "./fts-query.js";
import { openMailCount } from "./mailbox-sizes.js";
import { POSTING_LIST_LIMIT } from "./posting-lists.js";

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
  /** The id of the mail at a position. */
  mailAt(position: number): number;
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
  // Until the next import. An imported corpus never has the fingerprint null.
  let sizes = { fingerprint: null as unknown, all: 0, byInbox: new Map<number, number>() };
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
    if (inboxId === null) return sizes.all;
    let size = sizes.byInbox.get(inboxId);
    if (size === undefined) {
      size = countMails(inboxId);
      sizes.byInbox.set(inboxId, size);
    }
    return size;
  };

  return (filter) => {
    // Another process may have imported mail meanwhile.
    const [fingerprint = null, from = null] = (readState.get() ?? []) as [string?, number?];
    olderFrom = from;
    if (fingerprint !== sizes.fingerprint) sizes = { fingerprint, all: all.get() as number, byInbox: new Map() };
    const parties = partiesExpression(filter);
    return {
      newestMatching: (words, range, limit) => newest(expressionOf(parties, words), range, limit),
      postingsOf: (term) => newest(expressionOf(parties, termExpression(term)), filter.range, POSTING_LIST_LIMIT),
      get mailboxSize() {
        return sizeOf(filter.inboxId);
      },
      mailAt: (position) => mailAt.get(position) as number,
    };
  };
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
