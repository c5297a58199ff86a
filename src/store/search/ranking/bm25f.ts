import { quotedStart } from "../../../domain/mail/quoted-text.js";
import type { TermMatch } from "../term-matches.js";

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

/** How often a mail holds a term. */
export interface TermCounts {
  readonly subject: number;
  readonly own: number;
  readonly quoted: number;
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
export function bm25f(text: RankedText, weights: readonly number[]): Float64Array {
  const quoted = text.inBody.length > 0 ? quotedStart(text.body) : -1;
  const frequency = new Float64Array(weights.length);
  for (const { term } of text.inSubject) frequency[term] = (frequency[term] ?? 0) + SUBJECT_WEIGHT;
  for (const { term, start } of text.inBody) {
    frequency[term] = (frequency[term] ?? 0) + (isQuoted(start, quoted) ? QUOTED_WEIGHT : 1);
  }
  const length = 1 - B + (B * text.body.length) / AVERAGE_BODY_CHARS;
  return frequency.map((tf, term) => ((weights[term] ?? 0) * tf * (K1 + 1)) / (tf + K1 * length));
}

/** The counts that `bm25f` weighs, by term. */
export function countTerms({ body, inSubject, inBody }: RankedText, terms: number): TermCounts[] {
  const quoted = quotedStart(body);
  return Array.from({ length: terms }, (_, term) => {
    const matches = inBody.filter((match) => match.term === term);
    const own = matches.filter(({ start }) => !isQuoted(start, quoted)).length;
    return { subject: inSubject.filter((match) => match.term === term).length, own, quoted: matches.length - own };
  });
}

function isQuoted(start: number, quoted: number): boolean {
  return quoted !== -1 && start > quoted;
}
