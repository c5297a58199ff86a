import { isQuoted } from "./bm25f.js";
import type { Ranking, ScoredMail } from "./score-mail.js";

/** Which part of a hit's score comes from what: `score` is the sum of the words' scores times that of the signals. */
export interface ScoreExplanation {
  readonly score: number;
  readonly words: readonly WordScore[];
  /** Characters of the body, from the first to before the last, that the words are counted in. */
  readonly passage: readonly [start: number, end: number];
  /** The signals that the query asks for, also those that the mail does not show. */
  readonly signals: readonly SignalScore[];
}

export interface WordScore {
  readonly word: string;
  /** Inverse document frequency: how rare the word is in the mailbox. */
  readonly idf: number;
  /** Matches in the subject, and in the passage: in what the sender wrote, and in quoted mail. */
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
  const { passage, termScores, inSubject } = scored;
  return {
    score: scored.score,
    words: terms.map((word, term) => {
      const inPassage = passage.inBody.filter((match) => match.term === term);
      const inQuoted = inPassage.filter(({ start }) => isQuoted(start, passage.quoted)).length;
      return {
        word,
        idf: weights[term] ?? 0,
        inSubject: inSubject.filter((match) => match.term === term).length,
        inBody: inPassage.length - inQuoted,
        inQuoted,
        score: termScores[term] ?? 0,
      };
    }),
    passage: [passage.start, passage.end],
    signals: signals.map(({ name, meaning, weight }, i) => ({
      signal: name,
      meaning,
      raise: weight * (scored.strengths[i] ?? 0),
    })),
  };
}
