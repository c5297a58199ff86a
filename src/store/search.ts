import { type MailFilter, openCandidates } from "./candidates.js";
import { allWordsExpression, contentTokens, termExpression, tokenize } from "./match.js";
import { COUNTED_TO, holds, type Nominee, nominate, spanOfAll, weigh } from "./nominees.js";
import { distinctTerms, type Occurrence, occurrenceFinder } from "./occurrences.js";
import type { Db } from "./open.js";
import { openPeriods, type Period } from "./period.js";
import { MAX_PER_WEIGHT, scoreMail } from "./rank.js";
import { snippet } from "./snippet.js";

export interface MailQuery {
  readonly words: string;
  /** Address ids, from the address book. Null: everybody's mail. */
  readonly inboxId: number | null;
  readonly fromIds: readonly number[] | null;
  readonly toIds: readonly number[] | null;
  readonly period: Period;
  readonly limit: number;
}

export interface MailHit {
  readonly mailId: number;
  readonly messageId: string;
  readonly subject: string;
  readonly sender: string;
  readonly date: string | null;
  readonly snippet: string;
  /** Whether the mail holds every word of the query, or was the best match on some. */
  readonly match: "all_words" | "best_match";
}

export interface MailHits {
  readonly hits: readonly MailHit[];
  /** Mails that hold every word, counted up to 1,000; or as many as are listed where best matches fill up. */
  readonly total: number;
}

export interface MailSearch {
  /** Mails with every word, newest first (ART's search). */
  newestFirst(query: MailQuery): readonly MailHit[];
  /** Mails with every word, best first; filled up by the best matches on any word. */
  bestFirst(query: MailQuery): MailHits;
}

/** Of the mails with every word, the newest so many compete for the first places. */
const ALL_WORDS_RANKED = 60;

/** Mails with every word are counted up to here: where there are more, nobody needs to know how many. */
const COUNTED = 1_000;

/** Bodies are ranked by their beginning: what a mail is about stands there, quoted mail behind it. */
const RANKED_REACH = 4_000;

/** Of a mail that is listed the body is searched this far for words not found so far; beyond it the mail's beginning is shown. */
const SHOWN_REACH = 60_000;

interface Row {
  readonly mailId: number;
  readonly subject: string;
  readonly sender: string;
  readonly date: string | null;
  readonly body: string;
}

/** A mail that was read for its score. What was found in it is kept for the snippet. */
interface Scored {
  readonly position: number;
  readonly score: number;
  readonly row: Row;
  readonly inSubject: readonly Occurrence[];
  /** In its beginning. */
  readonly inBody: readonly Occurrence[];
}

type Find = (text: string) => Occurrence[];

export const SEARCH_SQL = {
  read: `SELECT m.id AS mailId, m.subject, m.sender, m.date, m.body
         FROM mail_order o JOIN mails m ON m.id = o.mail_id WHERE o.position = ?`,
  messageId: "SELECT min(message_id) FROM messages WHERE mail_id = ?",
} as const;

export function openMailSearch(db: Db): MailSearch {
  const periods = openPeriods(db);
  const candidates = openCandidates(db);
  const read = db.prepare(SEARCH_SQL.read);
  const messageId = db.prepare(SEARCH_SQL.messageId).pluck();
  const filterOf = ({ inboxId, fromIds, toIds, period }: MailQuery): MailFilter => ({
    inboxId,
    fromIds,
    toIds,
    range: periods.positions(period),
  });
  const readAt = (position: number) => read.get(position) as Row;
  const toHit = (row: Row, inBody: readonly Occurrence[], match: MailHit["match"]): MailHit => {
    const { mailId, subject, sender, date, body } = row;
    const id = messageId.get(mailId) as string;
    return { mailId, messageId: id, subject, sender, date, snippet: snippet(body, inBody), match };
  };
  const scorer = (find: Find, weights: readonly number[]) => (position: number) => {
    const row = readAt(position);
    const body = row.body.slice(0, RANKED_REACH);
    const inSubject = find(row.subject);
    const inBody = find(body);
    return { position, row, inSubject, inBody, score: scoreMail({ body, inSubject, inBody }, weights) };
  };

  // Each in one transaction: an import that ends meanwhile lays the positions anew, and they would be those of other mails.
  // Of the forty statements of a search only the first then asks for SQLite's locks, and looks whether a page has changed.
  return {
    newestFirst: db.transaction((query: MailQuery) => {
      const words = allWordsExpression(query.words);
      if (words === null) return [];
      const find = occurrenceFinder(distinctTerms(tokenize(query.words)));
      return candidates.newest(words, filterOf(query), query.limit).map((position) => {
        const row = readAt(position);
        return toHit(row, find(row.body.slice(0, SHOWN_REACH)), "all_words");
      });
    }),

    bestFirst: db.transaction((query: MailQuery) => {
      const words = allWordsExpression(query.words);
      if (words === null) return { hits: [], total: 0 };
      const { limit } = query;
      const filter = filterOf(query);
      const terms = distinctTerms(contentTokens(query.words));
      const find = occurrenceFinder(terms);
      const lists = terms.map((term) => candidates.newest(termExpression(term), filter, COUNTED_TO));
      const weights = weigh(lists, candidates.mailsIn(query.inboxId));
      const range = spanOfAll(lists, filter.range);
      const matching = candidates.newest(words, { ...filter, range }, COUNTED);
      const all = matching.slice(0, ALL_WORDS_RANKED);
      const scoreAt = scorer(find, weights);
      const whole = weights.reduce((sum, weight) => sum + weight, 0);
      const first = best(
        all.map((position) => ({ position, weight: whole })),
        limit,
        scoreAt,
      );
      const have = new Set(all);
      const others = all.length < limit ? nominate(lists, weights, limit).filter((one) => !have.has(one.position)) : [];
      const rest = best(others, limit - first.length, scoreAt);
      const listed = (match: MailHit["match"]) => (one: Scored) =>
        toHit(one.row, holdsMore(one, lists) ? find(one.row.body.slice(0, SHOWN_REACH)) : one.inBody, match);
      const hits = [...first.map(listed("all_words")), ...rest.map(listed("best_match"))];
      return { hits, total: Math.max(matching.length, hits.length) };
    }),
  };
}

/** Whether the mail holds a word, by the lists of those that do, that was not found in its subject or its beginning. */
function holdsMore({ position, row, inSubject, inBody }: Scored, lists: readonly (readonly number[])[]): boolean {
  const isFound = (term: number) => [inBody, inSubject].some((found) => found.some((one) => one.term === term));
  return row.body.length > RANKED_REACH && lists.some((list, term) => !isFound(term) && holds(list, position));
}

/**
 * The `wanted` best of the nominees, heaviest first, by their scores; the newer of two that score the same. Mails that cannot be
 * among them any more are not read.
 */
function best(nominees: readonly Nominee[], wanted: number, scoreAt: (position: number) => Scored): Scored[] {
  const found: Scored[] = [];
  for (const { position, weight } of nominees) {
    const worst = found.length < wanted ? undefined : found.at(-1);
    if (worst !== undefined && weight * MAX_PER_WEIGHT < worst.score) break;
    const one = scoreAt(position);
    const at = found.findIndex(
      (other) => other.score < one.score || (other.score === one.score && other.position > position),
    );
    found.splice(at === -1 ? found.length : at, 0, one);
    if (found.length > wanted) found.pop();
  }
  return found;
}
