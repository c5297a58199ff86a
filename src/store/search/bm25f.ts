import type { TermMatch } from "./term-matches.js";

/** A mail as far as ranking reads it: the beginning of its body, and where the terms stand in it. */
export interface RankedText {
  readonly body: string;
  readonly inSubject: readonly TermMatch[];
  readonly inBody: readonly TermMatch[];
}

/** What is known of a query's terms in the mail that was searched; one entry a term. */
export interface TermStatistics {
  /** Mails searched. */
  readonly mails: number;
  /** Of these, how many hold the term. */
  readonly documentFrequencies: readonly number[];
}

/** Saturation and length normalisation of BM25 (Robertson and Zaragoza, 2009). */
const K1 = 1.2;
const B = 0.5;

/** A mail's score is below so many times the weights of the terms it holds, however often it holds them. */
export const BM25_TF_UPPER_BOUND = K1 + 1;

/** A word in the subject counts as so many in the body. */
const SUBJECT_WEIGHT = 3;

/** A word in quoted or forwarded mail counts as so many of the mail's own: what it answers is another mail's matter. */
const QUOTED_WEIGHT = 0.5;

/** Where quoted mail begins: a rule, a `>`, a header in the body, or a line that ends in "wrote:". */
const QUOTED = /(?<!-)-{3,}\s*(?:original message|forwarded by)|^>|^[ \t]*from: |\bwrote:[ \t]*$/im;

/** No text that a mail program wrote has a match without a rule, a `>` or one of these: they are found ten times as fast. */
const QUOTED_WORDS = ["rom: ", "ROM: ", "rote:", "ROTE:"];

function mayQuote(body: string): boolean {
  // A letter stands everywhere, a colon does not: most texts are done with when it is looked for.
  const hasWord = () => body.includes(":") && QUOTED_WORDS.some((word) => body.includes(word));
  return body.includes("---") || body.includes(">") || hasWord();
}

/** Characters of a body of ordinary length. Fixed, so that the mail of others has no say in an order. */
const AVERAGE_BODY_CHARS = 800;

/** Inverse document frequency as BM25 has it, never negative. */
export function idf({ mails, documentFrequencies }: TermStatistics, term: number): number {
  const n = Math.min(documentFrequencies[term] ?? 0, mails);
  return Math.log(1 + (mails - n + 0.5) / (n + 0.5));
}

/** BM25 over subject and body as one weighted field (BM25F). */
export function bm25f({ body, inSubject, inBody }: RankedText, weights: readonly number[]): number {
  const quoted = inBody.length > 0 && mayQuote(body) ? body.search(QUOTED) : -1;
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
