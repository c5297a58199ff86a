import type { Db } from "../store/open-store.js";
import { distinctTerms, snippet, type TermMatch, termMatcher } from "./search-matches.js";
import {
  type FtsPostings,
  hasPosting,
  idfWeights,
  intersectionRange,
  type MailFilter,
  openPostings,
  type PostingLists,
} from "./search-postings.js";
import {
  allWordsExpression,
  contentTokens,
  type DateRange,
  MAX_QUERY_CHARS,
  openDateRanges,
  queryTokens,
} from "./search-query.js";
import {
  detectSignals,
  explainScore,
  generateCandidates,
  impliedTerms,
  RANKED_BODY_CHARS,
  type RankedRow,
  type Ranking,
  rankCandidates,
  type ScoredMail,
  type ScoreExplanation,
  scoreBound,
  scoreMail,
} from "./search-ranking.js";
import { RANKING_SIGNALS } from "./search-signals.js";
import { type CorrectedTerms, correctTerms, TERM_CORRECTORS, type TermCorrection } from "./search-spelling.js";

export interface MailQuery {
  readonly words: string;
  /** Address ids, from the address book. Null: any. */
  readonly inboxId: number | null;
  readonly fromIds: readonly number[] | null;
  readonly toIds: readonly number[] | null;
  readonly period: DateRange;
  readonly limit: number;
  /** When the question is asked (ISO 8601 UTC), to rank mail sent shortly before higher; null: not known. */
  readonly askedAt: string | null;
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

export interface ExplainedHit extends MailHit {
  readonly explanation: ScoreExplanation;
}

export interface MailHits<Hit = MailHit> {
  readonly hits: readonly Hit[];
  /** Mails that hold every word, counted up to 1,000; at least the number of hits. */
  readonly total: number;
}

export interface ExplainedHits extends MailHits<ExplainedHit> {
  /** The words in no mail, and what was searched for instead. */
  readonly corrections: readonly TermCorrection[];
}

export interface MailSearch {
  /** Mails with every word, newest first (ART's search). */
  newestFirst(query: MailQuery): readonly MailHit[];
  /** Mails with every word, best first; filled up by the best matches on any word. */
  bestFirst(query: MailQuery): MailHits;
  /** The hits of `bestFirst`, each with its score explained. */
  explainBestFirst(query: MailQuery): ExplainedHits;
}

/** The newest so many of the mails with every word are ranked. */
const MAX_ALL_WORDS_RANKED = 60;

/** Mails with every word are counted up to this. */
const ALL_WORDS_COUNT_LIMIT = 1_000;

/**
 * Characters of a hit's body searched for a snippet; without a match in them the snippet is the start of the body.
 */
const SNIPPET_BODY_CHARS = 60_000;

type ListedRow = readonly [messageId: string];

interface RankedHits {
  readonly ranking: Ranking;
  readonly corrections: readonly TermCorrection[];
  readonly best: readonly { readonly scored: ScoredMail; readonly match: MailHit["match"] }[];
  readonly total: number;
}

export const SEARCH_SQL = {
  ranked: "SELECT id, subject, body, sender, recipients, date FROM mails WHERE id = ?",
  listed: "SELECT min(message_id) FROM messages WHERE mail_id = ?",
} as const;

/** `signals` and `correctors` are those to use, so that one can be left out to measure it. */
export function openMailSearch(db: Db, signals = RANKING_SIGNALS, correctors = TERM_CORRECTORS): MailSearch {
  const dateRanges = openDateRanges(db);
  const postingsFor = openPostings(db);
  const selectAddress = db.prepare("SELECT address FROM addresses WHERE id = ?").pluck();
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
    [mailId, subject, body, sender, , date]: RankedRow,
    inBody: readonly TermMatch[],
    match: MailHit["match"],
  ): MailHit => {
    const [messageId] = selectListed.get(mailId) as ListedRow;
    return { mailId, messageId, subject, sender, date, snippet: snippet(body, inBody), match };
  };

  const correct = (words: string, filter: MailFilter, candidates: FtsPostings): CorrectedTerms => {
    const terms = distinctTerms(contentTokens(words));
    const lists = terms.map((term) => candidates.postingsOf(term));
    return correctTerms({ words, terms, lists }, correctors, {
      searched: candidates,
      filter,
      postingsFor,
      textAt: (position) => rankedText(readAt(candidates, position)),
    });
  };

  const openRanking = (query: MailQuery, corrected: CorrectedTerms, candidates: FtsPostings): Ranking => {
    const { words, terms, lists } = corrected;
    const owner = query.inboxId === null ? null : (selectAddress.get(query.inboxId) as string);
    return {
      terms,
      lists,
      weights: idfWeights(lists, candidates.mailboxSize),
      find: termMatcher(terms),
      signals: detectSignals(signals, { words: words.slice(0, MAX_QUERY_CHARS), owner, askedAt: query.askedAt }),
    };
  };

  const rank = (query: MailQuery): RankedHits | null => {
    const words = allWordsExpression(query.words);
    if (words === null) return null;
    const { limit } = query;
    const filter = filterOf(query);
    const candidates = postingsFor(filter);
    const corrected = correct(query.words, filter, candidates);
    const ranking = openRanking(query, corrected, candidates);
    const { lists, weights } = ranking;
    const matching = candidates.newestMatching(words, intersectionRange(lists, filter.range), ALL_WORDS_COUNT_LIMIT);
    const allWords = matching.slice(0, MAX_ALL_WORDS_RANKED);
    const bound = scoreBound(ranking, dateRanges.positions);
    const scoreAt = (position: number) => scoreMail(ranking, position, readAt(candidates, position));
    const totalWeight = weights.reduce((sum, weight) => sum + weight, 0);
    const allWordsBest = rankCandidates(
      allWords.map((position) => ({ position, weight: totalWeight })),
      limit,
      bound,
      scoreAt,
    );
    const allWordsPositions = new Set(allWords);
    const otherCandidates =
      allWords.length < limit
        ? generateCandidates(lists, weights, limit, impliedTerms(ranking, dateRanges.positions)).filter(
            ({ position }) => !allWordsPositions.has(position),
          )
        : [];
    const anyWordBest = rankCandidates(otherCandidates, limit - allWordsBest.length, bound, scoreAt);
    const best = [
      ...allWordsBest.map((scored) => ({ scored, match: "all_words" as const })),
      ...anyWordBest.map((scored) => ({ scored, match: "best_match" as const })),
    ];
    return { ranking, corrections: corrected.corrections, best, total: Math.max(matching.length, best.length) };
  };
  const toBestHit = ({ lists, find }: Ranking, { scored, match }: RankedHits["best"][number]) => {
    const inBody = hasUnlocatedTerm(scored, lists) ? find(snippetSource(scored.mail), scored.terms) : scored.inBody;
    return toHit(scored.mail, inBody, match);
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

    // The same question is asked again by the next agent, and in the next epoch.
    bestFirst: db.transaction((query: MailQuery) =>
      postingsFor(filterOf(query)).remember(JSON.stringify(query), () => {
        const ranked = rank(query);
        if (ranked === null) return { hits: [], total: 0 };
        return { hits: ranked.best.map((one) => toBestHit(ranked.ranking, one)), total: ranked.total };
      }),
    ),

    explainBestFirst: db.transaction((query: MailQuery) => {
      const ranked = rank(query);
      if (ranked === null) return { hits: [], total: 0, corrections: [] };
      const hits = ranked.best.map((one) => ({
        ...toBestHit(ranked.ranking, one),
        explanation: explainScore(one.scored, ranked.ranking),
      }));
      return { hits, total: ranked.total, corrections: ranked.corrections };
    }),
  };
}

function rankedText([, subject, body]: RankedRow): string {
  return `${subject}\n${body.slice(0, RANKED_BODY_CHARS)}`;
}

function snippetSource([, , body]: RankedRow): string {
  return body.slice(0, SNIPPET_BODY_CHARS);
}

/**
 * Whether a posting list has the mail for a term that was not found in its subject or in the ranked part of its body.
 */
function hasUnlocatedTerm({ position, mail, terms, inSubject, inBody }: ScoredMail, lists: PostingLists): boolean {
  const [, , body] = mail;
  const isFound = (term: number) => [inBody, inSubject].some((found) => found.some((one) => one.term === term));
  return (
    body.length > RANKED_BODY_CHARS && terms.some((term) => !isFound(term) && hasPosting(lists[term] ?? [], position))
  );
}
