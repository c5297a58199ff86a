import { insertTopK } from "../../platform/top-k.js";
import { ALL_POSITIONS, type PositionRange } from "../date-range.js";
import type { PositionSet, SearchableMail } from "../mailbox-positions.js";
import type { TermPostings } from "./fts5-postings.js";
import { NAMED_MONTH_RAISE, RECENCY_RAISE, recencyRaise } from "./signals.js";

/**
 * Ranks every email that contains any term by its BM25 score over the entire email, with an increase that depends on
 * its date. No email is dropped before scoring, so the first n results do not depend on the limit.
 */

/** Saturation and length normalization of BM25 (Robertson and Zaragoza, 2009). */
const K1 = 1.2;
const B = 0.75;

/** Average email length in UTF-8 bytes. A constant, so that other people's mail does not change a ranking. */
const AVERAGE_BYTES = 1_600;

/** Maximum factor by which an email's date raises its score. */
const MAX_RAISE = (1 + RECENCY_RAISE) * (1 + NAMED_MONTH_RAISE);

export interface Term {
  readonly word: string;
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
interface ScoredTerm extends TermPostings {
  readonly first: number;
  readonly last: number;
  readonly idf: number;
}

export function rankMails(query: RankedQuery, mail: SearchableMail): RankedMails {
  const { terms, months, askedAt, limit } = query;
  const scored = terms.map((term) => scoredTerm(term, query));
  const { scores, matched } = mail.scratch;
  for (const { rowids, counts, first, last, idf } of scored) {
    for (let i = first; i < last; i++) {
      const position = rowids[i] as number;
      scores[position] = (scores[position] as number) + bm25(idf, counts[i] as number, mail.bytes[position] as number);
      matched[position] = (matched[position] as number) + 1;
    }
  }
  const best: RankedMail[] = [];
  let withAllTerms = 0;
  for (const position of within(query.mailbox.positions, query.range)) {
    const words = scores[position] as number;
    const hasAllTerms = matched[position] === terms.length;
    scores[position] = 0;
    matched[position] = 0;
    if (words === 0 || query.filters.some((filter) => !filter.has(position))) continue;
    if (hasAllTerms) withAllTerms++;
    // Positions are sorted newest first, so the newer email stays first if scores are equal.
    const lowest = best.length < limit ? 0 : (best[limit - 1] as RankedMail).score;
    // Most emails in a large mailbox cannot be among the best, regardless of their date. Computing their raises would
    // take too long.
    if (words * MAX_RAISE <= lowest) continue;
    const { recency, namedMonth } = dateRaises(position, months, askedAt, mail);
    const score = words * (1 + recency) * (1 + namedMonth);
    if (score > lowest) insertTopK(best, { position, score, hasAllTerms }, limit, (a, b) => a.score > b.score);
  }
  return { best, withAllTerms };
}

/** Explains a score that `rankMails` returned for the same query. */
export function explainScore({ position, score }: RankedMail, query: RankedQuery, mail: SearchableMail) {
  const words = query.terms.map((term): WordScore => {
    const { rowids, counts, first, last, idf } = scoredTerm(term, query);
    const at = lowerBound(rowids, position);
    const occurrences = at >= first && at < last && rowids[at] === position ? (counts[at] as number) : 0;
    return { word: term.word, idf, occurrences, score: bm25(idf, occurrences, mail.bytes[position] as number) };
  });
  return { score, words, raises: dateRaises(position, query.months, query.askedAt, mail) } satisfies ScoreExplanation;
}

function scoredTerm({ word, postings }: Term, { mailbox, range, months }: RankedQuery): ScoredTerm {
  const implied = months.filter(({ words }) => words.has(word));
  const { rowids, counts } = implied.reduce(
    (sum, month) => mergePostings(sum, once(within(mailbox.positions, month.range))),
    postings,
  );
  const first = lowerBound(rowids, range.first);
  const last = lowerBound(rowids, range.last + 1);
  return { rowids, counts, first, last, idf: idfOf(last - first, within(mailbox.positions, range).length) };
}

/** BM25's inverse document frequency in Lucene's form, which is never negative. */
function idfOf(emails: number, all: number): number {
  return Math.log(1 + (all - emails + 0.5) / (emails + 0.5));
}

function bm25(idf: number, occurrences: number, bytes: number): number {
  return (idf * occurrences * (K1 + 1)) / (occurrences + K1 * (1 - B + (B * bytes) / AVERAGE_BYTES));
}

function dateRaises(
  position: number,
  months: readonly RaisedPeriod[],
  askedAt: number | null,
  { sentAt }: SearchableMail,
): DateRaises {
  const isNamed = months.some(({ range }) => range.first <= position && position <= range.last);
  return {
    recency: askedAt === null ? 0 : recencyRaise(askedAt, sentAt[position] as number),
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
