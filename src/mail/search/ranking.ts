// Ranks the emails that contain any term by their BM25 score over the entire email, with an increase that depends on
// the date. No email is dropped before scoring. The best are then scored again if the query turns out to be broad, so
// the first n results do not depend on the limit.
import { TopK } from "../../platform/top-k.js";
import { ALL_POSITIONS, type PositionRange } from "../date-range.js";
import type { TermPostings } from "./fts5-postings.js";
import type { PositionSet, SearchableMail } from "./mailbox-positions.js";
import { NAMED_MONTH_RAISE, RECENCY_RAISE, recencyRaise } from "./signals.js";

/** Saturation and length normalization of BM25 (Robertson and Zaragoza, 2009). */
const K1 = 1.2;
const B = 0.75;

/** Average email length in UTF-8 bytes. A constant, so that other people's mail does not change a ranking. */
const AVERAGE_BYTES = 1_600;

/** Exponents of BM25's two parts. Plain BM25 has 1 for both. */
interface Weighting {
  /** Exponent of an email's length relative to the average. Below 1, long emails lose less. */
  readonly length: number;
  /** Exponent of a word's inverse document frequency. Above 1, rare words count more. */
  readonly idf: number;
}

/** For a query that singles out one email: a short email that contains the words is probably the one. */
const SPECIFIC: Weighting = { length: 1, idf: 1 };

/** For a broad query, such as a topic that many emails are about: long emails are as relevant as short ones. */
const BROAD: Weighting = { length: 0.75, idf: 1.5 };

/**
 * A query is broad if the ten best emails contain most of it. Below the first value, a query is specific, and above the
 * second, it is broad. Fitted on topical queries with human judgments and on the tuning half of fixtures/search.
 */
const BREADTH: readonly [specific: number, broad: number] = [0.3, 0.7];
const BREADTH_DEPTH = 10;

/**
 * Minimum breadth of a query without the date of a question. A question about one email usually has a date, and a
 * search without one is more often for a topic.
 */
const UNDATED_BREADTH = 0.6;

/** Number of best emails that are scored again for a broad query. */
const RESCORED = 200;

export interface Term {
  readonly word: string;
  /** Number of times that the query contains the word. */
  readonly weight: number;
  readonly postings: TermPostings;
}

/** A period whose emails score higher. Each of its emails counts as containing the words once. */
interface RaisedPeriod {
  readonly range: PositionRange;
  readonly words: ReadonlySet<string>;
}

export interface RankedQuery {
  readonly terms: readonly Term[];
  readonly mailbox: PositionSet;
  readonly range: PositionRange;
  /** Sender and recipient filters. Only emails in all of them are returned. */
  readonly filters: readonly PositionSet[];
  readonly months: readonly RaisedPeriod[];
  /** Seconds since 1970, or null if unknown. */
  readonly askedAt: number | null;
  readonly limit: number;
}

export interface RankedMail {
  readonly position: number;
  readonly score: number;
  readonly weighting: Weighting;
  readonly hasAllTerms: boolean;
}

export interface RankedMails {
  /** Best first. If scores are equal, newest first. */
  readonly best: readonly RankedMail[];
  /** Number of emails that contain every term. */
  readonly withAllTerms: number;
}

export interface ScoreExplanation {
  readonly score: number;
  readonly words: readonly WordScore[];
  /** Score increases due to the date, as fractions. */
  readonly raises: DateRaises;
}

interface WordScore {
  readonly word: string;
  /** Inverse document frequency: how rare the word is in the mailbox. */
  readonly idf: number;
  /** Occurrences in subject, body and names. */
  readonly occurrences: number;
  readonly score: number;
}

interface DateRaises {
  readonly recency: number;
  readonly namedMonth: number;
}

/** A term's postings within the period and its inverse document frequency there. */
interface ScoredTerm extends Term, TermPostings {
  readonly first: number;
  readonly last: number;
  readonly idf: number;
}

export function rankMails(query: RankedQuery, mail: SearchableMail): RankedMails {
  const terms = query.terms.map((term) => scoredTerm(term, query));
  const { emails, withAllTerms } = rankAll(terms, query, mail);
  const breadth = Math.max(
    breadthOf(bestOf(emails, BREADTH_DEPTH), terms),
    query.askedAt === null ? UNDATED_BREADTH : 0,
  );
  if (breadth <= BREADTH[0]) return { best: bestOf(emails, query.limit), withAllTerms };
  const first = bestOf(emails, RESCORED, false);
  const best = rescored(first, weightingFor(breadth), terms, query, mail);
  const others = query.limit > RESCORED ? bestOf(emails, query.limit).slice(RESCORED) : [];
  return { best: [...best, ...others], withAllTerms };
}

/** Returns the best emails. Sorting all 200 that are scored again would take as long as scoring them. */
function bestOf(emails: readonly RankedMail[], limit: number, isSorted = true): readonly RankedMail[] {
  if (!isSorted && emails.length <= limit) return emails;
  const best = new TopK(limit, isBefore);
  for (const email of emails) best.add(email);
  return best.sorted();
}

/** Newest first if scores are equal, because positions are sorted newest first. */
function isBefore(a: RankedMail, b: RankedMail): boolean {
  return a.score > b.score || (a.score === b.score && a.position < b.position);
}

/** Returns the best emails, at least as many as are scored again, in any order. */
function rankAll(
  terms: readonly ScoredTerm[],
  query: RankedQuery,
  mail: SearchableMail,
): { readonly emails: readonly RankedMail[]; readonly withAllTerms: number } {
  const { scores, matched } = mail.scratch;
  for (const { rowids, counts, first, last, idf, weight } of terms) {
    for (let i = first; i < last; i++) {
      const position = rowids[i] as number;
      const length = (mail.bytes[position] as number) / AVERAGE_BYTES;
      scores[position] = (scores[position] as number) + weight * bm25(idf, counts[i] as number, length);
      matched[position] = (matched[position] as number) + 1;
    }
  }
  const maxRaise = maxRaiseOf(query);
  const best = new TopK(Math.max(query.limit, RESCORED), isBefore);
  let lowest = 0;
  let withAllTerms = 0;
  for (const positions of candidates(terms, query)) {
    for (let i = 0; i < positions.length; i++) {
      const position = positions[i] as number;
      const words = scores[position] as number;
      if (words === 0) continue;
      const hasAllTerms = matched[position] === terms.length;
      scores[position] = 0;
      matched[position] = 0;
      if (!isListed(position, query.filters)) continue;
      if (hasAllTerms) withAllTerms++;
      // Most emails in a large mailbox cannot be among the best, regardless of their date. Computing their raises would
      // take too long.
      if (words * maxRaise < lowest) continue;
      const score = words * raiseOf(position, query, mail);
      if (score < lowest) continue;
      best.add({ position, score, weighting: SPECIFIC, hasAllTerms });
      lowest = best.worst?.score ?? 0;
    }
  }
  return { emails: best.all, withAllTerms };
}

/** Returns lists with every email that contains a term: those of rare terms, or the mailbox, whichever is shorter. */
function candidates(terms: readonly ScoredTerm[], { mailbox, range }: RankedQuery): readonly Int32Array[] {
  const positions = within(mailbox.positions, range);
  const postings = sumOf(terms.map(({ first, last }) => last - first));
  return postings > positions.length
    ? [positions]
    : terms.map(({ rowids, first, last }) => rowids.subarray(first, last));
}

function isListed(position: number, filters: readonly PositionSet[]): boolean {
  for (const filter of filters) if (!filter.has(position)) return false;
  return true;
}

/** Scores emails again and returns them best first. */
function rescored(
  emails: readonly RankedMail[],
  weighting: Weighting,
  terms: readonly ScoredTerm[],
  query: RankedQuery,
  mail: SearchableMail,
): RankedMail[] {
  const idfs = terms.map(({ idf }) => idf ** weighting.idf);
  const best = new TopK(query.limit, isBefore);
  for (const { position, hasAllTerms } of emails) {
    const length = relativeLength(position, weighting, mail);
    let words = 0;
    for (let i = 0; i < terms.length; i++) {
      const term = terms[i] as ScoredTerm;
      const occurrences = occurrencesIn(position, term);
      if (occurrences > 0) words += term.weight * bm25(idfs[i] as number, occurrences, length);
    }
    const score = words * raiseOf(position, query, mail);
    if (score >= (best.worst?.score ?? 0)) best.add({ position, score, weighting, hasAllTerms });
  }
  return best.sorted();
}

/**
 * Returns the average fraction of a query that the ten best emails contain, from 0 to 1. Words count by their inverse
 * document frequency. It is low if fewer than ten emails contain any word.
 */
function breadthOf(best: readonly RankedMail[], terms: readonly ScoredTerm[]): number {
  const contained = best.flatMap(({ position }) =>
    terms.filter((term) => occurrencesIn(position, term) > 0).map(({ idf }) => idf),
  );
  const all = sumOf(terms.map(({ idf }) => idf)) * BREADTH_DEPTH;
  return all === 0 ? 0 : sumOf(contained) / all;
}

function weightingFor(breadth: number): Weighting {
  const [specific, broad] = BREADTH;
  const fraction = Math.min(1, Math.max(0, (breadth - specific) / (broad - specific)));
  const between = (from: number, to: number) => from + (to - from) * fraction;
  return { length: between(SPECIFIC.length, BROAD.length), idf: between(SPECIFIC.idf, BROAD.idf) };
}

/** Explains a score that `rankMails` returned for the same query. */
export function explainScore({ position, score, weighting }: RankedMail, query: RankedQuery, mail: SearchableMail) {
  const length = relativeLength(position, weighting, mail);
  const words = query.terms.map((term): WordScore => {
    const scored = scoredTerm(term, query);
    const idf = scored.idf ** weighting.idf;
    const occurrences = occurrencesIn(position, scored);
    return { word: term.word, idf, occurrences, score: term.weight * bm25(idf, occurrences, length) };
  });
  return {
    score,
    words,
    raises: dateRaises(position, mail.sentAt[position] as number, query),
  } satisfies ScoreExplanation;
}

/** An email that the index does not contain. */
export interface UnindexedMail {
  /** Occurrences of each term of the query, in order. */
  readonly occurrences: readonly number[];
  /** UTF-8 length of subject and body. */
  readonly bytes: number;
  /** Seconds since 1970. */
  readonly sentAt: number;
  /** The position at which its date would put it. */
  readonly position: number;
}

/** Returns the number of emails in `best` that rank before an email that the index does not contain. */
export function placeAmong(best: readonly RankedMail[], email: UnindexedMail, query: RankedQuery): number {
  const weighting = best[0]?.weighting ?? SPECIFIC;
  const length = (email.bytes / AVERAGE_BYTES) ** weighting.length;
  const words = query.terms.map((term, i) => {
    const occurrences = email.occurrences[i] ?? 0;
    const { idf } = scoredTerm(term, query);
    return occurrences === 0 ? 0 : term.weight * bm25(idf ** weighting.idf, occurrences, length);
  });
  const { recency, namedMonth } = dateRaises(email.position, email.sentAt, query);
  const score = sumOf(words) * (1 + recency) * (1 + namedMonth);
  return best.filter((other) => other.score > score).length;
}

function relativeLength(position: number, weighting: Weighting, mail: SearchableMail): number {
  return ((mail.bytes[position] as number) / AVERAGE_BYTES) ** weighting.length;
}

function sumOf(values: readonly number[]): number {
  return values.reduce((sum, value) => sum + value, 0);
}

function occurrencesIn(position: number, { rowids, counts, first, last }: ScoredTerm): number {
  const at = lowerBound(rowids, position);
  return at >= first && at < last && rowids[at] === position ? (counts[at] as number) : 0;
}

function scoredTerm(term: Term, { mailbox, range, months }: RankedQuery): ScoredTerm {
  const implied = months.filter(({ words }) => words.has(term.word));
  const { rowids, counts } = implied.reduce(
    (sum, month) => mergePostings(sum, once(within(mailbox.positions, month.range))),
    term.postings,
  );
  const first = lowerBound(rowids, range.first);
  const last = lowerBound(rowids, range.last + 1);
  return {
    ...term,
    rowids,
    counts,
    first,
    last,
    idf: idfOf(last - first, within(mailbox.positions, range).length),
  };
}

/** BM25's inverse document frequency in Lucene's form, which is never negative. */
function idfOf(emails: number, all: number): number {
  return Math.log(1 + (all - emails + 0.5) / (emails + 0.5));
}

/** @param length an email's length relative to the average */
function bm25(idf: number, occurrences: number, length: number): number {
  return (idf * occurrences * (K1 + 1)) / (occurrences + K1 * (1 - B + B * length));
}

/** Factor by which an email's date raises its score. */
function raiseOf(position: number, query: RankedQuery, mail: SearchableMail): number {
  const { recency, namedMonth } = dateRaises(position, mail.sentAt[position] as number, query);
  return (1 + recency) * (1 + namedMonth);
}

/** Maximum of `raiseOf` for a query. */
function maxRaiseOf({ askedAt, months }: RankedQuery): number {
  return (askedAt === null ? 1 : 1 + RECENCY_RAISE) * (months.length === 0 ? 1 : 1 + NAMED_MONTH_RAISE);
}

function dateRaises(position: number, sentAt: number, { months, askedAt }: RankedQuery): DateRaises {
  const isNamed = months.some(({ range }) => range.first <= position && position <= range.last);
  return {
    recency: askedAt === null ? 0 : recencyRaise(askedAt, sentAt),
    namedMonth: isNamed ? NAMED_MONTH_RAISE : 0,
  };
}

/** Returns postings with a count of one per row. */
export function once(rowids: Int32Array): TermPostings {
  return { rowids, counts: new Uint16Array(rowids.length).fill(1) };
}

/** Returns the union of two lists. `combine` receives both counts, or 0 if a list does not contain the row. */
export function mergePostings(
  a: TermPostings,
  b: TermPostings,
  combine = (left: number, right: number) => left + right,
): TermPostings {
  if (b.rowids.length === 0) return a;
  if (a.rowids.length === 0) return b;
  const rowids = new Int32Array(a.rowids.length + b.rowids.length);
  const counts = new Uint16Array(rowids.length);
  let length = 0;
  for (let i = 0, j = 0; i < a.rowids.length || j < b.rowids.length; length++) {
    const left = a.rowids[i] ?? Number.POSITIVE_INFINITY;
    const right = b.rowids[j] ?? Number.POSITIVE_INFINITY;
    rowids[length] = Math.min(left, right);
    const inLeft = left <= right ? (a.counts[i++] as number) : 0;
    const inRight = right <= left ? (b.counts[j++] as number) : 0;
    counts[length] = combine(inLeft, inRight);
  }
  return { rowids: rowids.subarray(0, length), counts: counts.subarray(0, length) };
}

export function hasPosition({ rowids }: TermPostings, position: number): boolean {
  return rowids[lowerBound(rowids, position)] === position;
}

/** Returns the positions of an ascending list that are within a range. */
export function within(positions: Int32Array, range: PositionRange): Int32Array {
  if (range === ALL_POSITIONS) return positions;
  return positions.subarray(lowerBound(positions, range.first), lowerBound(positions, range.last + 1));
}

/** Returns the index of the first entry that is not less than `position`. */
function lowerBound(list: Int32Array, position: number): number {
  let from = 0;
  let to = list.length;
  while (from < to) {
    const middle = (from + to) >>> 1;
    if ((list[middle] as number) < position) from = middle + 1;
    else to = middle;
  }
  return from;
}
