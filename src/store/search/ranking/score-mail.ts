import type { DateRange } from "../date-range.js";
import { type PostingLists, termsAt } from "../posting-lists.js";
import type { FindTermMatches, TermMatch } from "../term-matches.js";
import { bestPassage, type Passage } from "./best-passage.js";
import { BM25_TF_UPPER_BOUND } from "./bm25f.js";
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
interface DetectedSignal extends Omit<RankingSignal, "periods"> {
  readonly strength: SignalStrength;
  readonly periods: readonly DateRange[];
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
  /** What each term adds. */
  readonly termScores: Float64Array;
  /** 0 to 1, of each of the query's signals. */
  readonly strengths: readonly number[];
}

/** Characters of a body that are ranked, which bounds the time that one mail takes. */
export const RANKED_BODY_CHARS = 20_000;

export function detectSignals(signals: readonly RankingSignal[], query: SignalQuery): DetectedSignal[] {
  return signals.flatMap((signal) => {
    const strength = signal.detect(query);
    return strength === null ? [] : [{ ...signal, strength, periods: signal.periods?.(query) ?? [] }];
  });
}

/** The upper bound of a mail's score by the summed weight of the terms it may hold. */
export function scoreBound({ weights, signals }: Ranking): (weight: number) => number {
  const factor = signals.reduce((sum, { weight }) => sum + weight, 1);
  const implied = signals.some(({ implies }) => implies !== undefined)
    ? weights.reduce((sum, weight) => sum + weight, 0)
    : 0;
  return (weight) => (weight * BM25_TF_UPPER_BOUND + implied) * factor;
}

export function scoreMail(ranking: Ranking, position: number, mail: RankedRow): ScoredMail {
  const { lists, weights, find, signals } = ranking;
  const [, subject, whole] = mail;
  const body = whole.slice(0, RANKED_BODY_CHARS);
  const terms = termsAt(lists, position);
  const inSubject = find(subject, terms);
  const inBody = find(body, terms);
  const passage = bestPassage(body, inSubject, inBody, weights);
  const seen = toSignalMail(mail);
  const strengths = signals.map(({ strength }) => strength(seen));
  const factor = signals.reduce((sum, { weight }, i) => sum + weight * (strengths[i] ?? 0), 1);
  const termScores = withImplied(passage.termScores, ranking, seen, strengths);
  const score = termScores.reduce((sum, one) => sum + one, 0) * factor;
  return { position, score, mail, terms, inSubject, inBody, passage, termScores, strengths };
}

/** A word that a signal implies counts at least as one match in a body of average length, which is its idf. */
function withImplied(
  termScores: Float64Array,
  { terms, weights, signals }: Ranking,
  mail: SignalMail,
  strengths: readonly number[],
): Float64Array {
  const shown = signals.filter(({ implies }, i) => implies !== undefined && (strengths[i] ?? 0) > 0);
  if (shown.length === 0) return termScores;
  const isImplied = (term: string) => shown.some(({ implies }) => implies?.(term, mail));
  return termScores.map((score, i) => (isImplied(terms[i] ?? "") ? Math.max(score, weights[i] ?? 0) : score));
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
