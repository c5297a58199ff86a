// Separates a changed judge from a changed agent. The judge is watched on anchors, traces that never change, and the
// agent on fresh traces. If the pass rate moved or the judge changed, reference traces are judged again: only the judge
// can move their rate, and only the agent can separate fresh traces from them.
//
// Each test is an exact permutation test: if nothing changed, the results of an anchor are exchangeable over time, and
// so are reference and fresh traces. Watch k may spend 1 / (k (k + 1)) of the error (alpha spending, Lan and DeMets
// 1983), so that the error does not grow with the number of watches. Li (2026), "Who Drifted: the System or the
// Judge?", arXiv 2606.15474, is the source of the anchors.
import { gammaln } from "simple-statistics";
import type { Proportion } from "./agreement.js";

/** Whether the result of each anchor differs from its stored one. Null if it was not judged. */
export type AnchorRound = readonly (boolean | null)[];

/** The counts of a watch. */
export interface WatchCounts {
  readonly anchors: AnchorRound;
  /** Successes are fresh traces that pass. No fresh traces if `n` is 0. */
  readonly fresh: Proportion;
  /** Reference traces that today's judge judged again. Null if nothing had moved. */
  readonly rejudged: Proportion | null;
}

/** The state when the anchors were stored. */
export interface DriftBaseline {
  /** Repeated judgments of the anchors, or null for an eval whose results do not depend on chance. */
  readonly repeats: readonly AnchorRound[] | null;
  /** Traces of the validated agent. Successes pass. */
  readonly reference: Proportion;
}

/** `unclear`: the pass rate changed, but it is not certain whether the judge or the agent changed. */
export type Change = "none" | "judge" | "agent" | "both" | "unclear";

/** A p-value, and the limit below which it shows a change in this watch. */
interface Evidence {
  readonly p: number;
  readonly limit: number;
}

export interface Drift {
  readonly changed: Change;
  readonly judge: {
    /** Null for an eval whose results do not depend on chance. A single difference proves that it changed. */
    readonly evidence: Evidence | null;
    /** Anchors of the newest watch. Successes differ from the stored result. */
    readonly anchors: Proportion;
    /** The same for all judgments before. */
    readonly before: Proportion;
  };
  readonly agent: {
    readonly evidence: Evidence;
    /** What fresh traces are compared with: the reference, judged again if something moved. */
    readonly expected: Proportion;
    /** Fresh traces of the compared watches. */
    readonly fresh: Proportion;
  };
}

/**
 * Probability of each false finding over all watches, 5% together: anchors that differ, a pass rate that moved, and
 * rates of rejudged traces that differ. Traces are judged again only after one of the others.
 */
const ERROR = { judge: 0.02, move: 0.02, rejudged: 0.01 };

/** Attributes a change to the judge, the agent or both. `watches` are in the order of time. */
export function attributeDrift({ repeats, reference }: DriftBaseline, watches: readonly WatchCounts[]): Drift {
  const rounds = watches.map(({ anchors }) => anchors);
  const counts = rounds.map(differing);
  const judge = repeats === null ? null : evidenceOfOtherResults(repeats, rounds);
  const isOther = judge === null ? sumOf(counts).successes > 0 : isShown(judge);
  const moved = evidenceOfMove(reference, watches, isOther);
  const { rejudged = null, fresh: newest = NONE } = watches.at(-1) ?? {};
  const compare = (one: Proportion, other: Proportion) => ({
    evidence: { p: fisherExact(one, other), limit: limitOf(ERROR.rejudged, watches.length, 2) },
    expected: one,
    fresh: other,
  });
  // More reference traces than anchors can show a judge that changed a little.
  const isJudge = isOther || (rejudged !== null && isShown(compare(reference, rejudged).evidence));
  // Only the newest fresh traces have certainly been judged by the judge that judged the reference again.
  const agent = rejudged === null ? moved : compare(rejudged, isJudge ? newest : moved.fresh);
  const isCertain = rejudged !== null || (repeats === null && !isJudge);
  const isAgent = isCertain && isShown(agent.evidence);
  const isMoved = isShown(moved.evidence);
  const before = sumOf([...(repeats ?? []).map(differing), ...counts.slice(0, -1)]);
  return {
    changed: isJudge ? (isAgent ? "both" : "judge") : isAgent ? "agent" : isMoved ? "unclear" : "none",
    judge: { evidence: judge, anchors: counts.at(-1) ?? NONE, before },
    agent,
  };
}

function isShown({ p, limit }: Evidence): boolean {
  return p < limit;
}

const NONE: Proportion = { successes: 0, n: 0 };

/** The error that one of several tests in a watch may spend. */
function limitOf(error: number, watch: number, tests: number): number {
  return error / (watch * (watch + 1)) / tests;
}

/** Numbers of newest watches that a change may have begun before: 1, 2, 4, ... */
function windowsOf(watches: number): number[] {
  return [1, 2, 4, 8, 16, 32, 64].filter((length) => length <= Math.max(1, watches));
}

/** Returns the evidence of the window with the lowest p-value. */
function strongest<T extends { readonly evidence: Evidence }>(windows: readonly T[]): T {
  return windows.reduce((best, one) => (one.evidence.p < best.evidence.p ? one : best));
}

/**
 * Compares fresh traces with the reference and the fresh traces before them. A changed judge makes these earlier ones
 * useless, but the reference as well.
 */
function evidenceOfMove(reference: Proportion, watches: readonly WatchCounts[], isJudge: boolean): Drift["agent"] {
  const windows = isJudge ? [1] : windowsOf(watches.length);
  return strongest(
    windows.map((length) => {
      const start = Math.max(0, watches.length - length);
      const expected = sumOf([reference, ...watches.slice(0, start).map(({ fresh }) => fresh)]);
      const fresh = sumOf(watches.slice(start).map((watch) => watch.fresh));
      const limit = limitOf(ERROR.move, watches.length, windows.length);
      return { evidence: { p: fisherExact(expected, fresh), limit }, expected, fresh };
    }),
  );
}

function differing(round: AnchorRound): Proportion {
  return {
    successes: round.filter((differs) => differs === true).length,
    n: round.filter((one) => one !== null).length,
  };
}

/**
 * Tests whether anchors differ more often in the newest rounds than before. Given how often an anchor differs in all
 * rounds, each order of its results is equally likely if its judge did not change, whatever its noise.
 */
function evidenceOfOtherResults(repeats: readonly AnchorRound[], rounds: readonly AnchorRound[]): Evidence {
  const windows = windowsOf(rounds.length);
  const limit = limitOf(ERROR.judge, Math.max(1, rounds.length), windows.length);
  const all = [...repeats, ...rounds];
  const tests = windows.map((length) => {
    const split = all.length - Math.min(length, rounds.length);
    const anchors = (all[0] ?? []).map((_, i) => {
      const results = all.map((round) => round[i] ?? null);
      return { all: differing(results), late: differing(results.slice(split)) };
    });
    return { evidence: { p: chanceOfMore(anchors), limit } };
  });
  return strongest(tests).evidence;
}

/** Probability of at least as many late differences, as a sum of hypergeometric variables, one per anchor. */
function chanceOfMore(anchors: readonly { readonly all: Proportion; readonly late: Proportion }[]): number {
  let distribution = [1];
  for (const { all, late } of anchors) {
    if (all.successes === 0) continue;
    const own = Array.from({ length: late.n + 1 }, (_, k) => hypergeometric(k, all, late.n));
    const before = distribution;
    distribution = Array.from({ length: before.length + late.n }, (_, total) =>
      own.reduce((sum, q, k) => sum + q * (before[total - k] ?? 0), 0),
    );
  }
  const observed = anchors.reduce((sum, { late }) => sum + late.successes, 0);
  return Math.min(
    1,
    distribution.slice(observed).reduce((sum, p) => sum + p, 0),
  );
}

/** Probability of `k` successes among `drawn` of these trials. */
function hypergeometric(k: number, { successes, n }: Proportion, drawn: number): number {
  const failures = drawn - k;
  if (k > successes || failures > n - successes) return 0;
  return Math.exp(logChoose(successes, k) + logChoose(n - successes, failures) - logChoose(n, drawn));
}

function logChoose(n: number, k: number): number {
  return gammaln(n + 1) - gammaln(k + 1) - gammaln(n - k + 1);
}

/** The two-sided p-value of Fisher's exact test. 1 if one of the proportions has no trials. */
export function fisherExact(one: Proportion, other: Proportion): number {
  if (one.n > other.n) return fisherExact(other, one);
  const all = sumOf([one, other]);
  const observed = hypergeometric(one.successes, all, one.n);
  const tables = Array.from({ length: one.n + 1 }, (_, k) => hypergeometric(k, all, one.n));
  // Equally likely tables can differ by rounding.
  const asExtreme = tables.filter((p) => p <= observed * (1 + 1e-9));
  return Math.min(
    1,
    asExtreme.reduce((sum, p) => sum + p, 0),
  );
}

function sumOf(batches: readonly Proportion[]): Proportion {
  const sum = (of: (batch: Proportion) => number) => batches.reduce((total, batch) => total + of(batch), 0);
  return { successes: sum(({ successes }) => successes), n: sum(({ n }) => n) };
}
