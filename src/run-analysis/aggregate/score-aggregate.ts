import type { ScoreFigures } from "../../domain/runs/benchmark-result.js";
import { type Estimate, NO_ESTIMATE } from "../../domain/scores/interval-estimate.js";
import type { Scale, ScoreDescription } from "../../domain/scores/score.js";
import { ClusteredMean } from "../../statistics/clustered-mean.js";
import { passAtK, passHatK } from "../../statistics/pass-at-k.js";

/** The k for which pass@k and pass^k are reported: all up to ten, then doubling. */
const REPORTED_K = [1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 16, 32, 64, 128, 256, 512, 1_000];

/** What a `ClusteredMean` takes of a cluster's values. */
interface ClusterSums {
  readonly n: number;
  readonly sum: number;
  readonly squares: number;
}

const SHARE: Scale = { min: 0, max: 1 };

/** Aggregates one score over a run, question by question. */
export class ScoreAggregate {
  private readonly completed = new ClusteredMean();
  private readonly withFailed = new ClusteredMean();
  /** None for tasks of suites, which are about no inbox. */
  private readonly inboxes = new Map<string, ClusterSums>();
  private readonly tries = new Map<number, { some: ClusteredMean; all: ClusteredMean }>();
  private hasValues = false;
  private binary = true;
  private lowest = 0;
  private highest = 0;

  /** The values of one question's completed tasks, and how many of its tasks failed. */
  add(values: readonly number[], failed: number, inbox: string): void {
    // Completed but without a value: the score does not apply to the question.
    if (values.length === 0) return;
    this.hasValues = true;
    const { n, sum, squares } = sumsOf(values);
    this.completed.add(n, sum, squares);
    this.withFailed.add(n + failed, sum, squares);
    if (inbox !== "") {
      const inboxSums = this.inboxes.get(inbox) ?? { n: 0, sum: 0, squares: 0 };
      this.inboxes.set(inbox, { n: inboxSums.n + n, sum: inboxSums.sum + sum, squares: inboxSums.squares + squares });
    }
    this.lowest = Math.min(this.lowest, ...values);
    this.highest = Math.max(this.highest, ...values);
    this.binary &&= values.every((value) => value === 0 || value === 1);
    if (this.binary) this.addTries(n, sum);
  }

  get isBinary(): boolean {
    return this.binary;
  }

  figures(entry: ScoreDescription, onlyFailed: ClusteredMean, repeated: boolean): ScoreFigures {
    const { label, kind, better, meaning } = entry;
    const estimate = (sums: ClusteredMean) => estimateOf(entry, sums);
    const byInbox = new ClusteredMean();
    for (const { n, sum, squares } of this.inboxes.values()) byInbox.add(n, sum, squares);
    const { low, high } = estimate(byInbox);
    // A score without any value cannot count failed tasks as 0 either.
    const failureIsZero =
      this.hasValues && entry.failedAsWrong !== false && better === "higher" && this.isFromZeroToOne(entry);
    return {
      label,
      kind,
      better,
      meaning,
      ...estimate(this.completed),
      overAll: failureIsZero ? estimate(this.withFailed.union(onlyFailed)) : NO_ESTIMATE,
      byInbox: { low, high, inboxes: this.inboxes.size },
      ...(repeated && kind === "rate" && this.binary && better === "higher" ? { repeats: this.repeats() } : {}),
    };
  }

  /** By the scorer's scale; for a scorer of another version, by its values. */
  private isFromZeroToOne({ kind, scale }: ScoreDescription): boolean {
    if (scale !== undefined) return scale.min === 0 && scale.max === 1;
    return kind === "rate" || (this.lowest >= 0 && this.highest <= 1);
  }

  private addTries(n: number, right: number): void {
    for (const k of REPORTED_K) {
      if (k > n) return;
      const sums = this.tries.get(k) ?? { some: new ClusteredMean(), all: new ClusteredMean() };
      this.tries.set(k, sums);
      for (const [kind, share] of [
        ["some", passAtK(n, right, k)],
        ["all", passHatK(n, right, k)],
      ] as const) {
        sums[kind].add(1, share, share * share);
      }
    }
  }

  private repeats(): NonNullable<ScoreFigures["repeats"]> {
    return [...this.tries].map(([k, { some, all }]) => ({ k, passAtK: some.mean(SHARE), passHatK: all.mean(SHARE) }));
  }
}

/** Rates and means use different intervals. */
export function estimateOf({ kind, scale }: Pick<ScoreDescription, "kind" | "scale">, sums: ClusteredMean): Estimate {
  return kind === "rate" ? sums.rate() : sums.mean(scale);
}

export function sumsOf(values: readonly number[]): ClusterSums {
  return { n: values.length, sum: sumOf(values), squares: sumOf(values.map((value) => value * value)) };
}

function sumOf(values: readonly number[]): number {
  return values.reduce((sum, value) => sum + value, 0);
}
