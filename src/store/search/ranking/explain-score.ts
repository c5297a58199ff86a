import { countTerms } from "./bm25f.js";
import type { Ranking, ScoredMail } from "./score-mail.js";

/** Which part of a hit's score comes from what: `score` is the sum of the words' scores times that of the signals. */
export interface ScoreExplanation {
  readonly score: number;
  readonly words: readonly WordScore[];
  /** The signals that the query asks for, also those that the mail does not show. */
  readonly signals: readonly SignalScore[];
}

export interface WordScore {
  readonly word: string;
  /** Inverse document frequency: how rare the word is in the mailbox. */
  readonly idf: number;
  /** Matches in the subject, in what the sender wrote, and in quoted mail. */
  readonly inSubject: number;
  readonly inBody: number;
  readonly inQuoted: number;
  readonly score: number;
}

export interface SignalScore {
  readonly signal: string;
  readonly meaning: string;
  /** The share by which it raises the score of the words. */
  readonly raise: number;
}

export function explainScore(scored: ScoredMail, { terms, weights, signals }: Ranking): ScoreExplanation {
  const counts = countTerms(scored, terms.length);
  return {
    score: scored.score,
    words: terms.map((word, term) => ({
      word,
      idf: weights[term] ?? 0,
      inSubject: counts[term]?.subject ?? 0,
      inBody: counts[term]?.own ?? 0,
      inQuoted: counts[term]?.quoted ?? 0,
      score: scored.termScores[term] ?? 0,
    })),
    signals: signals.map(({ name, meaning, weight }, i) => ({
      signal: name,
      meaning,
      raise: weight * (scored.strengths[i] ?? 0),
    })),
  };
}
