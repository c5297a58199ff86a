// Separates a changed judge from a changed agent. The judge is watched on anchors, traces that never change, and the
// agent on fresh traces. All figures are valid after every watch, so the error does not grow with the number of watches.
//
// Source: Li (2026), "Who Drifted: the System or the Judge?", arXiv 2606.15474: anchors that the current judge scores
// again, one betting e-process for each of the two, and the observation that only the judge can move the anchors. The
// paper bets on the gap between the judge and people's labels of the anchors, one item at a time, and blames the system
// if the anchors stay silent for a guard window. Here, each watch is a batch. The first process bets on differences from
// the judge's own earlier results, so anchors need no labels and changes in both directions do not cancel out. Instead
// of waiting, the second process tests whether the pass rate moved by more than a changed judge could explain that so
// few anchors noticed.
import { bisect } from "simple-statistics";
import type { Proportion } from "./agreement.js";
import { EProcess } from "./confidence-sequence.js";
import { incompleteBeta } from "./intervals/distributions.js";

/** What a watch counted. */
export interface WatchCounts {
  /** Successes are anchors whose result differs from the stored one. */
  readonly anchors: Proportion;
  /** Successes are fresh traces that pass. No fresh traces if `n` is 0. */
  readonly fresh: Proportion;
}

/** What was counted when the anchors were stored. */
export interface DriftBaseline {
  /**
   * Repeated judgments of the anchors by the same judge. Successes are results that differ from the stored one. Null for
   * an eval whose results do not depend on chance.
   */
  readonly noise: Proportion | null;
  /** Traces of the validated agent. Successes pass. */
  readonly reference: Proportion;
}

/** `unclear`: the pass rate changed, but too few anchors show whether the judge or the agent changed. */
export type Change = "none" | "judge" | "agent" | "unclear";

export interface Drift {
  readonly changed: Change;
  readonly judge: {
    /** Null for an eval whose results do not depend on chance. A single difference proves that it changed. */
    readonly eValue: number | null;
    /** Highest fraction of differing anchors that an unchanged judge explains. */
    readonly expected: number;
    /** Anchors of all watches. */
    readonly anchors: Proportion;
  };
  readonly agent: {
    readonly eValue: number;
    /** Lowest and highest pass rate of an unchanged agent, including what a changed judge could explain. */
    readonly expected: { readonly low: number; readonly high: number };
    /** Fresh traces of all watches. */
    readonly fresh: Proportion;
  };
  /** E-value that shows a change. */
  readonly threshold: number;
}

/**
 * Five errors add up to at most 5%: the bounds of the judge's noise, its e-process, the bounds of the pass rate, the
 * agent's e-process, and the anchors not showing a changed judge that the fresh traces show.
 */
const ERROR = 0.01;

/** By Ville's inequality, an e-process ever reaches this with a probability of at most ERROR if nothing changed. */
const E_OF_A_CHANGE = 1 / ERROR;

/** Attributes a change to the judge or to the agent. `watches` are in the order of time. */
export function attributeDrift({ noise, reference }: DriftBaseline, watches: readonly WatchCounts[]): Drift {
  const anchors = watches.map((watch) => watch.anchors);
  const withFresh = watches.filter(({ fresh }) => fresh.n > 0);
  const fresh = withFresh.map((watch) => watch.fresh);
  const judge = noise === null ? null : evidenceOfRise(noise, anchors, ERROR, () => 0);
  const isJudge = judge === null ? sumOf(anchors).successes > 0 : judge.eValue >= E_OF_A_CHANGE;
  const unseenSince = (start: number) => {
    const since = watches.slice(watches.indexOf(withFresh[start] as WatchCounts)).map((watch) => watch.anchors);
    return noise === null ? 0 : unseenDifferences(since);
  };
  const agent = evidenceOfMove(reference, fresh, unseenSince);
  const isMoved = evidenceOfMove(reference, fresh, () => 0).eValue >= E_OF_A_CHANGE;
  return {
    changed: isJudge ? "judge" : agent.eValue >= E_OF_A_CHANGE ? "agent" : isMoved ? "unclear" : "none",
    judge: { eValue: judge?.eValue ?? null, expected: judge?.bound ?? 0, anchors: sumOf(anchors) },
    agent: { ...agent, fresh: sumOf(fresh) },
    threshold: E_OF_A_CHANGE,
  };
}

/** Upper bound of the fraction of all traces that a changed judge judges differently, given the anchors. */
function unseenDifferences(anchors: readonly Proportion[]): number {
  // Judging the same anchors more often does not make them more representative.
  const n = Math.max(...anchors.map((watch) => watch.n));
  const { successes, n: judged } = sumOf(anchors);
  return judged === 0 ? 1 : upperBound({ successes: (n * successes) / judged, n }, ERROR);
}

interface Evidence {
  readonly eValue: number;
  /** The bound that the strongest evidence is against. */
  readonly bound: number;
}

/** Evidence that the pass rate has left its interval in either direction. */
function evidenceOfMove(reference: Proportion, fresh: readonly Proportion[], unseenSince: (start: number) => number) {
  const rise = evidenceOfRise(reference, fresh, ERROR / 2, unseenSince);
  const fall = evidenceOfRise(opposite(reference), fresh.map(opposite), ERROR / 2, unseenSince);
  return { eValue: (rise.eValue + fall.eValue) / 2, expected: { low: 1 - fall.bound, high: rise.bound } };
}

function opposite({ successes, n }: Proportion): Proportion {
  return { successes: n - successes, n };
}

/**
 * Evidence that a probability has risen since the reference by more than a margin. A change can begin at any batch, so
 * the e-value is the mean of e-processes that start at batch 1, 2, ..., with the weights 1/2, 1/6, 1/12, ... (one that
 * has not started has the value 1). Each is against the upper bound that the reference and all earlier batches show. The
 * errors of the bounds have the same weights and add up to at most `error`.
 *
 * The trials can have different probabilities, such as easy and hard traces: by the inequality of arithmetic and
 * geometric means, the expected capital is at most that for equal ones.
 *
 * @param marginSince margin for the process that starts at this batch
 */
function evidenceOfRise(
  reference: Proportion,
  batches: readonly Proportion[],
  error: number,
  marginSince: (start: number) => number,
): Evidence {
  const all = sumOf(batches);
  let earlier = { successes: 0, n: 0 };
  let rate = 1;
  let eValue = 1 / (batches.length + 1);
  let strongest: Evidence = {
    eValue: 0,
    bound: Math.min(1, upperBound(reference, error) + (batches.length === 0 ? 0 : marginSince(0))),
  };
  for (const [start, batch] of batches.entries()) {
    const weight = 1 / ((start + 1) * (start + 2));
    rate = Math.min(rate, upperBound(sumOf([reference, earlier]), error * weight));
    const bound = Math.min(1, rate + marginSince(start));
    const since = { successes: all.successes - earlier.successes, n: all.n - earlier.n };
    const weighted = weight * eValueAbove(since, bound);
    if (weighted > strongest.eValue) strongest = { eValue: weighted, bound };
    eValue += weighted;
    earlier = sumOf([earlier, batch]);
  }
  return { eValue: Math.min(eValue, Number.MAX_VALUE), bound: strongest.bound };
}

function eValueAbove({ successes, n }: Proportion, bound: number): number {
  if (bound >= 1) return 1;
  const process = new EProcess(2 * bound - 1);
  process.add(1, successes);
  process.add(-1, n - successes);
  return process.eValue;
}

/** Precision of a bound. Bounds are rounded up. */
const PRECISION = 1e-4;

/**
 * Returns the upper bound of a probability that is too low with a probability of at most `error` (Clopper and Pearson
 * 1934). It also holds for the mean of different probabilities (Hoeffding 1956).
 */
export function upperBound({ successes, n }: Proportion, error: number): number {
  if (successes >= n) return 1;
  const tail = (rate: number) => incompleteBeta(1 - rate, n - successes, successes + 1);
  return Math.min(1, bisect((rate) => tail(rate) - error, 0, 1, 100, PRECISION) + PRECISION);
}

function sumOf(batches: readonly Proportion[]): Proportion {
  const sum = (of: (batch: Proportion) => number) => batches.reduce((total, batch) => total + of(batch), 0);
  return { successes: sum(({ successes }) => successes), n: sum(({ n }) => n) };
}
