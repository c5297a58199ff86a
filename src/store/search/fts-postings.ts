import type { Db } from "../connection/open-store.js";
import { PARTY } from "./address-book.js";
import { ALL_POSITIONS, type PositionRange } from "./date-range.js";
import { termExpression } from "./fts-query.js";
import { PostingListCache } from "./posting-list-cache.js";
import { COUNTED_TO, isRare, postingsWithin } from "./posting-lists.js";

/** Whose mail, and when it was sent. Ids are those of the address book; null leaves a side open. */
export interface MailFilter {
  readonly inboxId: number | null;
  /** Only mail that this address sent or that went to it, wherever it was filed; left out: any. */
  readonly namedId?: number;
  readonly fromIds: readonly number[] | null;
  readonly toIds: readonly number[] | null;
  readonly range: PositionRange;
}

/** The mails that a filter leaves. */
export interface FtsPostings {
  /** Positions of those that match an expression on subject and body, newest first, within `range` of the filter's own. */
  newest(words: string, range: PositionRange, limit: number): number[];
  /** Positions of those that hold a word in any of its forms, newest first, up to `COUNTED_TO`. */
  holding(term: string): readonly number[];
  /** How many lie in the mailbox, or in the whole file, whatever their date. */
  readonly inMailbox: number;
  /** The id of the mail at one of these positions. */
  mailAt(position: number): number;
}

export const POSTINGS_SQL = {
  // `+?`: by the value of a bare `LIMIT ?` SQLite plans the statement, and so prepares it anew each time one is bound.
  newest: "SELECT rowid FROM emails_fts WHERE emails_fts MATCH ? AND rowid BETWEEN ? AND ? ORDER BY rowid LIMIT +?",
  inInbox: "SELECT count(*) FROM emails_fts WHERE emails_fts MATCH ?",
  mailAt: "SELECT mail_id FROM mail_order WHERE position = ?",
} as const;

/** What does not change until the next import. */
class Kept {
  readonly lists = new PostingListCache();
  /** Of mailboxes. */
  readonly sizes = new Map<number, number>();
  /** By position; 0: not asked for so far. Four bytes a mail spare a search half of its pages: each mail stands on another. */
  readonly mailIds: Uint32Array;

  constructor(
    /** Of the imported mail. */
    readonly fingerprint: unknown,
    /** In the whole file. */
    readonly mails: number,
  ) {
    this.mailIds = new Uint32Array(mails + 1);
  }
}

/**
 * Asks the index which mails match. Nothing is ranked there: bm25() reads every mail of the file that holds a word. The
 * lists of words are kept: an agent that searches a mailbox again mostly asks for a word that it has asked for before.
 */
export function openPostings(db: Db): (filter: MailFilter) => FtsPostings {
  const matching = db.prepare(POSTINGS_SQL.newest).pluck();
  const inInbox = db.prepare(POSTINGS_SQL.inInbox).pluck();
  // Positions are counted from 1 without a gap.
  const all = db.prepare("SELECT coalesce(max(position), 0) FROM mail_order").pluck();
  const state = db.prepare("SELECT fingerprint FROM corpus_state").pluck();
  const mailAt = db.prepare(POSTINGS_SQL.mailAt).pluck();
  // Of no mail so far: what is imported has a fingerprint, and it is not null.
  let kept = new Kept(null, 0);

  const newest = (expression: string, { first, last }: PositionRange, limit: number) =>
    first > last ? [] : (matching.all(expression, first, last, limit) as number[]);

  const listOf = (expression: string): readonly number[] => {
    const known = kept.lists.get(expression);
    if (known !== undefined) return known;
    const list = newest(expression, ALL_POSITIONS, COUNTED_TO);
    kept.lists.add(expression, list);
    return list;
  };

  const sizeOf = (inboxId: number | null): number => {
    if (inboxId === null) return kept.mails;
    let size = kept.sizes.get(inboxId);
    if (size === undefined) {
      size = inInbox.get(`parties : ${PARTY.in(inboxId)}`) as number;
      kept.sizes.set(inboxId, size);
    }
    return size;
  };

  return (filter) => {
    // Another process may import while this one runs.
    const fingerprint = state.get();
    if (fingerprint !== kept.fingerprint) kept = new Kept(fingerprint, all.get() as number);
    const parties = partiesExpression(filter);
    return {
      newest: (words, range, limit) => newest(expressionOf(parties, words), range, limit),
      holding(term) {
        const expression = expressionOf(parties, termExpression(term));
        const list = listOf(expression);
        // A list that was cut off does not say who comes behind its end.
        return isRare(list) ? postingsWithin(list, filter.range) : newest(expression, filter.range, COUNTED_TO);
      },
      get inMailbox() {
        return sizeOf(filter.inboxId);
      },
      mailAt(position) {
        const known = kept.mailIds[position];
        if (known !== undefined && known !== 0) return known;
        const id = mailAt.get(position) as number;
        kept.mailIds[position] = id;
        return id;
      },
    };
  };
}

/** What begins like a token of `parties`, whatever the stemmer would take off its end. */
const LIKE_A_PARTY = /\b(?:in|from|to)\d/;

/** Who the mail has to do with; empty where that is open. */
function partiesExpression({ inboxId, namedId, fromIds, toIds }: MailFilter): string {
  const filters: string[] = [];
  if (namedId !== undefined) filters.push(`(${PARTY.from(namedId)} OR ${PARTY.to(namedId)})`);
  if (inboxId !== null) filters.push(PARTY.in(inboxId));
  if (fromIds !== null) filters.push(`(${fromIds.map(PARTY.from).join(" OR ")})`);
  if (toIds !== null) filters.push(`(${toIds.map(PARTY.to).join(" OR ")})`);
  return filters.map((filter) => `parties : ${filter} AND `).join("");
}

/** The words in subject or body, narrowed by who the mail has to do with. */
function expressionOf(parties: string, words: string): string {
  // Looking which column a word stands in takes time; it is needed only where it might be taken for a token of `parties`.
  return LIKE_A_PARTY.test(words) ? `${parties}{subject body bigrams} : (${words})` : `${parties}(${words})`;
}
