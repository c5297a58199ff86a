import { insertTopK } from "../platform/async.js";
import { parseColumn, skipDamaged } from "../store/damaged-row.js";
import { quotedStart } from "./email.js";
import type { FindTermMatches, TermMatch } from "./search-matches.js";
import { hasPosting, isRare, type PostingLists } from "./search-postings.js";
import type { DateRange, PositionRange } from "./search-query.js";
import type { Fading, RankingSignal, SignalMail, SignalQuery, SignalStrength } from "./search-signals.js";

/**
 * The `wanted` best candidates by score, of equal ones the newer. Candidates come by descending weight. Those whose
 * upper bound of a score (`bound`) is below the worst hit are not read.
 */
export function rankCandidates(
  candidates: readonly MailCandidate[],
  wanted: number,
  bound: ScoreBound,
  scoreAt: (position: number) => ScoredMail,
): ScoredMail[] {
  const found: ScoredMail[] = [];
  for (const { position, weight } of candidates) {
    const worst = found.length < wanted ? undefined : found.at(-1);
    if (worst !== undefined && bound(weight, NEWEST) < worst.score) break;
    if (worst !== undefined && bound(weight, position) < worst.score) continue;
    insertTopK(found, scoreAt(position), wanted, isBetter);
  }
  return found;
}

function isBetter(a: ScoredMail, b: ScoredMail): boolean {
  return a.score > b.score || (a.score === b.score && a.position < b.position);
}

export interface ScoreExplanation {
  readonly score: number;
  readonly words: readonly WordScore[];
  /** Characters of the body, from the first to before the last, that the words are counted in. */
  readonly passage: readonly [start: number, end: number];
  /** The signals that the query asks for, also those that the mail does not show. */
  readonly signals: readonly SignalScore[];
}

interface WordScore {
  readonly word: string;
  /** Inverse document frequency: how rare the word is in the mailbox. */
  readonly idf: number;
  /** Matches in the subject, and in the passage: in what the sender wrote, and in quoted mail. */
  readonly inSubject: number;
  readonly inBody: number;
  readonly inQuoted: number;
  readonly score: number;
}

interface SignalScore {
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

/** So many more candidates are ranked than hits are wanted. Forty more found nothing better for 724 questions. */
const SPARE_CANDIDATES = 20;

/**
 * A mail to rank, with the summed idf weight of the terms it may hold or a signal implies. BM25 upper bound: score <=
 * `BM25_TF_UPPER_BOUND` * weight.
 */
interface MailCandidate {
  readonly position: number;
  readonly weight: number;
}

/** The mails with the greatest weight, more than `wanted` if there are so many. */
export function generateCandidates(
  lists: PostingLists,
  weights: readonly number[],
  wanted: number,
  implied: readonly ImpliedTerms[],
): MailCandidate[] {
  // If the rare terms yield too few candidates, the common ones are merged too.
  const rare = lists.filter(isRare);
  const enough = rare.some((list) => list.length >= wanted) || new Set(rare.flat()).size >= wanted;
  const generatesCandidates = (list: readonly number[]) => isRare(list) || !enough;
  // The cut-off list of a common term lacks mails that may hold it.
  const unlistedWeight = lists.reduce((sum, list, term) => sum + (isRare(list) ? 0 : (weights[term] ?? 0)), 0);
  const impliedWeight = (position: number) => {
    if (implied.length === 0) return 0;
    const inRange = implied.filter(({ range }) => range.first <= position && position <= range.last);
    if (inRange.length === 0) return 0;
    return [...new Set(inRange.flatMap(({ terms }) => terms))]
      .filter((term) => generatesCandidates(lists[term] ?? []) && !hasPosting(lists[term] ?? [], position))
      .reduce((sum, term) => sum + (weights[term] ?? 0), 0);
  };
  const limit = wanted + SPARE_CANDIDATES;
  const heaviest: MailCandidate[] = [];
  mergePostings(
    lists.filter(generatesCandidates),
    weights.filter((_, term) => generatesCandidates(lists[term] ?? [])),
    (position, held) => {
      const weight = held + impliedWeight(position);
      const lightest = heaviest[limit - 1];
      // Positions come newest first, so of equal weights the newest stays first.
      if (lightest === undefined || weight > lightest.weight)
        insertTopK(heaviest, { position, weight }, limit, isHeavier);
    },
  );
  return heaviest.map(({ position, weight }) => ({ position, weight: weight + unlistedWeight }));
}

function isHeavier(a: MailCandidate, b: MailCandidate): boolean {
  return a.weight > b.weight;
}

/** Behind every position. Infinity would make all of them floating-point numbers, each an object of its own. */
const END = 2 ** 31 - 1;

/** K-way merge: visits each position once, newest first, with the sum of the weights of its lists. */
function mergePostings(
  lists: PostingLists,
  listWeights: readonly number[],
  visit: (position: number, weight: number) => void,
): void {
  const read = new Uint32Array(lists.length);
  const heads = Int32Array.from(lists, (list) => list[0] ?? END);
  for (;;) {
    let position = END;
    for (const head of heads) if (head < position) position = head;
    if (position === END) return;
    let weight = 0;
    for (let i = 0; i < heads.length; i++) {
      if (heads[i] !== position) continue;
      weight += listWeights[i] ?? 0;
      read[i] = (read[i] ?? 0) + 1;
      heads[i] = lists[i]?.[read[i] ?? 0] ?? END;
    }
    visit(position, weight);
  }
}

/** Terms that all mail of a range counts as holding, as a signal implies them. */
interface ImpliedTerms {
  readonly range: PositionRange;
  readonly terms: readonly number[];
}

export function impliedTerms(
  { terms, signals }: Ranking,
  positions: (period: DateRange) => PositionRange,
): ImpliedTerms[] {
  return signals.flatMap(({ implies, periods }) =>
    periods.map((period) => ({
      range: positions(period),
      terms: terms.flatMap((word, term) => (implies?.(word, { date: period.after }) ? [term] : [])),
    })),
  );
}

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
interface DetectedSignal extends Omit<RankingSignal, "periods" | "fades"> {
  readonly strength: SignalStrength;
  readonly periods: readonly DateRange[];
  readonly fading: Fading | null;
}

/** What one query ranks by. */
export interface Ranking {
  readonly terms: readonly string[];
  readonly lists: PostingLists;
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
  readonly passage: RankedPassage;
  readonly termScores: readonly number[];
  /** 0 to 1, of each of the query's signals. */
  readonly strengths: readonly number[];
}

/** Characters of a body that are ranked, which bounds the time that one mail takes. More ranked no better. */
export const RANKED_BODY_CHARS = 8_000;

export function detectSignals(signals: readonly RankingSignal[], query: SignalQuery): DetectedSignal[] {
  return signals.flatMap((signal) => {
    const strength = signal.detect(query);
    if (strength === null) return [];
    return [{ ...signal, strength, periods: signal.periods?.(query) ?? [], fading: signal.fades?.(query) ?? null }];
  });
}

/** The upper bound of a mail's score by the summed weight of the terms it may hold and by its position. */
export type ScoreBound = (weight: number, position: number) => number;

/** The position at which no signal has faded. */
const NEWEST = 0;

export function scoreBound({ signals }: Ranking, positions: (period: DateRange) => PositionRange): ScoreBound {
  const factor = signals.reduce((sum, { weight }) => sum + weight, 1);
  const faded = signals.flatMap(({ weight, fading }) =>
    fading === null
      ? []
      : [{ last: positions({ after: fading.since, before: null }).last, lost: weight * (1 - fading.atMost) }],
  );
  return (weight, position) => {
    const lost = faded.reduce((sum, one) => (position > one.last ? sum + one.lost : sum), 0);
    return weight * BM25_TF_UPPER_BOUND * (factor - lost);
  };
}

export function scoreMail(ranking: Ranking, position: number, mail: RankedRow): ScoredMail {
  const { lists, weights, find, signals } = ranking;
  const [, subject, whole] = mail;
  const body = whole.slice(0, RANKED_BODY_CHARS);
  const terms = termsAt(lists, position);
  const inSubject = find(subject, terms);
  const inBody = find(body, terms);
  const passage = bestPassage(body, inSubject, inBody, weights);
  const seen = new RankedMail(mail);
  const strengths = signals.map(({ strength }) => strength(seen));
  const factor = signals.reduce((sum, { weight }, i) => sum + weight * (strengths[i] ?? 0), 1);
  const termScores = withImplied(passage.termScores, ranking, seen, strengths);
  const score = termScores.reduce((sum, one) => sum + one, 0) * factor;
  return { position, score, mail, terms, inSubject, inBody, passage, termScores, strengths };
}

/** A word that a signal implies counts at least as one match in a body of average length, which is its idf. */
function withImplied(
  termScores: readonly number[],
  { terms, weights, signals }: Ranking,
  mail: SignalMail,
  strengths: readonly number[],
): readonly number[] {
  const shown = signals.filter(({ implies }, i) => implies !== undefined && (strengths[i] ?? 0) > 0);
  if (shown.length === 0) return termScores;
  const isImplied = (term: string) => shown.some(({ implies }) => implies?.(term, mail));
  return termScores.map((score, i) => (isImplied(terms[i] ?? "") ? Math.max(score, weights[i] ?? 0) : score));
}

class RankedMail implements SignalMail {
  constructor(private readonly row: RankedRow) {}

  get sender() {
    return this.row[3];
  }

  get date() {
    return this.row[5];
  }

  /** Parsed on demand, as most queries detect few signals. */
  get recipients() {
    const place = { table: "mails", row: this.row[0], column: "recipients" };
    return skipDamaged(() => parseColumn<string[]>(this.row[4], "array", place)) ?? [];
  }
}

interface RankedPassage {
  readonly start: number;
  readonly end: number;
  readonly inBody: readonly TermMatch[];
  readonly quoted: number;
  readonly termScores: readonly number[];
}

/**
 * Characters of a passage. As a whole, a long mail would be put down for its length, and raised by words that have
 * nothing to do with one another.
 */
const PASSAGE_CHARS = 1_500;

/** Passages overlap by half, so that what is asked for is not cut in two. */
const PASSAGE_STEP = PASSAGE_CHARS / 2;

/**
 * Scores each passage of a body as a mail of its own under the same subject. A short body is one passage. `inBody` is
 * in text order.
 */
export function bestPassage(
  body: string,
  inSubject: readonly TermMatch[],
  inBody: readonly TermMatch[],
  weights: readonly number[],
): RankedPassage {
  const quoted = inBody.length > 0 ? quotedStart(body) : -1;
  const length = Math.min(body.length, PASSAGE_CHARS);
  let best: RankedPassage | undefined;
  let bestScore = -1;
  let first = 0;
  let after = 0;
  for (let start = 0; best === undefined || start + PASSAGE_STEP < body.length; start += PASSAGE_STEP) {
    const end = Math.min(start + PASSAGE_CHARS, body.length);
    while ((inBody[first]?.start ?? end) < start) first++;
    while ((inBody[after]?.start ?? end) < end) after++;
    // Without a match it is at most as good as the first.
    if (best !== undefined && first === after) continue;
    const matches = inBody.slice(first, after);
    const termScores = bm25f({ inSubject, inBody: matches, quoted, length }, weights);
    const score = termScores.reduce((sum, one) => sum + one, 0);
    if (score > bestScore) {
      best = { start, end, inBody: matches, quoted, termScores };
      bestScore = score;
    }
  }
  return best;
}

/** The terms that a mail holds; it may hold a common term if it is older than the end of its list, which is cut off. */
function termsAt(lists: PostingLists, position: number): number[] {
  const terms: number[] = [];
  for (const [term, list] of lists.entries()) {
    const isBeyond = !isRare(list) && position > (list.at(-1) ?? 0);
    if (isBeyond || hasPosting(list, position)) terms.push(term);
  }
  return terms;
}

/** Where the terms stand in a mail, or in a passage of it. */
interface FieldMatches {
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
const BM25_TF_UPPER_BOUND = K1 + 1;

/** A match in the subject counts as so many in the body. */
const SUBJECT_WEIGHT = 3;

/** A match in quoted or forwarded text counts less, as it belongs to another mail. */
const QUOTED_WEIGHT = 0.5;

/** Fixed, so that other people's mail does not influence a ranking. */
const AVERAGE_BODY_CHARS = 800;

/** BM25 over subject and body as one weighted field (BM25F): what each term adds to the score. */
function bm25f({ inSubject, inBody, quoted, length }: FieldMatches, weights: readonly number[]): number[] {
  const frequency = weights.map(() => 0);
  for (const { term } of inSubject) frequency[term] = (frequency[term] ?? 0) + SUBJECT_WEIGHT;
  for (const { term, start } of inBody) {
    frequency[term] = (frequency[term] ?? 0) + (isQuoted(start, quoted) ? QUOTED_WEIGHT : 1);
  }
  const relativeLength = 1 - B + (B * length) / AVERAGE_BODY_CHARS;
  return frequency.map((tf, term) => ((weights[term] ?? 0) * tf * (K1 + 1)) / (tf + K1 * relativeLength));
}

function isQuoted(position: number, quoted: number): boolean {
  return quoted !== -1 && position > quoted;
}
