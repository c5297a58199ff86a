// Separates a changed judge from a changed agent. The judge is watched on anchors, traces that never change, and the
// agent on fresh traces. All figures are valid after every watch, so the error does not grow with the number of
// watches.
//
// Source: Li (2026), "Who Drifted: the System or the Judge?", arXiv 2606.15474: anchors that the current judge scores
// again, one e-process for each of the two, and the observation that only the judge can move the anchors. The paper
// bets on the gap between the judge and people's labels of the anchors, one item at a time, and blames the system if
// the anchors stay silent for a guard window. Here, each watch is a batch. The first process compares each anchor with
// its own earlier results, so anchors need no labels and changes in both directions do not cancel out. Instead of
// waiting, the second process bets that the pass rate moved by more than a changed judge could explain that so few
// anchors show.
import { bisect, gammaln } from "simple-statistics";
import type { Proportion } from "./agreement.js";
import { EProcess } from "./confidence-sequence.js";
import { incompleteBeta } from "./intervals/distributions.js";

/** Whether the result of each anchor differs from its stored one. Null if it was not judged. */
export type AnchorRound = readonly (boolean | null)[];

/** The counts of a watch. */
export interface WatchCounts {
  readonly anchors: AnchorRound;
  /** Successes are fresh traces that pass. No fresh traces if `n` is 0. */
  readonly fresh: Proportion;
}

/** The state when the anchors were stored. */
export interface DriftBaseline {
  /** Repeated judgments of the anchors, or null for an eval whose results do not depend on chance. */
  readonly repeats: readonly AnchorRound[] | null;
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
    /** Anchors of the newest watch. Successes differ from the stored result. */
    readonly anchors: Proportion;
    /** The same for all judgments before. */
    readonly before: Proportion;
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

interface Evidence {
  readonly eValue: number;
  /** The bound that the strongest evidence is against. */
  readonly bound: number;
}

/**
 * Four errors add up to at most 5%: the judge's e-process, the agent's e-process, the bounds of the pass rate, and the
 * anchors not showing a changed judge that the fresh traces show.
 */
const ERROR = 0.0125;

/** By Ville's inequality, an e-process ever reaches this with a probability of at most ERROR if nothing changed. */
const E_OF_A_CHANGE = 1 / ERROR;

/** Attributes a change to the judge or to the agent. `watches` are in the order of time. */
export function attributeDrift({ repeats, reference }: DriftBaseline, watches: readonly WatchCounts[]): Drift {
  const rounds = watches.map(({ anchors }) => anchors);
  const counts = rounds.map(differing);
  const withFresh = watches.filter(({ fresh }) => fresh.n > 0);
  const fresh = withFresh.map((watch) => watch.fresh);
  const judgeE = repeats === null ? null : evidenceOfOtherResults(repeats, rounds);
  const isJudge = judgeE === null ? sumOf(counts).successes > 0 : judgeE >= E_OF_A_CHANGE;
  const unseenSince = (start: number) =>
    repeats === null ? 0 : unseenDifferences(counts.slice(watches.indexOf(withFresh[start] as WatchCounts)));
  const agent = evidenceOfMove(reference, fresh, unseenSince);
  const isMoved = evidenceOfMove(reference, fresh, () => 0).eValue >= E_OF_A_CHANGE;
  const before = sumOf([...(repeats ?? []).map(differing), ...counts.slice(0, -1)]);
  return {
    changed: isJudge ? "judge" : agent.eValue >= E_OF_A_CHANGE ? "agent" : isMoved ? "unclear" : "none",
    judge: { eValue: judgeE, anchors: counts.at(-1) ?? { successes: 0, n: 0 }, before },
    agent: { ...agent, fresh: sumOf(fresh) },
    threshold: E_OF_A_CHANGE,
  };
}

function differing(round: AnchorRound): Proportion {
  return {
    successes: round.filter((differs) => differs === true).length,
    n: round.filter((one) => one !== null).length,
  };
}

/** Prior fractions of anchors that a changed judge judges differently, with equal weights. */
const FLIPPED = [0.05, 0.15, 0.4] as const;
/** Prior fractions of anchors whose results depend on chance, with equal weights. */
const NOISY = [0.02, 0.2] as const;

/**
 * E-value against the hypothesis that the results of each anchor are independent and have the same distribution at all
 * times, which can be another one for each anchor. Universal inference (Wasserman, Ramdas and Balakrishnan 2020): the
 * likelihood of a fixed mixture of alternatives, divided by the highest likelihood under the hypothesis.
 *
 * In an alternative, a fraction of the anchors has other results from some watch on. Watch 1, 2, ... have the weights
 * 1/2, 1/6, 1/12, ... The rest is the weight of alternatives whose change is still to come.
 */
function evidenceOfOtherResults(repeats: readonly AnchorRound[], rounds: readonly AnchorRound[]): number {
  const anchors = (rounds[0] ?? []).map((_, i) => {
    const [early, late] = [repeats, rounds].map((some) => some.map((round) => round[i] ?? null));
    return { early: early ?? [], late: late ?? [], best: bestLogLikelihood([...(early ?? []), ...(late ?? [])]) };
  });
  const best = anchors.reduce((sum, anchor) => sum + anchor.best, 0);
  const logs = FLIPPED.flatMap((flipped) => NOISY.map((noisy) => ({ flipped, noisy }))).flatMap(({ flipped, noisy }) =>
    Array.from({ length: rounds.length + 1 }, (_, start) => {
      const weight = start === rounds.length ? 1 / (start + 1) : 1 / ((start + 1) * (start + 2));
      const logs = anchors.map(({ early, late }) => {
        const before = differing([...early, ...late.slice(0, start)]);
        const after = differing(late.slice(start));
        const same = constantOrNoisy(sumOf([before, after]), noisy);
        const changed = constantOrNoisy(before, noisy) * constantOrNoisy(opposite(after), noisy);
        return Math.log((1 - flipped) * same + flipped * changed);
      });
      return Math.log(weight / (FLIPPED.length * NOISY.length)) + logs.reduce((sum, log) => sum + log, 0) - best;
    }),
  );
  return Math.min(
    logs.reduce((sum, log) => sum + Math.exp(log), 0),
    Number.MAX_VALUE,
  );
}

function bestLogLikelihood(results: AnchorRound): number {
  const { successes, n } = differing(results);
  if (successes === 0 || successes === n) return 0;
  return successes * Math.log(successes / n) + (n - successes) * Math.log(1 - successes / n);
}

/** Likelihood of results that never differ, or that differ with a probability from Jeffreys' prior. */
function constantOrNoisy({ successes, n }: Proportion, noisy: number): number {
  const noisyLikelihood = Math.exp(gammaln(successes + 0.5) + gammaln(n - successes + 0.5) - gammaln(n + 1)) / Math.PI;
  return (successes === 0 ? 1 - noisy : 0) + noisy * noisyLikelihood;
}

/** Upper bound of the fraction of all traces that a changed judge judges differently, given the anchors. */
function unseenDifferences(counts: readonly Proportion[]): number {
  // Judging the same anchors more often does not make them more representative.
  const n = Math.max(...counts.map((watch) => watch.n));
  const { successes, n: judged } = sumOf(counts);
  return judged === 0 ? 1 : upperBound({ successes: (n * successes) / judged, n }, ERROR);
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
 * has not started has the value 1). Each is against the upper bound that the reference and all earlier batches show.
 * The errors of the bounds have the same weights and add up to at most `error`.
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
  return process.eValue();
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
