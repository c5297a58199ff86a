import { type Estimate, NO_ESTIMATE, type Scale } from "../statistics/estimate.js";
import { ClusteredMean } from "../statistics/intervals.js";
import { passAtK, passHatK } from "../statistics/tests.js";
import { DIFFICULTIES, difficultyOf, instructionStyleOf } from "../tasks/difficulty.js";
import { TASK_STATES, type TaskState } from "../tasks/suite-task.js";
import {
  QUESTION_SLICES,
  type RunTotals,
  type ScoreFigures,
  SLICES,
  type Slice,
  type SliceName,
  SUITE_SLICES,
  type SuiteTotals,
} from "../traces/run-totals.js";
import { realismBand, type ScoreDescription } from "../traces/score.js";
import type { TaskResult } from "../traces/task-result.js";

/** Counts the tasks of a suite by state, with those that have a score. */
export class SuiteAggregate {
  private name: string | null = null;
  private graded = 0;
  private readonly states = new Map<TaskState, { tasks: number; graded: number }>();

  /** Questions about mailboxes are passed over. */
  add({ suite }: Pick<TaskResult, "suite">): void {
    if (suite === undefined) return;
    this.name = suite.name;
    const counts = this.states.get(suite.state) ?? { tasks: 0, graded: 0 };
    this.states.set(suite.state, counts);
    counts.tasks++;
    if (suite.score === null) return;
    counts.graded++;
    this.graded++;
  }

  /** Nothing where no task is of a suite. */
  figures(): Pick<RunTotals, "suite"> {
    if (this.name === null) return {};
    const states: SuiteTotals["states"] = Object.fromEntries(
      TASK_STATES.flatMap((state) => {
        const counts = this.states.get(state);
        return counts === undefined ? [] : [[state, counts]];
      }),
    );
    return { suite: { name: this.name, graded: this.graded, states } };
  }
}

type SuiteFacts = NonNullable<TaskResult["suite"]>;

/** By slice, the part that a question belongs to. */
const QUESTION_PART: Readonly<Record<(typeof QUESTION_SLICES)[number], (task: TaskResult) => string | null>> = {
  inbox: ({ inbox }) => inbox,
  realism: ({ howRealistic }) => (howRealistic === null ? null : realismBand(howRealistic)),
  sources: ({ goldSources }) => String(goldSources),
  year: ({ queryDate }) => queryDate?.slice(0, 4) ?? null,
};

/** By slice, the parts that a task of a suite belongs to: several tags, and one or more applications. */
const SUITE_PARTS: Readonly<Record<(typeof SUITE_SLICES)[number], (task: SuiteFacts) => readonly string[]>> = {
  tool: ({ tool }) => [tool],
  difficulty: ({ actionNumber }) => [difficultyOf(actionNumber)],
  guidance: ({ tags }) => [instructionStyleOf(tags) ?? "not given"],
  app: ({ relatedApps }) => [...new Set(relatedApps)],
  tag: ({ tags }) => [...new Set(tags)],
};

interface SlicePart {
  tasks: number;
  readonly byScorer: Map<string, ClusteredMean>;
}

type DescribedScores = Readonly<Record<string, Pick<ScoreDescription, "kind" | "scale">>>;

export class SliceAggregate {
  private readonly parts = new Map<SliceName, Map<string, SlicePart>>(SLICES.map((slice) => [slice, new Map()]));
  private hasSuite = false;

  /** Adds a question: its number of tasks, and by scorer the values of the completed ones. */
  add(question: TaskResult, tasks: number, scored: ReadonlyMap<string, readonly number[]>): void {
    const { suite } = question;
    if (suite !== undefined) {
      this.hasSuite = true;
      for (const slice of SUITE_SLICES) {
        for (const value of SUITE_PARTS[slice](suite)) this.addTo(slice, value, tasks, scored);
      }
      return;
    }
    for (const slice of QUESTION_SLICES) {
      const value = QUESTION_PART[slice](question);
      if (value !== null) this.addTo(slice, value, tasks, scored);
    }
  }

  private addTo(slice: SliceName, value: string, tasks: number, scored: ReadonlyMap<string, readonly number[]>): void {
    const parts = this.parts.get(slice);
    const part = parts?.get(value) ?? { tasks: 0, byScorer: new Map<string, ClusteredMean>() };
    parts?.set(value, part);
    part.tasks += tasks;
    for (const [name, values] of scored) {
      const sums = part.byScorer.get(name) ?? new ClusteredMean();
      part.byScorer.set(name, sums);
      const squares = values.reduce((sum, score) => sum + score * score, 0);
      sums.add(
        values.length,
        values.reduce((sum, score) => sum + score, 0),
        squares,
      );
    }
  }

  /** Estimates for the scores of the whole run, each of the same kind as there. */
  figures(scores: DescribedScores): RunTotals["slices"] {
    const of = (slice: SliceName) => this.slicesOf(slice, scores);
    const questions = { inbox: of("inbox"), realism: of("realism"), sources: of("sources"), year: of("year") };
    if (!this.hasSuite) return questions;
    const suites = { tool: of("tool"), difficulty: of("difficulty"), guidance: of("guidance") };
    return { ...questions, ...suites, app: of("app"), tag: of("tag") };
  }

  private slicesOf(slice: SliceName, scores: DescribedScores): Slice[] {
    return [...(this.parts.get(slice) ?? [])].toSorted(byPart(slice)).map(([value, { tasks, byScorer }]) => {
      const estimates: Record<string, Estimate> = {};
      for (const [name, entry] of Object.entries(scores)) {
        const sums = byScorer.get(name);
        estimates[name] = sums === undefined ? NO_ESTIMATE : estimateOf(entry, sums);
      }
      return { value, tasks, scores: estimates };
    });
  }
}

/** Difficulties from easy to hard, everything else by its name. */
function byPart(slice: SliceName): (a: readonly [string, SlicePart], b: readonly [string, SlicePart]) => number {
  if (slice !== "difficulty") return ([a], [b]) => a.localeCompare(b, "en", { numeric: true });
  const order: readonly string[] = DIFFICULTIES;
  const rank = (value: string) => order.indexOf(value);
  return ([a], [b]) => rank(a) - rank(b);
}

/** The k for which pass@k and pass^k are reported: all up to ten, then doubling. */
const REPORTED_K = [1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 16, 32, 64, 128, 256, 512, 1_000];

/** What a `ClusteredMean` takes of a cluster's values. */
interface ClusterSums {
  readonly n: number;
  readonly sum: number;
  readonly squares: number;
}

const SHARE: Scale = { min: 0, max: 1 };

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
