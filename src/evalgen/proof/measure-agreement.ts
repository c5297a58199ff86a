import { isPass } from "../../domain/evals/eval-outcome.js";
import type { Agreement, Confusion } from "../../domain/evals/eval-test.js";
import type { Estimate } from "../../domain/scores/interval-estimate.js";
import { clusteredKappa } from "../../statistics/clustered-kappa.js";
import { clusteredRate, f1 } from "../../statistics/f1.js";
import { pearson } from "../../statistics/pearson.js";
import { quantile } from "../../statistics/quantile.js";
import { labelShuffler } from "../selection/shuffle-labels.js";

/** A labelled trace with what an eval said of it. */
export interface TestedTrace {
  /** Repeats of a question are dependent. */
  readonly question: string;
  readonly bad: boolean;
  readonly score: number | null;
  readonly error: string | null;
}

interface ScoredTrace {
  readonly question: string;
  readonly good: boolean;
  readonly passed: boolean;
  readonly score: number;
}

const SHUFFLES = 200;

/** All figures of how far an eval agrees with labels. */
export function measureAgreement(tested: readonly TestedTrace[], seed: number): Agreement {
  const scored = tested.flatMap(({ question, bad, score }) =>
    score === null ? [] : [{ question, good: !bad, passed: isPass(score), score }],
  );
  const errors = tested.filter(({ error }) => error !== null).length;
  const good = scored.filter((one) => one.good);
  const bad = scored.filter((one) => !one.good);
  const truePositiveRate = rateOf(good, ({ passed }) => passed);
  const trueNegativeRate = rateOf(bad, ({ passed }) => !passed);
  return {
    good: good.length,
    bad: bad.length,
    notApplicable: tested.length - scored.length - errors,
    errors,
    accuracy: rateOf(scored, (one) => one.passed === one.good),
    truePositiveRate,
    trueNegativeRate,
    precision: rateOf(
      scored.filter(({ passed }) => passed),
      (one) => one.good,
    ),
    recall: truePositiveRate,
    f1: f1(
      scored
        .filter((one) => one.good || one.passed)
        .map((one) => ({ truePositive: one.good && one.passed, cluster: one.question })),
    ),
    kappa: kappaOf(scored),
    pearson: pearson(
      scored.map(({ score }) => score),
      scored.map((one) => Number(one.good)),
      scored.map(({ question }) => question),
    ),
    coverage: trueNegativeRate,
    falseFailureRate: rateOf(good, ({ passed }) => !passed),
    confusion: confusionOf(scored),
    shuffledKappa: shuffledKappa(scored, seed),
  };
}

function rateOf(traces: readonly ScoredTrace[], isSuccess: (one: ScoredTrace) => boolean): Estimate {
  return clusteredRate(traces.map((one) => ({ success: isSuccess(one), cluster: one.question })));
}

function kappaOf(scored: readonly ScoredTrace[]): Estimate {
  return clusteredKappa(
    scored.map(({ good, passed, question }) => ({ first: good, second: passed, cluster: question })),
  );
}

function confusionOf(scored: readonly ScoredTrace[]): Confusion {
  const count = (good: boolean, passed: boolean) =>
    scored.filter((one) => one.good === good && one.passed === passed).length;
  return {
    goodPassed: count(true, true),
    goodFailed: count(true, false),
    badPassed: count(false, true),
    badFailed: count(false, false),
  };
}

/** What chance reaches on as many labels: kappa with the labels shuffled among questions. */
function shuffledKappa(scored: readonly ScoredTrace[], seed: number): number | null {
  const questions = scored.map(({ question }) => question);
  const shuffle = labelShuffler({ bad: scored.map((one) => !one.good), questions }, seed);
  const kappas = Array.from({ length: SHUFFLES }, () => {
    const bad = shuffle();
    return kappaOf(scored.map((one, i) => ({ ...one, good: bad[i] !== true }))).value;
  });
  return quantile(
    kappas.filter((value) => value !== null),
    0.95,
  );
}
