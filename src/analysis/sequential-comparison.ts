// Comparisons that may be read while their runs are still working: claims about a run that stop it (`run --until`), and
// always-valid intervals (`compare --sequential`).
import { confidenceSequence, E_ESTABLISHED, EProcess, eValueOfDifference } from "../statistics/confidence-sequence.js";
import { DesignEffect } from "../statistics/design-effect.js";
import type { Estimate } from "../statistics/estimate.js";
import { eBenjaminiHochberg, holm } from "../statistics/multiple-comparisons.js";
import { seededRandom } from "../statistics/seeded-random.js";
import type { FailedTasks } from "../tasks/ending.js";
import {
  type ComparableRun,
  clustersOfPairs,
  type MetricComparison,
  pairsOf,
  type RunComparison,
  type SequentialFigures,
  widthOf,
} from "./paired-comparison.js";
import type { Clustering } from "./question-clusters.js";

/**
 * A claim about a run's gain over a baseline. A gain is the mean difference per question as a fraction of the score's
 * scale, and positive if the run is better.
 */
export type Claim =
  /** Established if the gain is above `by`, refuted if it is below `notBy`, which is at least `by`. */
  | { readonly relation: "better"; readonly by: number; readonly notBy: number }
  /** Established if the gain is above -`by`, refuted if it is below. */
  | { readonly relation: "no_worse"; readonly by: number }
  /** Established if the gain is not 0, refuted if it is between -`notBy` and `notBy`. Null means never. */
  | { readonly relation: "different"; readonly notBy: number | null };

type ClaimVerdict = "established" | "refuted";

interface Evidence {
  add(gain: number): void;
  /** @param designEffect of the gains so far */
  isEnough(designEffect: number): boolean;
}

/** State of the claim that a run was started with. Differences are in the score's unit, candidate minus baseline. */
export interface UntilOutcome {
  /** The claim, such as `better than run_1 by 0.03 on judgeCorrect`. */
  readonly claim: string;
  readonly metric: string;
  /** Null if the claim is open. */
  readonly verdict: ClaimVerdict | null;
  /** Why the results establish nothing, or null if they can. */
  readonly problem: string | null;
  /** Number of questions that the verdict took. */
  readonly settledAfter: number | null;
  /** Number of tested questions. Includes questions that were already running when the claim was settled. */
  readonly questions: number;
  /** Number of planned questions that the baseline has. The others cannot count. */
  readonly plannedQuestions: number;
  /** The clusters that the test counts dependent questions with. */
  readonly clusters: Clustering;
  /** Whether every planned question has a result. Failed questions have one, but are not tested. */
  readonly isComplete: boolean;
  /** May be read at any time. */
  readonly alwaysValid: Estimate;
  /** May be read only if all planned questions are answered. */
  readonly fixedN: Estimate;
}

interface SequentialInput {
  /** Candidate minus baseline per question, in the score's unit. */
  readonly differences: readonly number[];
  /** Each question's cluster, or null if the questions are independent. */
  readonly clusters?: readonly string[] | null;
  readonly better: "higher" | "lower";
  /** Fixed-n p value. */
  readonly p: number | null;
}

/** Expected end of a run with `--until`, if the true gain is `effect`. */
export interface ExpectedStop {
  readonly effect: number;
  /** Mean number of questions, if the run ends when the claim is settled or all questions are answered. */
  readonly meanQuestions: number;
  /** Fraction of runs in which the claim is established. */
  readonly established: number;
  readonly refuted: number;
}

/** Tests a claim after each question. The verdict is final: each of the two is wrong in at most 5% of runs. */
export class ClaimTest {
  private readonly establishing: Evidence;
  private readonly refuting: Evidence;
  private readonly effect = new DesignEffect();
  private n = 0;
  private decision: { readonly verdict: ClaimVerdict; readonly after: number } | null = null;

  constructor(claim: Claim) {
    [this.establishing, this.refuting] = evidenceFor(claim);
  }

  /**
   * Adds a question's gain in [-1, 1]. Questions in the same cluster depend on each other, and count as fewer. By
   * default, the question is a cluster.
   */
  add(gain: number, cluster: unknown = {}): void {
    this.n++;
    this.effect.add(gain, cluster);
    this.establishing.add(gain);
    this.refuting.add(gain);
    if (this.decision !== null) return;
    const { designEffect } = this;
    const verdict = this.establishing.isEnough(designEffect)
      ? "established"
      : this.refuting.isEnough(designEffect)
        ? "refuted"
        : null;
    if (verdict !== null) this.decision = { verdict, after: this.n };
  }

  /** Factor by which dependent questions increase the variance. */
  get designEffect(): number {
    return this.effect.value;
  }

  /** The verdict and the number of questions that it took, or null if the claim is open. */
  get decided(): { readonly verdict: ClaimVerdict; readonly after: number } | null {
    return this.decision;
  }
}

const NEVER: Evidence = { add: () => undefined, isEnough: () => false };

function evidenceFor(claim: Claim): readonly [establishing: Evidence, refuting: Evidence] {
  switch (claim.relation) {
    case "better":
      return [gainAbove(claim.by), gainBelow(claim.notBy)];
    case "no_worse":
      return [gainAbove(-claim.by), gainBelow(-claim.by)];
    case "different":
      return [
        // Two sides are tested, so each has half of the error.
        either(gainAbove(0, 2 * E_ESTABLISHED), gainBelow(0, 2 * E_ESTABLISHED)),
        claim.notBy === null ? NEVER : both(gainAbove(-claim.notBy), gainBelow(claim.notBy)),
      ];
  }
}

function gainAbove(threshold: number, enough = E_ESTABLISHED): Evidence {
  const process = new EProcess(threshold);
  let isEnough = false;
  return {
    add: (gain) => process.add(gain),
    isEnough(designEffect) {
      isEnough ||= process.eValue(designEffect) >= enough;
      return isEnough;
    },
  };
}

function gainBelow(threshold: number, enough?: number): Evidence {
  const mirrored = gainAbove(-threshold, enough);
  return { ...mirrored, add: (gain) => mirrored.add(-gain) };
}

const either = (a: Evidence, b: Evidence) => combined(a, b, (first, second) => first || second);
const both = (a: Evidence, b: Evidence) => combined(a, b, (first, second) => first && second);

function combined(a: Evidence, b: Evidence, join: (first: boolean, second: boolean) => boolean): Evidence {
  return {
    add(gain) {
      a.add(gain);
      b.add(gain);
    },
    // Both are always asked, because each remembers whether its evidence was ever enough.
    isEnough: (designEffect) => join(a.isEnough(designEffect), b.isEnough(designEffect)),
  };
}

/** Adds always-valid figures to the comparisons of candidates with a baseline, corrected for their number. */
export function withSequentialFigures(
  comparisons: readonly RunComparison[],
  baseline: ComparableRun,
  candidates: readonly ComparableRun[],
  failed: FailedTasks = "wrong",
): RunComparison[] {
  const figures = new Map<MetricComparison, SequentialFigures>();
  const tested = comparisons.flatMap(({ metrics }, i) => {
    const candidate = candidates[i];
    return candidate === undefined ? [] : metrics.map((metric) => ({ metric, candidate }));
  });
  for (const first of new Map(tested.map(({ metric }) => [metric.metric, metric])).values()) {
    const width = widthOf(first);
    if (!Number.isFinite(width)) continue;
    const same = tested.filter(({ metric }) => metric.metric === first.metric);
    const inputs = same.map(({ metric: { better, p }, candidate }) => {
      const pairs = pairsOf(first.metric, baseline, candidate, failed);
      const differences = pairs.map(({ before, after }) => after - before);
      return { better, p, differences, clusters: clustersOfPairs(pairs) };
    });
    sequentialFigures(inputs, width).forEach((each, i) => {
      const input = same[i];
      if (input !== undefined) figures.set(input.metric, each);
    });
  }
  return comparisons.map((comparison) => ({
    ...comparison,
    metrics: comparison.metrics.map((metric) => ({ ...metric, sequential: figures.get(metric) ?? null })),
  }));
}

/**
 * Compares several candidates with a baseline on one score.
 * @param width distance between the lowest and the highest possible score
 */
export function sequentialFigures(candidates: readonly SequentialInput[], width: number): SequentialFigures[] {
  const effects = candidates.map(({ differences, clusters = null }) => DesignEffect.of(differences, clusters));
  const eValues = candidates.map(({ differences }, i) =>
    eValueOfDifference(
      differences.map((d) => d / width),
      effects[i],
    ),
  );
  const rejected = eBenjaminiHochberg(eValues);
  const pValues = candidates.flatMap(({ p }) => (p === null ? [] : [p]));
  const adjusted = holm(pValues);
  return candidates.map(({ differences, better, p }, i) => {
    const scaledDifferences = differences.map((d) => d / width);
    const { value, low, high, ...rest } = confidenceSequence(scaledDifferences, effects[i]);
    const difference = { ...rest, value: scaled(value, width), low: scaled(low, width), high: scaled(high, width) };
    const side = (value ?? 0) > 0 === (better === "higher") ? "better" : "worse";
    const excludesZero = low !== null && high !== null && (low > 0 || high < 0);
    return {
      difference,
      eValue: eValues[i] ?? 1,
      verdict: excludesZero ? side : null,
      correctedVerdict: rejected[i] === true ? side : null,
      correctedP:
        p === null ? null : (adjusted[candidates.slice(0, i).filter((other) => other.p !== null).length] ?? 1),
    };
  });
}

function scaled(value: number | null, width: number): number | null {
  return value === null ? null : value * width;
}

/** Assumed correlation between two runs' results on a question, typical for two agents that answer the same emails. */
const CORRELATION = 0.5;
const SIMULATED_RUNS = 400;
const SEED = 1;

/**
 * Estimates by simulation how many questions a claim takes at each true gain. Each question is right or wrong in each
 * run, and the results of the two runs have a correlation of 0.5. The questions are drawn independently, so if they
 * depend on each other, the claim takes more.
 * @param accuracy the baseline's mean, from 0 to 1
 * @param clusters the questions' clusters, in the order of the run
 */
export function expectedStops(
  claim: Claim,
  { accuracy, clusters }: { readonly accuracy: number; readonly clusters: readonly string[] },
  effects: readonly number[],
): ExpectedStop[] {
  return effects
    .filter((effect) => accuracy + effect >= 0 && accuracy + effect <= 1)
    .map((effect) => {
      const draw = pairedGains(accuracy, effect, CORRELATION, seededRandom(SEED));
      let taskCount = 0;
      const verdicts = { established: 0, refuted: 0 };
      for (let run = 0; run < SIMULATED_RUNS; run++) {
        const test = new ClaimTest(claim);
        let n = 0;
        for (const cluster of clusters) {
          test.add(draw(), cluster);
          n++;
          if (test.decided !== null) break;
        }
        taskCount += n;
        if (test.decided !== null) verdicts[test.decided.verdict]++;
      }
      return {
        effect,
        meanQuestions: taskCount / SIMULATED_RUNS,
        established: verdicts.established / SIMULATED_RUNS,
        refuted: verdicts.refuted / SIMULATED_RUNS,
      };
    });
}

const RESOLUTION = 2 ** 30;

/** Returns a generator of gains (-1, 0 or 1) of right-or-wrong questions with this correlation between the runs. */
export function pairedGains(
  accuracy: number,
  effect: number,
  correlation: number,
  random: (limit: number) => number,
): () => number {
  const other = accuracy + effect;
  const covariance = correlation * Math.sqrt(accuracy * (1 - accuracy) * other * (1 - other));
  const bothRight = Math.min(accuracy, other, Math.max(0, accuracy + other - 1, accuracy * other + covariance));
  const [wins, losses] = [other - bothRight, accuracy - bothRight];
  return () => {
    const sample = random(RESOLUTION) / RESOLUTION;
    return sample < wins ? 1 : sample < wins + losses ? -1 : 0;
  };
}
