import { type PostingLists, termsAt } from "../posting-lists.js";
import type { FindTermMatches, TermMatch } from "../term-matches.js";
import { bestPassage, type Passage } from "./best-passage.js";
import type { RankingSignal, SignalMail, SignalQuery, SignalStrength } from "./ranking-signal.js";

/** The columns that ranking reads; recipients as JSON. */
export type RankedRow = readonly [
  mailId: number,
  subject: string,
  body: string,
  sender: string,
  recipients: string,
  date: string | null,
];

/** A signal that the query asks for. */
interface DetectedSignal extends RankingSignal {
  readonly strength: SignalStrength;
}

/** What one query ranks by. */
export interface Ranking {
  readonly terms: readonly string[];
  readonly lists: PostingLists;
  /** The idf of each term. */
  readonly weights: readonly number[];
  readonly find: FindTermMatches;
  readonly signals: readonly DetectedSignal[];
}

/** A ranked mail with its term matches, which the snippet reuses. */
export interface ScoredMail {
  readonly position: number;
  /** The score of the words, raised by each signal's weight times its strength. */
  readonly score: number;
  readonly mail: RankedRow;
  /** Indices of the terms it holds or may hold. */
  readonly terms: readonly number[];
  readonly inSubject: readonly TermMatch[];
  /** In the ranked part of the body. */
  readonly inBody: readonly TermMatch[];
  readonly passage: Passage;
  /** 0 to 1, of each of the query's signals. */
  readonly strengths: readonly number[];
}

/** Characters of a body that are ranked, which bounds the time that one mail takes. */
export const RANKED_BODY_CHARS = 20_000;

export function detectSignals(signals: readonly RankingSignal[], query: SignalQuery): DetectedSignal[] {
  return signals.flatMap((signal) => {
    const strength = signal.detect(query);
    return strength === null ? [] : [{ ...signal, strength }];
  });
}

/** By how much the signals can raise the score of the words at most. */
export function maxSignalFactor({ signals }: Ranking): number {
  return signals.reduce((factor, { weight }) => factor + weight, 1);
}

export function scoreMail({ lists, weights, find, signals }: Ranking, position: number, mail: RankedRow): ScoredMail {
  const [, subject, whole] = mail;
  const body = whole.slice(0, RANKED_BODY_CHARS);
  const terms = termsAt(lists, position);
  const inSubject = find(subject, terms);
  const inBody = find(body, terms);
  const passage = bestPassage(body, inSubject, inBody, weights);
  const seen = toSignalMail(mail);
  const strengths = signals.map(({ strength }) => strength(seen));
  const factor = signals.reduce((sum, { weight }, i) => sum + weight * (strengths[i] ?? 0), 1);
  const score = passage.termScores.reduce((sum, one) => sum + one, 0) * factor;
  return { position, score, mail, terms, inSubject, inBody, passage, strengths };
}

/** Parsed on demand, as most queries detect few signals. */
function toSignalMail([, , , sender, recipients, date]: RankedRow): SignalMail {
  return {
    sender,
    date,
    get recipients() {
      return JSON.parse(recipients) as string[];
    },
  };
}
