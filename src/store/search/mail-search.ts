import { insertTopK } from "../../platform/top-k.js";
import type { Db } from "../connection/open-store.js";
import { BM25_TF_UPPER_BOUND, bm25f } from "./bm25f.js";
import { type Candidate, generateCandidates } from "./candidate-generation.js";
import { type DateRange, openDateRanges } from "./date-range.js";
import { type FtsPostings, type MailFilter, openPostings } from "./fts-postings.js";
import { allWordsExpression, contentTokens, queryTokens } from "./fts-query.js";
import { hasPosting, idfWeights, intersectionRange, type PostingLists, termsAt } from "./posting-lists.js";
import { snippet } from "./snippet.js";
import { distinctTerms, type FindTermMatches, type TermMatch, termMatcher } from "./term-matches.js";

export interface MailQuery {
  readonly words: string;
  /** Address ids, from the address book. Null: any. */
  readonly inboxId: number | null;
  readonly fromIds: readonly number[] | null;
  readonly toIds: readonly number[] | null;
  readonly period: DateRange;
  readonly limit: number;
}

export interface MailHit {
  readonly mailId: number;
  readonly messageId: string;
  readonly subject: string;
  readonly sender: string;
  readonly date: string | null;
  readonly snippet: string;
  /** Whether the mail holds every word of the query, or some of them. */
  readonly match: "all_words" | "best_match";
}

export interface MailHits {
  readonly hits: readonly MailHit[];
  /** Mails that hold every word, counted up to 1,000; at least the number of hits. */
  readonly total: number;
}

export interface MailSearch {
  /** Mails with every word, newest first (ART's search). */
  newestFirst(query: MailQuery): readonly MailHit[];
  /** Mails with every word, best first; filled up by the best matches on any word. */
  bestFirst(query: MailQuery): MailHits;
}

/** The newest so many of the mails with every word are ranked. */
const MAX_ALL_WORDS_RANKED = 60;

/** Mails with every word are counted up to this. */
const ALL_WORDS_COUNT_LIMIT = 1_000;

/** Characters of a body that are ranked: the subject matter is at the start, quoted mail follows. */
const RANKED_BODY_CHARS = 4_000;

/**
 * Characters of a hit's body searched for a snippet; without a match in them the snippet is the start of the body.
 */
const SNIPPET_BODY_CHARS = 60_000;

/** The columns that ranking reads. */
type RankedRow = readonly [mailId: number, subject: string, body: string];

/** The columns read for hits only. */
type ListedRow = readonly [messageId: string, sender: string, date: string | null];

/** A ranked mail with its term matches, which the snippet reuses. */
interface Scored {
  readonly position: number;
  readonly score: number;
  readonly mail: RankedRow;
  /** Indices of the terms it holds or may hold. */
  readonly terms: readonly number[];
  readonly inSubject: readonly TermMatch[];
  /** In the ranked part of the body. */
  readonly inBody: readonly TermMatch[];
}

export const SEARCH_SQL = {
  ranked: "SELECT id, subject, body FROM mails WHERE id = ?",
  listed: `SELECT (SELECT min(message_id) FROM messages WHERE mail_id = m.id), m.sender, m.date
           FROM mails m WHERE m.id = ?`,
} as const;

export function openMailSearch(db: Db): MailSearch {
  const dateRanges = openDateRanges(db);
  const postingsFor = openPostings(db);
  // Raw rows: building an object takes longer than reading the row.
  const selectRanked = db.prepare(SEARCH_SQL.ranked).raw();
  const selectListed = db.prepare(SEARCH_SQL.listed).raw();
  const filterOf = ({ inboxId, fromIds, toIds, period }: MailQuery): MailFilter => ({
    inboxId,
    fromIds,
    toIds,
    range: dateRanges.positions(period),
  });
  const readAt = (candidates: FtsPostings, position: number) =>
    selectRanked.get(candidates.mailAt(position)) as RankedRow;
  const toHit = (
    [mailId, subject, body]: RankedRow,
    inBody: readonly TermMatch[],
    match: MailHit["match"],
  ): MailHit => {
    const [messageId, sender, date] = selectListed.get(mailId) as ListedRow;
    return { mailId, messageId, subject, sender, date, snippet: snippet(body, inBody), match };
  };
  const scorer =
    (candidates: FtsPostings, find: FindTermMatches, lists: PostingLists, weights: readonly number[]) =>
    (position: number) => {
      const mail = readAt(candidates, position);
      const [, subject, whole] = mail;
      const body = whole.slice(0, RANKED_BODY_CHARS);
      const terms = termsAt(lists, position);
      const inSubject = find(subject, terms);
      const inBody = find(body, terms);
      return { position, mail, terms, inSubject, inBody, score: bm25f({ body, inSubject, inBody }, weights) };
    };

  // One transaction per search: an import that commits in between renumbers the positions. It also saves the locks and
  // the page cache checks of all but the first of some forty statements.
  return {
    newestFirst: db.transaction((query: MailQuery) => {
      const words = allWordsExpression(query.words);
      if (words === null) return [];
      const find = termMatcher(distinctTerms(queryTokens(query.words)));
      const filter = filterOf(query);
      const postings = postingsFor(filter);
      return postings.newestMatching(words, filter.range, query.limit).map((position) => {
        const mail = readAt(postings, position);
        return toHit(mail, find(snippetSource(mail)), "all_words");
      });
    }),

    bestFirst: db.transaction((query: MailQuery) => {
      const words = allWordsExpression(query.words);
      if (words === null) return { hits: [], total: 0 };
      const { limit } = query;
      const filter = filterOf(query);
      const terms = distinctTerms(contentTokens(query.words));
      const find = termMatcher(terms);
      const candidates = postingsFor(filter);
      const lists = terms.map((term) => candidates.postingsOf(term));
      const weights = idfWeights(lists, candidates.mailboxSize);
      const matching = candidates.newestMatching(words, intersectionRange(lists, filter.range), ALL_WORDS_COUNT_LIMIT);
      const allWords = matching.slice(0, MAX_ALL_WORDS_RANKED);
      const scoreAt = scorer(candidates, find, lists, weights);
      const totalWeight = weights.reduce((sum, weight) => sum + weight, 0);
      const allWordsBest = rankBest(
        allWords.map((position) => ({ position, weight: totalWeight })),
        limit,
        scoreAt,
      );
      const allWordsPositions = new Set(allWords);
      const otherCandidates =
        allWords.length < limit
          ? generateCandidates(lists, weights, limit).filter((one) => !allWordsPositions.has(one.position))
          : [];
      const anyWordBest = rankBest(otherCandidates, limit - allWordsBest.length, scoreAt);
      const toHitFromScore = (match: MailHit["match"]) => (one: Scored) =>
        toHit(one.mail, hasUnlocatedTerm(one, lists) ? find(snippetSource(one.mail), one.terms) : one.inBody, match);
      const hits = [...allWordsBest.map(toHitFromScore("all_words")), ...anyWordBest.map(toHitFromScore("best_match"))];
      return { hits, total: Math.max(matching.length, hits.length) };
    }),
  };
}

function snippetSource([, , body]: RankedRow): string {
  return body.slice(0, SNIPPET_BODY_CHARS);
}

/**
 * Whether a posting list has the mail for a term that was not found in its subject or in the ranked part of its body.
 */
function hasUnlocatedTerm({ position, mail, terms, inSubject, inBody }: Scored, lists: PostingLists): boolean {
  const [, , body] = mail;
  const isFound = (term: number) => [inBody, inSubject].some((found) => found.some((one) => one.term === term));
  return (
    body.length > RANKED_BODY_CHARS && terms.some((term) => !isFound(term) && hasPosting(lists[term] ?? [], position))
  );
}

/**
 * The `wanted` best candidates by score, of equal ones the newer. Candidates come by descending weight; once the
 * upper bound of a score is below the worst hit, the rest is not read.
 */
function rankBest(candidates: readonly Candidate[], wanted: number, scoreAt: (position: number) => Scored): Scored[] {
  const found: Scored[] = [];
  for (const { position, weight } of candidates) {
    const worst = found.length < wanted ? undefined : found.at(-1);
    if (worst !== undefined && weight * BM25_TF_UPPER_BOUND < worst.score) break;
    insertTopK(found, scoreAt(position), wanted, isBetter);
  }
  return found;
}

function isBetter(a: Scored, b: Scored): boolean {
  return a.score > b.score || (a.score === b.score && a.position < b.position);
}
