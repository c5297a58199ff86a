import { quotedStart } from "../../domain/mail/quoted-text.js";
import type { TermMatch } from "./term-matches.js";

/** The ranked part of a mail: the start of its body and the term matches. */
export interface RankedText {
  readonly body: string;
  readonly inSubject: readonly TermMatch[];
  readonly inBody: readonly TermMatch[];
}

/** Corpus statistics of a query's terms. */
export interface TermStatistics {
  /** Mails searched. */
  readonly mails: number;
  /** Mails that hold the term, by term. */
  readonly documentFrequencies: readonly number[];
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

/** BM25 over subject and body as one weighted field (BM25F). */
export function bm25f({ body, inSubject, inBody }: RankedText, weights: readonly number[]): number {
  const quoted = inBody.length > 0 ? quotedStart(body) : -1;
  const frequency = new Float64Array(weights.length);
  for (const { term } of inSubject) frequency[term] = (frequency[term] ?? 0) + SUBJECT_WEIGHT;
  for (const { term, start } of inBody) {
    frequency[term] = (frequency[term] ?? 0) + (quoted !== -1 && start > quoted ? QUOTED_WEIGHT : 1);
  }
  const length = 1 - B + (B * body.length) / AVERAGE_BODY_CHARS;
  let score = 0;
  for (const [term, weight] of weights.entries()) {
    const tf = frequency[term] ?? 0;
    score += (weight * tf * (K1 + 1)) / (tf + K1 * length);
  }
  return score;
}
