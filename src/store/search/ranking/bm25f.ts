import type { TermMatch } from "../term-matches.js";

/** Corpus statistics of a query's terms. */
export interface TermStatistics {
  /** Mails searched. */
  readonly mails: number;
  /** Mails that hold the term, by term. */
  readonly documentFrequencies: readonly number[];
}

/** Where the terms stand in a mail, or in a passage of it. */
export interface FieldMatches {
  readonly inSubject: readonly TermMatch[];
  readonly inBody: readonly TermMatch[];
  /** Where quoted mail starts; -1: nowhere. */
  readonly quoted: number;
  /** Characters of the body or of the passage. */
  readonly length: number;
}

/** Saturation and length normalisation of BM25 (Robertson and Zaragoza, 2009). */
const K1 = 1.2;
const B = 0.5;

/** BM25 upper bound: score <= (k1 + 1) * sum of idf. */
export const BM25_TF_UPPER_BOUND = K1 + 1;

/** A match in the subject counts as so many in the body. */
const SUBJECT_WEIGHT = 3;

/** A match in quoted or forwarded text counts less, as it belongs to another mail. */
const QUOTED_WEIGHT = 0.5;

/** Fixed, so that other people's mail does not influence a ranking. */
const AVERAGE_BODY_CHARS = 800;

/** Inverse document frequency as BM25 has it, never negative. */
export function idf({ mails, documentFrequencies }: TermStatistics, term: number): number {
  const n = Math.min(documentFrequencies[term] ?? 0, mails);
  return Math.log(1 + (mails - n + 0.5) / (n + 0.5));
}

/** BM25 over subject and body as one weighted field (BM25F): what each term adds to the score. */
export function bm25f({ inSubject, inBody, quoted, length }: FieldMatches, weights: readonly number[]): Float64Array {
  const frequency = new Float64Array(weights.length);
  for (const { term } of inSubject) frequency[term] = (frequency[term] ?? 0) + SUBJECT_WEIGHT;
  for (const { term, start } of inBody) {
    frequency[term] = (frequency[term] ?? 0) + (isQuoted(start, quoted) ? QUOTED_WEIGHT : 1);
  }
  const relativeLength = 1 - B + (B * length) / AVERAGE_BODY_CHARS;
  return frequency.map((tf, term) => ((weights[term] ?? 0) * tf * (K1 + 1)) / (tf + K1 * relativeLength));
}

/** Whether a position of a body is in quoted mail. */
export function isQuoted(position: number, quoted: number): boolean {
  return quoted !== -1 && position > quoted;
}
