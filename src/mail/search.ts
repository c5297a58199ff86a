// email_search: parses the query, ranks one mailbox up to a date, and adds snippets.
import { compact } from "../platform/optional-values.js";
import type { Db } from "../store/open-store.js";
import { stemOf } from "../text/porter.js";
import { type DateRange, openDateRanges, type PositionRange } from "./date-range.js";
import { contentTokens, MAX_QUERY_CHARS, quotedPhrases, tokenize } from "./fts5-query.js";
import type { PositionSet } from "./search/mailbox-positions.js";
import { distinctTerms, snippet, type TermMatch, termMatcher } from "./search/matches.js";
import { openSearchIndex, type SearchIndex } from "./search/postings.js";
import { openSpellings, plainQuery } from "./search/query-expansion.js";
import {
  explainScore,
  hasPosition,
  mergePostings,
  placeAmong,
  type RankedMail,
  type RankedMails,
  type RankedQuery,
  rankMails,
  type ScoreExplanation,
  type Term,
} from "./search/ranking.js";
import { namedMonths } from "./search/signals.js";
import { correctTerms, TERM_CORRECTORS, type TermCorrection } from "./search/spelling.js";

export type { ScoreExplanation } from "./search/ranking.js";
export type { TermCorrection } from "./search/spelling.js";

export interface MailQuery {
  readonly words: string;
  /** Id of the mailbox's address, or null for all mail. */
  readonly inboxId: number | null;
  readonly fromIds: readonly number[] | null;
  readonly toIds: readonly number[] | null;
  readonly period: DateRange;
  readonly limit: number;
  /** Time of the question (ISO 8601 UTC), or null if unknown. Mail sent shortly before it ranks higher. */
  readonly askedAt: string | null;
}

export interface MailHit {
  readonly mailId: number;
  readonly messageId: string;
  readonly subject: string;
  readonly sender: string;
  readonly date: string | null;
  readonly snippet: string;
  /** Whether the email contains every content word of the query or only some. */
  readonly match: "all_words" | "best_match";
}

interface ExplainedHit extends MailHit {
  readonly explanation: ScoreExplanation;
}

interface MailHits<Hit = MailHit> {
  readonly hits: readonly Hit[];
  /** Number of emails that contain every content word. Never less than the number of hits. */
  readonly total: number;
}

interface ExplainedHits extends MailHits<ExplainedHit> {
  /** Query words that occur in no email, and their replacements. */
  readonly corrections: readonly TermCorrection[];
}

/** An email that the index does not contain. */
type OutsideMail = Pick<MailHit, "messageId" | "subject" | "sender"> & {
  readonly date: string;
  readonly body: string;
};

/** A hit of an email that the index does not contain, and the number of indexed emails that rank before it. */
interface PlacedHit extends Omit<MailHit, "mailId"> {
  readonly place: number;
}

export interface MailSearch {
  /**
   * Returns the emails that contain any word of the query, best first. A query without words returns all emails that
   * pass its filters, newest first. The first n hits do not depend on the limit.
   */
  bestFirst(query: MailQuery): MailHits;
  /** Returns the emails that contain any word of the query as hits, each at the place where it would rank. */
  placed(query: MailQuery, mails: readonly OutsideMail[]): readonly PlacedHit[];
  /** Returns the hits of `bestFirst` with an explanation of each score. */
  explainBestFirst(query: MailQuery): ExplainedHits;
}

/** Number of body characters searched for a snippet. If they contain no match, the snippet is the start of the body. */
const SNIPPET_BODY_CHARS = 60_000;

type HitRow = readonly [mailId: number, subject: string, body: string, sender: string, date: string | null];

export const SEARCH_SQL = {
  hit: `SELECT m.id, m.subject, m.body, m.sender, m.date
        FROM mail_order o JOIN mails m ON m.id = o.mail_id WHERE o.position = ?`,
  messageId: "SELECT min(message_id) FROM messages WHERE mail_id = ?",
  oldest: "SELECT date FROM mail_order WHERE date >= '' ORDER BY date LIMIT 1",
  newest: "SELECT date FROM mail_order WHERE date >= '' ORDER BY date DESC LIMIT 1",
} as const;

/** A corrected query and its ranking input. */
interface PreparedQuery {
  readonly ranked: RankedQuery;
  readonly corrections: readonly TermCorrection[];
  /** Returns the alternative spellings of a word. An email with any of them counts as containing the word. */
  readonly spellingsOf: ReturnType<typeof openSpellings>;
}

/**
 * If this many emails in a mailbox contain a word, it is written as one word there. Looking up its possible splits
 * would take most of the time of a search with a cold cache.
 */
const FREQUENT_EMAILS = 20;

/** Opens the search. `correctors` is a parameter so that each corrector's effect can be measured. */
export function openMailSearch(db: Db, correctors = TERM_CORRECTORS): MailSearch {
  const dateRanges = openDateRanges(db);
  const indexNow = openSearchIndex(db);
  // Raw rows, because building an object takes longer than reading the row.
  const selectHit = db.prepare(SEARCH_SQL.hit).raw();
  const selectMessageId = db.prepare(SEARCH_SQL.messageId).pluck();
  const selectOldest = db.prepare(SEARCH_SQL.oldest).pluck();
  const selectNewest = db.prepare(SEARCH_SQL.newest).pluck();

  const readAt = (position: number) => selectHit.get(position) as HitRow;

  const monthsOf = (words: string) => {
    const [oldest, newest] = [selectOldest.get(), selectNewest.get()] as [string | undefined, string | undefined];
    if (oldest === undefined || newest === undefined) return [];
    const [from, to] = [oldest, newest].map((date) => Number(date.slice(0, 4))) as [number, number];
    const first = Math.max(from, to - MAX_YEARS);
    const years = Array.from({ length: to - first + 1 }, (_, i) => to - i);
    return namedMonths(words, years).map(({ period, words: implied }) => ({
      range: dateRanges.positions(period),
      words: implied,
    }));
  };

  const prepare = (query: MailQuery, index: SearchIndex): PreparedQuery => {
    const { inboxId, fromIds, toIds, askedAt, limit } = query;
    const range = dateRanges.positions(query.period);
    const filters = compact([
      fromIds !== null && index.mail.withParty(fromIds, "sender"),
      toIds !== null && index.mail.withParty(toIds, "recipient"),
    ]);
    const queryText = query.words.slice(0, MAX_QUERY_CHARS);
    const text = plainQuery(queryText);
    const typed = distinctTerms(contentTokens(text));
    const spellingsOf = openSpellings(queryText);
    const postingsOf = (word: string) => {
      const asTyped = index.postingsOf(word, inboxId);
      const spellings = spellingsOf(word, asTyped.rowids.length >= FREQUENT_EMAILS);
      // Do not add the counts, because an occurrence of "Müller" is indexed both as "muller" and as "mueller".
      return mergePostings(asTyped, index.postingsOfAny(spellings, inboxId), Math.max);
    };
    const { words, terms, corrections } = correctTerms(text, typed, correctors, {
      isKnown: (term) => postingsOf(term).rowids.some((position) => position >= range.first),
      mailsWith: (term) => positionsIn(postingsOf(term).rowids, range, filters),
      isIndexed: index.isIndexed,
      textAt: (position) => {
        const [, subject, body] = readAt(position);
        return `${subject}\n${body.slice(0, CORRECTION_BODY_CHARS)}`;
      },
    });
    const stems = tokenize(text).map(stemOf);
    const timesTyped = (term: string) => Math.max(1, stems.filter((stem) => stem === stemOf(term)).length);
    const ranked = {
      terms: [
        ...terms.map((word, i) => ({ word, weight: timesTyped(typed[i] as string), postings: postingsOf(word) })),
        ...quotedPhrases(text).map((phrase) => ({ word: phrase, weight: 1, postings: postingsOf(phrase) })),
      ],
      mailbox: index.mail.mailbox(inboxId),
      range,
      filters,
      months: monthsOf(words.slice(0, MAX_QUERY_CHARS)),
      askedAt: askedAt === null ? null : Date.parse(askedAt) / 1_000,
      limit,
    };
    return { ranked, corrections, spellingsOf };
  };

  const openHits = ({ ranked, corrections, spellingsOf }: PreparedQuery) => {
    const { terms } = ranked;
    const find = termMatcher(terms.map(({ word }) => word));
    return ({ position, hasAllTerms }: Pick<RankedMail, "position" | "hasAllTerms">): MailHit => {
      const [mailId, subject, body, sender, date] = readAt(position);
      const text = body.slice(0, SNIPPET_BODY_CHARS);
      const asTyped = find(text);
      const exactTerms = new Set(asTyped.map(({ term }) => term));
      const others = terms.filter(({ postings }, term) => !exactTerms.has(term) && hasPosition(postings, position));
      const inBody =
        others.length === 0
          ? asTyped
          : [...asTyped, ...findSpellings(text, others, terms.length, spellingsOf)].sort((a, b) => a.start - b.start);
      const messageId = selectMessageId.get(mailId) as string;
      const match = hasAllTerms && corrections.length === 0 ? "all_words" : "best_match";
      return { mailId, messageId, subject, sender, date, snippet: snippet(body, inBody), match };
    };
  };

  // No email contains all the typed words if one was corrected.
  const totalOf = ({ corrections }: PreparedQuery, { best, withAllTerms }: RankedMails) =>
    Math.max(corrections.length === 0 ? withAllTerms : 0, best.length);

  // One transaction per search, because an import that commits in between renumbers the positions. It also avoids the
  // locks and page cache checks for all but the first of about forty statements.
  return {
    // Other agents and other epochs often repeat the same query.
    bestFirst: db.transaction((query: MailQuery) => {
      const index = indexNow();
      return index.remember(JSON.stringify(query), () => {
        const prepared = prepare(query, index);
        if (isList(query)) {
          const listed = listedPositions(prepared.ranked);
          const newest = listed.slice(0, query.limit).map((position) => ({ position, hasAllTerms: true }));
          return { hits: newest.map(openHits(prepared)), total: listed.length };
        }
        const ranking = rankMails(prepared.ranked, index.mail);
        return { hits: ranking.best.map(openHits(prepared)), total: totalOf(prepared, ranking) };
      });
    }),

    placed: db.transaction((query: MailQuery, mails: readonly OutsideMail[]) => {
      const index = indexNow();
      const { ranked, corrections } = prepare(query, index);
      const positionAt = (date: string) => dateRanges.positions({ after: date, before: null }).last + 1;
      if (isList(query)) {
        const listed = listedPositions(ranked);
        return mails.map(({ body, ...mail }): PlacedHit => {
          const place = listed.filter((position) => position < positionAt(mail.date)).length;
          return { ...mail, place, snippet: snippet(body, []), match: "all_words" };
        });
      }
      const { best } = rankMails(ranked, index.mail);
      const find = termMatcher(ranked.terms.map(({ word }) => word));
      return mails.flatMap(({ body, ...mail }): PlacedHit[] => {
        const matches = find(`${mail.subject}\n${mail.sender}\n${body}`);
        if (matches.length === 0) return [];
        const occurrences = ranked.terms.map((_, i) => matches.filter(({ term }) => term === i).length);
        const place = placeAmong(
          best,
          {
            occurrences,
            bytes: Buffer.byteLength(mail.subject + body),
            sentAt: Date.parse(mail.date) / 1_000,
            position: positionAt(mail.date),
          },
          ranked,
        );
        const match = corrections.length === 0 && !occurrences.includes(0) ? "all_words" : "best_match";
        return [{ ...mail, place, snippet: snippet(body, find(body)), match }];
      });
    }),

    explainBestFirst: db.transaction((query: MailQuery) => {
      const index = indexNow();
      const prepared = prepare(query, index);
      const ranking = rankMails(prepared.ranked, index.mail);
      const toHit = openHits(prepared);
      const hits = ranking.best.map((one) => ({
        ...toHit(one),
        explanation: explainScore(one, prepared.ranked, index.mail),
      }));
      return { hits, total: totalOf(prepared, ranking), corrections: prepared.corrections };
    }),
  };
}

/** Whether a query has no words, so that it lists emails instead of searching. */
function isList({ words }: MailQuery): boolean {
  return words.trim() === "";
}

/** Returns the positions of all emails that pass the filters of a query, newest first. */
function listedPositions({ mailbox, range, filters }: RankedQuery): number[] {
  return positionsIn(mailbox.positions, range, filters);
}

/** Finds the words that an email contains only in a different spelling. */
function findSpellings(
  text: string,
  words: readonly Term[],
  firstIndex: number,
  spellingsOf: PreparedQuery["spellingsOf"],
): TermMatch[] {
  return words.flatMap(({ word }, i) =>
    termMatcher(spellingsOf(word, false))(text).map((match) => ({ ...match, term: firstIndex + i })),
  );
}

/** A month without a year can be in the year of the newest email or in this many years before it. */
const MAX_YEARS = 50;

/** Number of body characters searched for the written form of a corrected word. */
const CORRECTION_BODY_CHARS = 8_000;

function positionsIn(rowids: Int32Array, { first, last }: PositionRange, filters: readonly PositionSet[]): number[] {
  const isListed = (position: number) =>
    position >= first && position <= last && filters.every((filter) => filter.has(position));
  return [...rowids.filter(isListed)];
}
