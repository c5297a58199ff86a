// Computes each score of a run with its interval, for the run and per slice, one task result at a time.
import { isEvalScore } from "../evals/definition.js";
import { appliesTo, type ScorerName } from "../scoring/scorers.js";
import { type Estimate, NO_ESTIMATE, type Scale } from "../statistics/estimate.js";
import { ClusteredMean } from "../statistics/intervals.js";
import { passAtK, passHatK } from "../statistics/pass-at-k.js";
import { isFailure } from "../tasks/ending.js";
import type { SelectionCounts } from "../tasks/selection.js";
import { DIFFICULTIES, difficultyOf, instructionStyleOf, realismBand } from "../tasks/task-groups.js";
import type { Repeats, RunTotals, ScoreFigures, Slice } from "../traces/run-totals.js";
import { isFailureZero, type ScoreDescription } from "../traces/score.js";
import { scorableOf, type TaskResult } from "../traces/task-result.js";
import { QUESTION_SLICES, SLICES, type SliceName, type SUITE_SLICES } from "../traces/task-slices.js";

/**
 * Whether a task's value counts in the figures of a score. Evals can also fail failed tasks, and these results count
 * like any other value. A failed episode has a reward, which does not count.
 */
export function countsInScore(scorer: string, result: Pick<TaskResult, "ending" | "suite">): boolean {
  return isEvalScore(scorer) || result.suite !== undefined || isGraded(result);
}

/** A suite task can be graded after a timeout. */
export function isGraded({ ending, suite }: Pick<TaskResult, "ending" | "suite">): boolean {
  return !isFailure(ending) || (suite?.score ?? null) !== null;
}

/**
 * Computes every score of a run with its interval, for the run and per slice. The epochs of a question must be added
 * consecutively, because they form one cluster. Memory does not grow with the number of tasks.
 */
export class AllScores {
  private question: TaskResult[] = [];
  private maxEpochs = 0;
  private hasGraded = false;
  private readonly byScorer = new Map<string, ScoreAggregate>();
  private readonly slices = new SliceAggregate();
  private readonly selections = new MicroSelection();
  /**
   * Per known score, the failed tasks of questions without a value. They count as wrong for every applicable scorer.
   */
  private readonly onlyFailed: ReadonlyMap<string, ClusteredMean>;
  /** The same for scorers that this version does not have. */
  private readonly failedQuestions = new ClusteredMean();

  /**
   * @param descriptions the scores of this version, in display order
   * @param measured the run's scorers
   */
  constructor(
    private readonly descriptions: Readonly<Record<string, ScoreDescription>>,
    private readonly measured: readonly string[] = [],
  ) {
    this.onlyFailed = new Map(Object.keys(descriptions).map((name) => [name, new ClusteredMean()]));
  }

  add(result: TaskResult): void {
    if (this.question[0]?.taskId !== result.taskId) this.endQuestion();
    this.question.push(result);
    if (isGraded(result)) this.selections.add(result);
  }

  figures(): Pick<RunTotals, "scores" | "slices"> {
    this.endQuestion();
    const names = [...new Set([...Object.keys(this.descriptions), ...this.byScorer.keys()])];
    const entries: Record<string, ScoreDescription> = {};
    const scores: Record<string, ScoreFigures> = {};
    for (const name of names) {
      const sums = this.byScorer.get(name) ?? this.sumsOfFailedRun(name);
      if (sums === null) continue;
      const entry = this.descriptions[name] ?? unknownScorer(name, sums);
      entries[name] = entry;
      const onlyFailed = isEvalScore(name) ? NONE_FAILED : (this.onlyFailed.get(name) ?? this.failedQuestions);
      scores[name] = sums.figures(entry, onlyFailed, this.maxEpochs > 1);
    }
    for (const [name, estimate] of Object.entries(this.selections.figures())) {
      const figures = scores[name];
      if (figures !== undefined) scores[name] = { ...figures, micro: estimate };
    }
    return { scores, slices: this.slices.figures(entries) };
  }

  /** If every task failed, no result names the run's scores, but over all tasks, each of them is 0. */
  private sumsOfFailedRun(name: string): ScoreAggregate | null {
    const hasOnlyFailed =
      this.maxEpochs > 0 && !this.hasGraded && this.measured.includes(name) && name in this.descriptions;
    return hasOnlyFailed ? new ScoreAggregate(true) : null;
  }

  private endQuestion(): void {
    const [first] = this.question;
    if (first === undefined) return;
    const failed = this.question.filter((result) => !isGraded(result)).length;
    if (failed < this.question.length) this.hasGraded = true;
    this.maxEpochs = Math.max(this.maxEpochs, this.question.length);
    const scored = scoresOf(this.question);
    if (failed > 0) this.addFailed(first, failed, scored);
    for (const [name, values] of scored) {
      const sums = this.byScorer.get(name) ?? new ScoreAggregate();
      this.byScorer.set(name, sums);
      if (isEvalScore(name)) sums.add(values, countUnjudged(name, this.question), first.inbox);
      else if (values.length > 0) sums.add(values, failed, first.inbox);
    }
    this.slices.add(first, this.question.length, scored);
    this.question = [];
  }

  private addFailed(question: TaskResult, failed: number, scored: ReadonlyMap<string, readonly number[]>): void {
    const scorable = scorableOf(question);
    for (const [name, sums] of this.onlyFailed) {
      // Failed epochs of a scored question are counted in the question's own cluster.
      if ((scored.get(name) ?? []).length > 0) continue;
      if (appliesTo(name, scorable)) sums.add(failed, 0);
    }
    if ([...scored.keys()].every(isEvalScore)) this.failedQuestions.add(failed, 0);
  }
}

/** F1, precision and recall over the emails of all tasks together, so that tasks with many emails count more. */
export class MicroSelection {
  private readonly inboxes = new Map<string, SelectionCounts>();

  add({ inbox, selection }: Pick<TaskResult, "inbox" | "selection">): void {
    if (selection === undefined) return;
    const { hits, misses, falseAlarms } = this.inboxes.get(inbox) ?? { hits: 0, misses: 0, falseAlarms: 0 };
    this.inboxes.set(inbox, {
      hits: hits + selection.hits,
      misses: misses + selection.misses,
      falseAlarms: falseAlarms + selection.falseAlarms,
    });
  }

  /** Returns the estimates by scorer. Empty without a selection. */
  figures(): Partial<Record<ScorerName, Estimate>> {
    if (this.inboxes.size === 0) return {};
    const over = (parts: (counts: SelectionCounts) => { readonly hits: number; readonly all: number }) => {
      const sums = new ClusteredMean();
      for (const counts of this.inboxes.values()) {
        const { hits, all } = parts(counts);
        sums.add(all, hits);
      }
      return sums.mean(SHARE);
    };
    return {
      selectionF1: over(({ hits, misses, falseAlarms }) => ({ hits: 2 * hits, all: 2 * hits + misses + falseAlarms })),
      selectionPrecision: over(({ hits, falseAlarms }) => ({ hits, all: hits + falseAlarms })),
      selectionRecall: over(({ hits, misses }) => ({ hits, all: hits + misses })),
    };
  }
}

/** Evals add their failed tasks themselves. */
const NONE_FAILED = new ClusteredMean();

/** Returns the number of failed tasks that an eval neither passed nor failed. They count as wrong over all tasks. */
function countUnjudged(name: string, question: readonly TaskResult[]): number {
  return question.filter((result) => !isGraded(result) && result.scores[name] === null).length;
}

/** Returns the values that count, per scorer, for the tasks of one question. */
function scoresOf(question: readonly TaskResult[]): Map<string, number[]> {
  const scored = new Map<string, number[]>();
  for (const result of question) {
    for (const [name, value] of Object.entries(result.scores)) {
      if (!countsInScore(name, result)) continue;
      const values = scored.get(name) ?? [];
      if (value !== null) values.push(value);
      scored.set(name, values);
    }
  }
  return scored;
}

/** Describes a scorer of another version. Its kind is guessed from its values. */
function unknownScorer(name: string, sums: ScoreAggregate): ScoreDescription {
  const kind = sums.isBinary ? "rate" : "mean";
  return { label: name, kind, better: "higher", meaning: "", ...(isEvalScore(name) && { scale: SHARE }) };
}

type Parts<Slices extends readonly SliceName[]> = Readonly<Record<Slices[number], readonly string[]>>;

/** Returns the parts of each slice that contain a task. A suite task can have several tags and applications. */
function partsOf(task: TaskResult): Parts<typeof QUESTION_SLICES> | Parts<typeof SUITE_SLICES> {
  const { suite, inbox, howRealistic, goldSources, queryDate } = task;
  if (suite === undefined) {
    return {
      inbox: [inbox],
      realism: howRealistic === null ? [] : [realismBand(howRealistic)],
      sources: [String(goldSources)],
      year: queryDate === null ? [] : [queryDate.slice(0, 4)],
    };
  }
  return {
    tool: [suite.tool],
    difficulty: [difficultyOf(suite.actionNumber)],
    guidance: [instructionStyleOf(suite.tags) ?? "not given"],
    app: [...new Set(suite.relatedApps)],
    tag: [...new Set(suite.tags)],
  };
}

interface SlicePart {
  tasks: number;
  readonly byScorer: Map<string, ClusteredMean>;
}

type DescribedScores = Readonly<Record<string, Pick<ScoreDescription, "kind" | "scale">>>;

class SliceAggregate {
  private readonly parts = new Map<string, Map<string, SlicePart>>(SLICES.map((slice) => [slice, new Map()]));
  private hasSuite = false;

  /** Adds a question: its number of tasks, and the values of the completed tasks per scorer. */
  add(question: TaskResult, tasks: number, scored: ReadonlyMap<string, readonly number[]>): void {
    this.hasSuite ||= question.suite !== undefined;
    for (const [slice, values] of Object.entries(partsOf(question))) {
      for (const value of values) this.addTo(slice, value, tasks, scored);
    }
  }

  private addTo(slice: string, value: string, tasks: number, scored: ReadonlyMap<string, readonly number[]>): void {
    const parts = this.parts.get(slice);
    const part = parts?.get(value) ?? { tasks: 0, byScorer: new Map<string, ClusteredMean>() };
    parts?.set(value, part);
    part.tasks += tasks;
    for (const [name, values] of scored) {
      const sums = part.byScorer.get(name) ?? new ClusteredMean();
      part.byScorer.set(name, sums);
      sums.add(values.length, sumOf(values));
    }
  }

  /** Estimates the scores of each slice with the same kind of interval as for the entire run. */
  figures(scores: DescribedScores): RunTotals["slices"] {
    const of = <S extends SliceName>(slices: readonly S[]) =>
      Object.fromEntries(slices.map((slice) => [slice, this.slicesOf(slice, scores)])) as Record<S, Slice[]>;
    return this.hasSuite ? of(SLICES) : of(QUESTION_SLICES);
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

/** Orders difficulties from easy to hard and other values by name. */
function byPart(slice: SliceName): (a: readonly [string, SlicePart], b: readonly [string, SlicePart]) => number {
  if (slice !== "difficulty") return ([a], [b]) => a.localeCompare(b, "en", { numeric: true });
  const order: readonly string[] = DIFFICULTIES;
  const rank = (value: string) => order.indexOf(value);
  return ([a], [b]) => rank(a) - rank(b);
}

/** The reported k of pass@k and pass^k: all up to 10, then about doubling. */
const REPORTED_K = [1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 16, 32, 64, 128, 256, 512, 1_000];

const SHARE: Scale = { min: 0, max: 1 };

class ScoreAggregate {
  private readonly completed = new ClusteredMean();
  private readonly withFailed = new ClusteredMean();
  /** Sums per inbox. Empty for suite tasks, which are not about an inbox. */
  private readonly inboxes = new Map<string, { readonly n: number; readonly sum: number }>();
  private readonly tries = new RepeatedTries();
  private binary = true;
  private lowest = 0;
  private highest = 0;

  /** @param hasValues without values, failed tasks count as 0 only if no task was graded */
  constructor(private hasValues = false) {}

  /** Adds a question's values and its number of failed tasks without a value. */
  add(values: readonly number[], failed: number, inbox: string): void {
    const [n, sum] = [values.length, sumOf(values)];
    this.withFailed.add(n + failed, sum);
    if (n === 0) return;
    this.hasValues = true;
    this.completed.add(n, sum);
    if (inbox !== "") {
      const inboxSums = this.inboxes.get(inbox) ?? { n: 0, sum: 0 };
      this.inboxes.set(inbox, { n: inboxSums.n + n, sum: inboxSums.sum + sum });
    }
    this.lowest = Math.min(this.lowest, ...values);
    this.highest = Math.max(this.highest, ...values);
    this.binary &&= values.every((value) => value === 0 || value === 1);
    if (this.binary) this.tries.add(n, sum);
  }

  get isBinary(): boolean {
    return this.binary;
  }

  figures(entry: ScoreDescription, onlyFailed: ClusteredMean, repeated: boolean): ScoreFigures {
    const { label, kind, better, meaning } = entry;
    const estimate = (sums: ClusteredMean) => estimateOf(entry, sums);
    const byInbox = new ClusteredMean();
    for (const { n, sum } of this.inboxes.values()) byInbox.add(n, sum);
    const { low, high } = estimate(byInbox);
    const failureIsZero = this.hasValues && isFailureZero({ ...entry, scale: this.scaleOf(entry) });
    return {
      label,
      kind,
      better,
      meaning,
      ...estimate(this.completed),
      overAll: failureIsZero ? estimate(this.withFailed.union(onlyFailed)) : NO_ESTIMATE,
      byInbox: { low, high, inboxes: this.inboxes.size },
      ...(repeated && kind === "rate" && this.binary && better === "higher" ? { repeats: this.tries.figures() } : {}),
    };
  }

  /** Returns the scorer's scale, or one that follows from the values for a scorer of another version. */
  private scaleOf({ scale }: ScoreDescription): Scale {
    return scale ?? (this.lowest >= 0 && this.highest <= 1 ? SHARE : {});
  }
}

/** pass@k and pass^k of a rate over questions with several epochs. */
export class RepeatedTries {
  private readonly sums = new Map<number, { some: ClusteredMean; all: ClusteredMean }>();

  /** Adds a question with `n` values, of which `right` are 1 and the others 0. */
  add(n: number, right: number): void {
    for (const k of REPORTED_K) {
      if (k > n) return;
      const { some, all } = this.sums.get(k) ?? { some: new ClusteredMean(), all: new ClusteredMean() };
      some.add(1, passAtK(n, right, k));
      all.add(1, passHatK(n, right, k));
      this.sums.set(k, { some, all });
    }
  }

  figures(): Repeats {
    return [...this.sums].map(([k, { some, all }]) => ({ k, passAtK: some.mean(SHARE), passHatK: all.mean(SHARE) }));
  }
}

/** Returns the estimate with the interval for a rate or for a mean. */
export function estimateOf({ kind, scale }: Pick<ScoreDescription, "kind" | "scale">, sums: ClusteredMean): Estimate {
  return kind === "rate" ? sums.rate() : sums.mean(scale);
}

function sumOf(values: readonly number[]): number {
  return values.reduce((sum, value) => sum + value, 0);
}
