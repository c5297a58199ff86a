// Compares two runs question by question, and a run with ART-E's published results.
import { z } from "zod";
import { isEvalScore } from "../evals/definition.js";
import { UserError } from "../platform/errors.js";
import { didYouMean } from "../platform/near-names.js";
import { compact } from "../platform/optional-values.js";
import { appliesTo, SCORES } from "../scoring/scorers.js";
import { DesignEffect } from "../statistics/design-effect.js";
import type { Estimate } from "../statistics/estimate.js";
import { meanOf, NamedCounts } from "../statistics/intervals.js";
import { computePower } from "../statistics/power.js";
import { mcnemar, pairedDifference, signFlipTest } from "../statistics/significance.js";
import { canBeRetried, type FailedTasks } from "../tasks/ending.js";
import { compareTaskIds, type TaskId } from "../tasks/question.js";
import { taskKindOf } from "../tasks/task-kind.js";
import { METRIC_ALIASES, type ScoredTasks, scorerOfMetric } from "../traces/headline-score.js";
import { benchmarkResultSchema, scoreFiguresSchema } from "../traces/run-totals.js";
import { scaleOf } from "../traces/score.js";
import { modelAndToolTimeOf, scorableOf, type TaskResult, taskResultSchema } from "../traces/task-result.js";
import { type ClusteredQuestion, type Clustering, type Clusters, clustersOf } from "./question-clusters.js";
import { isGraded } from "./score-aggregate.js";

/**
 * OpenPipe's published ART-E results (https://openpipe.ai/blog/art-e-mail-agent). They include no intervals and no
 * denominators. Null means not published.
 */
export const PUBLISHED = {
  figures: [
    { model: "ART-E 14B", accuracy: 0.96, secondsPerTask: 1.1, usdPerThousand: 0.85 },
    { model: "o3", accuracy: 0.9, secondsPerTask: 5.6, usdPerThousand: 55.19 },
    { model: "o4-mini", accuracy: 0.88, secondsPerTask: 3.4, usdPerThousand: 7.88 },
    { model: "Gemini 2.5 Pro", accuracy: 0.76, secondsPerTask: null, usdPerThousand: null },
    { model: "GPT-4.1", accuracy: 0.71, secondsPerTask: null, usdPerThousand: null },
  ],
  protocol:
    "agent art-e on the first 100 test questions with one gold email each, without seven known bad questions; mail imported through ART's filter; no cutoff; judge gemini-2.0-flash with True or False; no intervals",
};

interface QuestionPair extends ValuePair {
  readonly taskId: TaskId;
}

interface ValuePair {
  readonly before: number;
  readonly after: number;
  /** Pairs with the same cluster depend on each other. Absent for independent pairs. */
  readonly cluster?: string;
}

export type MetricDescription = Pick<MetricComparison, "metric" | "label" | "kind" | "better">;

/** The run properties that determine its questions and mail. */
export type RunIdentity = Pick<RunHead, "dataset" | "split" | "corpusFingerprint" | "settings">;

interface ComparedQuestion extends ClusteredQuestion {
  readonly question: string;
  /** The first answer, or an empty string. For a suite task: its state and the reason it was not solved. */
  readonly answer: string;
  /** The mean per metric over the completed epochs with a value. */
  readonly values: Readonly<Record<string, number>>;
  /** The same with failed epochs as wrong, for the scores in which a failed task counts as 0. */
  readonly withFailed: Readonly<Record<string, number>>;
}

export interface ComparableRun {
  readonly head: RunHead;
  readonly questions: ReadonlyMap<TaskId, ComparedQuestion>;
}

/** A question that the two runs answered differently well. */
export interface Flip {
  readonly taskId: TaskId;
  readonly inbox: string;
  readonly question: string;
  readonly baseline: number;
  readonly candidate: number;
  readonly baselineAnswer: string;
  readonly candidateAnswer: string;
}

export interface RunComparison {
  readonly baseline: string;
  readonly candidate: string;
  readonly questions: { readonly common: number; readonly onlyBaseline: number; readonly onlyCandidate: number };
  /** The clusters that intervals and tests are computed with. */
  readonly clusters: Clustering;
  /** Whether failed tasks are wrong in the scores or left out, and their number in each run. */
  readonly failed: { readonly counted: FailedTasks; readonly baseline: number; readonly candidate: number };
  /** Number of ungraded suite tasks, which score comparisons leave out. It is null for runs over questions. */
  readonly ungraded: { readonly baseline: number; readonly candidate: number } | null;
  /** Reasons why the runs are incomparable, if any. */
  readonly incomparable: readonly string[];
  /** Names of the settings that differ. */
  readonly settings: readonly string[];
  readonly metrics: readonly MetricComparison[];
  /**
   * Labels of the figures that only one run has, and that are therefore not compared. For example, art-e does not see
   * the searches of an external agent with tools of its own.
   */
  readonly onlyIn: { readonly baseline: readonly string[]; readonly candidate: readonly string[] };
  /** The largest losses and wins on the first metric. */
  readonly flips: { readonly metric: string; readonly lost: readonly Flip[]; readonly won: readonly Flip[] };
}

export interface MetricComparison {
  readonly metric: string;
  readonly label: string;
  readonly kind: "rate" | "mean";
  readonly better: "higher" | "lower";
  /** The baseline's mean over the pairs, or null without pairs. */
  readonly baseline: number | null;
  readonly candidate: number | null;
  /** Candidate minus baseline. `n` counts questions. */
  readonly difference: Estimate;
  /** Factor by which dependent questions increase the variance of the difference. 1 for independent questions. */
  readonly designEffect: number;
  /**
   * Two-sided p value: McNemar's exact test if every pair is right or wrong and independent, otherwise the sign-flip
   * test over clusters.
   */
  readonly p: number | null;
  readonly test: "mcnemar" | "sign_flip";
  /** Number of questions that the candidate does better on. Losses and ties are counted the same way. */
  readonly wins: number;
  readonly losses: number;
  readonly ties: number;
  /** The value of every question in both runs, or null if they vary. */
  readonly constant: number | null;
  /** `better` and `worse` mean that the interval excludes 0 and p is below 0.05. Otherwise null. */
  readonly verdict: "better" | "worse" | null;
  /**
   * Additional questions for 80% power at the observed difference. 0 if there are enough. Null without a difference.
   */
  readonly moreQuestions: number | null;
  /** The smallest difference that this number of questions detects with 80% power. */
  readonly detectable: number | null;
  /** Absent if not requested. Null for a metric without two ends, such as the cost. */
  readonly sequential?: SequentialFigures | null;
  /**
   * The difference if failed tasks are counted the other way: over the completed tasks, or with failed ones as wrong.
   * Absent if it is the same.
   */
  readonly otherwise?: Estimate;
}

/** What an always-valid test says about one score of two runs. */
export interface SequentialFigures {
  /** Candidate minus baseline with the always-valid 95% interval. May be read at any time. */
  readonly difference: Estimate;
  /** Evidence against equal runs. Equal runs ever reach 20 with a probability of at most 5%. */
  readonly eValue: number;
  /** Null if the interval contains 0. */
  readonly verdict: "better" | "worse" | null;
  /** The same for several candidates, by the e-BH procedure: at most 5% of the verdicts are expected to be false. */
  readonly correctedVerdict: "better" | "worse" | null;
  /** Holm's correction of the fixed-n p value. May be read only at the planned number of questions. */
  readonly correctedP: number | null;
}

/** Returns the scorers for the requested metrics. Throws a UserError for a metric without a score. */
export function scorersAmong(names: readonly string[], scores: ScoredTasks): string[] {
  const scorers = names.map((metric) => scorerOfMetric(metric, scores));
  const unknown = names.find((_, i) => scores[scorers[i] ?? ""] === undefined);
  if (unknown === undefined) return [...new Set(scorers)];
  throw unknownMetric(unknown, [...Object.keys(METRIC_ALIASES), ...Object.keys(scores)]);
}

export function unknownMetric(name: string, known: readonly string[]): UserError {
  return new UserError(
    "metric_unknown",
    `Unknown metric "${name}".`,
    `${didYouMean(name, known)}Available: ${known.join(", ")}.`,
  );
}

/** Returns the scores that both runs have values for, with the smaller number of tasks. */
export function sharedScores(a: RunHead, b: RunHead, failed: FailedTasks = "wrong"): ScoredTasks {
  const shared = Object.keys(a.scores).flatMap((name) => {
    const n = Math.min(tasksWith(name, a, failed), tasksWith(name, b, failed));
    return n > 0 ? [[name, { n }] as const] : [];
  });
  return Object.fromEntries(shared);
}

/** Returns the number of tasks with a value of the score, including wrong ones of a run whose tasks all failed. */
function tasksWith(score: string, { scores, completedTasks }: RunHead, failed: FailedTasks): number {
  const { n = 0, overAll = { n: 0 } } = scores[score] ?? {};
  return failed === "wrong" && completedTasks === 0 ? Math.max(n, overAll.n) : n;
}

/** Tolerance for rounding: sums of the same numbers in a different order differ in their last digits, even from 0. */
const ROUNDING = { relative: 1e-9, absolute: 1e-12 };

/** Returns the clusters of the questions that both runs have. */
function sharedClusters(baseline: ComparableRun, candidate: ComparableRun): Clusters {
  return clustersOf(new Map([...baseline.questions].filter(([taskId]) => candidate.questions.has(taskId))));
}

/** Returns the questions with a value of the metric in both runs. */
export function pairsOf(
  metric: string,
  baseline: ComparableRun,
  candidate: ComparableRun,
  failed: FailedTasks = "wrong",
  clusters: Clusters = sharedClusters(baseline, candidate),
): QuestionPair[] {
  const values = failed === "wrong" ? "withFailed" : "values";
  return [...baseline.questions].flatMap(([taskId, question]) => {
    const before = question[values][metric];
    const after = candidate.questions.get(taskId)?.[values][metric];
    if (before === undefined || after === undefined) return [];
    const isSame =
      Math.abs(after - before) <= ROUNDING.absolute + ROUNDING.relative * Math.max(Math.abs(before), Math.abs(after));
    return [{ taskId, before, after: isSame ? before : after, cluster: clusters.of(taskId) }];
  });
}

/**
 * Returns the candidate's result on each of the baseline's questions, one letter per question: w for won, l for lost, t
 * for tied, and `-` if a value is missing.
 */
export function pairOutcomes(
  { metric, better }: Pick<MetricDescription, "metric" | "better">,
  baseline: ComparableRun,
  candidate: ComparableRun,
): string {
  const sign = better === "higher" ? 1 : -1;
  const letters = new Map(
    pairsOf(metric, baseline, candidate).map(({ taskId, before, after }) => {
      const gain = sign * (after - before);
      return [taskId, gain > 0 ? "w" : gain < 0 ? "l" : "t"] as const;
    }),
  );
  return [...baseline.questions.keys()].map((taskId) => letters.get(taskId) ?? "-").join("");
}

export function comparePairs(metric: MetricDescription, pairs: readonly ValuePair[]): MetricComparison {
  const differences = pairs.map(({ before, after }) => after - before);
  const clusters = clustersOfPairs(pairs);
  const designEffect = DesignEffect.of(differences, clusters);
  const difference = pairedDifference(differences, widthOf(metric), clusters);
  const up = differences.filter((value) => value > 0).length;
  const down = differences.filter((value) => value < 0).length;
  const isBinary = pairs.every(({ before, after }) => [0, 1].includes(before) && [0, 1].includes(after));
  const test = metric.kind === "rate" && isBinary && clusters === null ? "mcnemar" : "sign_flip";
  const p = pairs.length === 0 ? null : test === "mcnemar" ? mcnemar(up, down) : signFlipTest(differences, clusters);
  const higherIsBetter = metric.better === "higher";
  const { moreNeeded, detectable } = computePower(differences, designEffect);
  return {
    ...metric,
    baseline: meanOf(pairs.map(({ before }) => before)),
    candidate: meanOf(pairs.map(({ after }) => after)),
    difference,
    designEffect,
    p,
    test,
    wins: higherIsBetter ? up : down,
    losses: higherIsBetter ? down : up,
    ties: pairs.length - up - down,
    constant: pairs.every(({ before, after }) => before === pairs[0]?.before && after === before)
      ? (pairs[0]?.before ?? null)
      : null,
    verdict: significanceOf(difference, p, higherIsBetter),
    moreQuestions: moreNeeded,
    detectable,
  };
}

/** Returns the cluster of each pair, or null if each pair has its own. */
export function clustersOfPairs(pairs: readonly Pick<ValuePair, "cluster">[]): string[] | null {
  const clusters = pairs.flatMap(({ cluster }) => cluster ?? []);
  return new Set(clusters).size === pairs.length || clusters.length < pairs.length ? null : clusters;
}

/** Returns the distance between a metric's lowest and highest value. It is infinite for cost, time and turns. */
export function widthOf({ metric, kind }: Pick<MetricDescription, "metric" | "kind">): number {
  const { min, max } = scaleOf(SCORES[metric] ?? { kind });
  return max - min;
}

function significanceOf(
  { value, low, high }: MetricComparison["difference"],
  p: number | null,
  higherIsBetter: boolean,
): MetricComparison["verdict"] {
  if (value === null || p === null || p >= 0.05) return null;
  // A value without limits, such as turns, has no interval if all differences are equal. Its exact test decides.
  if (low !== null && high !== null && low <= 0 && high >= 0) return null;
  return value > 0 === higherIsBetter ? "better" : "worse";
}

/** Maximum stored length of a question or answer in characters, enough to recognize it. */
const MAX_CHARS = 300;

/**
 * Cost, time and turns per task, compared like scores (lower is better). Waiting time is excluded, because it does not
 * depend on the agent.
 */
const EFFORT = {
  costUsd: { label: "Agent cost per task, $", read: (task: TaskResult) => task.costUsd },
  modelAndToolTimeMs: { label: "Model and tool time, ms", read: modelAndToolTimeOf },
  turns: { label: "Turns per task", read: (task: TaskResult) => task.turns },
} as const;

interface QuestionSums {
  readonly first: TaskResult;
  answer: string;
  /** Number of failed epochs without a grade. */
  failed: number;
  /** The same per eval that neither passed nor failed them. */
  readonly unjudged: NamedCounts;
  readonly byMetric: Map<string, [sum: number, n: number]>;
}

/** Groups the epochs of each question. Failed tasks have values only if they are suite tasks graded after a timeout. */
export class QuestionTally {
  private readonly sums = new Map<TaskId, QuestionSums>();

  add(task: TaskResult): void {
    const question: QuestionSums = this.sums.get(task.taskId) ?? {
      first: task,
      answer: "",
      failed: 0,
      unjudged: new NamedCounts(),
      byMetric: new Map(),
    };
    this.sums.set(task.taskId, question);
    const failed = canBeRetried(task.ending);
    question.answer ||= outcomeText(task, failed).slice(0, MAX_CHARS);
    if (!isGraded(task)) {
      question.failed++;
      for (const [name, value] of Object.entries(task.scores)) if (value === null) question.unjudged.add(name);
    }
    const effort = failed ? [] : Object.entries(EFFORT).map(([name, { read }]) => [name, read(task)] as const);
    for (const [name, value] of [...Object.entries(task.scores), ...effort]) {
      if (value === null) continue;
      const [sum, n] = question.byMetric.get(name) ?? [0, 0];
      question.byMetric.set(name, [sum + value, n + 1]);
    }
  }

  /** @param scores the run's scores */
  questions(scores: RunHead["scores"]): Map<TaskId, ComparedQuestion> {
    const questions = new Map<TaskId, ComparedQuestion>();
    for (const [taskId, sums] of this.sums) {
      const { first, answer, byMetric } = sums;
      const values = Object.fromEntries([...byMetric].map(([name, [sum, n]]) => [name, sum / n]));
      const withFailed = sums.failed === 0 ? values : { ...values, ...meansWithFailed(sums, scores) };
      const question = first.question.slice(0, MAX_CHARS);
      questions.set(taskId, { question, inbox: first.inbox, topics: topicsOf(first), answer, values, withFailed });
    }
    return questions;
  }
}

function topicsOf({ taskId, goldEmails = [], suite }: TaskResult): readonly string[] {
  const counterpart = suite?.counterpart ?? null;
  return counterpart === null ? goldEmails : [[String(taskId), counterpart].sort().join(" ")];
}

/** Returns the mean per score over all epochs of a question, with failed ones as wrong. */
function meansWithFailed({ first, failed, unjudged, byMetric }: QuestionSums, scores: RunHead["scores"]) {
  const question = scorableOf(first);
  const means: Record<string, number> = {};
  for (const [name, { overAll }] of Object.entries(scores)) {
    // The run's own figure decides whether failed tasks count as 0.
    if (overAll.n === 0 || !appliesTo(name, question)) continue;
    const [sum, n] = byMetric.get(name) ?? [0, 0];
    const asWrong = isEvalScore(name) ? (unjudged.counts[name] ?? 0) : failed;
    if (n + asWrong > 0) means[name] = sum / (n + asWrong);
  }
  return means;
}

export function comparableRun(head: RunHead, results: Iterable<TaskResult>): ComparableRun {
  const tally = new QuestionTally();
  for (const task of results) tally.add(task);
  return { head, questions: tally.questions(head.scores) };
}

function outcomeText({ suite, agentAnswer }: TaskResult, failed: boolean): string {
  if (suite !== undefined) return [suite.state, suite.reason].filter((part) => part !== "").join(": ");
  return failed ? "" : agentAnswer;
}

/**
 * Compares two runs on the questions with values in both.
 * @param scorers metrics to compare, followed by cost, time and turns. The first one determines the flips.
 * @param flips maximum number of flips per side
 */
export function compareRuns(
  baseline: ComparableRun,
  candidate: ComparableRun,
  scorers: readonly string[],
  flips: number,
  failed: FailedTasks = "wrong",
): RunComparison {
  const common = [...baseline.questions.keys()].filter((id) => candidate.questions.has(id));
  const metrics = [...scorers.map((name) => describeMetric(name, baseline.head)), ...EFFORTS];
  const first = metrics[0] as MetricDescription;
  const clusters = sharedClusters(baseline, candidate);
  const { by, n, mailboxes } = clusters;
  return {
    baseline: baseline.head.runId,
    candidate: candidate.head.runId,
    questions: {
      common: common.length,
      onlyBaseline: baseline.questions.size - common.length,
      onlyCandidate: candidate.questions.size - common.length,
    },
    clusters: { by, n, mailboxes },
    failed: { counted: failed, baseline: baseline.head.failedTasks, candidate: candidate.head.failedTasks },
    ungraded: ungradedTasks(baseline.head, candidate.head, failed),
    incomparable: incomparable(baseline.head, candidate.head),
    settings: differingSettings(baseline.head, candidate.head),
    metrics: metrics.map((metric) => {
      const compared = comparePairs(metric, pairsOf(metric.metric, baseline, candidate, failed, clusters));
      return { ...compared, ...countedOtherwise(compared, baseline, candidate, failed, clusters) };
    }),
    onlyIn: {
      baseline: figuresOnlyIn(baseline, candidate, failed),
      candidate: figuresOnlyIn(candidate, baseline, failed),
    },
    flips: { metric: first.metric, ...findFlips(first, baseline, candidate, flips, failed) },
  };
}

/** Returns the labels of the figures that have values in a run and none in the other. */
function figuresOnlyIn(run: ComparableRun, other: ComparableRun, failed: FailedTasks): string[] {
  const scores = Object.keys(run.head.scores)
    .filter((name) => tasksWith(name, run.head, failed) > 0 && tasksWith(name, other.head, failed) === 0)
    .map((name) => describeMetric(name, run.head).label);
  const has = ({ questions }: ComparableRun, metric: string) =>
    [...questions.values()].some(({ values }) => values[metric] !== undefined);
  const efforts = EFFORTS.filter(({ metric }) => has(run, metric) && !has(other, metric)).map(({ label }) => label);
  return [...scores, ...efforts];
}

function countedOtherwise(
  metric: MetricComparison,
  baseline: ComparableRun,
  candidate: ComparableRun,
  failed: FailedTasks,
  clusters: Clusters,
): Pick<MetricComparison, "otherwise"> {
  if (baseline.head.failedTasks + candidate.head.failedTasks === 0) return {};
  const pairs = pairsOf(metric.metric, baseline, candidate, failed === "wrong" ? "exclude" : "wrong", clusters);
  const otherwise = pairedDifference(
    pairs.map(({ before, after }) => after - before),
    widthOf(metric),
    clustersOfPairs(pairs),
  );
  const isSame = otherwise.n === metric.difference.n && otherwise.value === metric.difference.value;
  return isSame ? {} : { otherwise };
}

function ungradedTasks(a: RunHead, b: RunHead, failed: FailedTasks): RunComparison["ungraded"] {
  if (a.suite === undefined || b.suite === undefined) return null;
  const leftOut = ({ totalTasks, suite, scores: { taskScore } }: RunHead) =>
    totalTasks - Math.max(suite?.graded ?? 0, failed === "wrong" ? (taskScore?.overAll.n ?? 0) : 0);
  return { baseline: leftOut(a), candidate: leftOut(b) };
}

/** Describes why two runs are not comparable: different questions, mail or cutoffs. Empty if they are comparable. */
export function incomparable(a: RunIdentity, b: RunIdentity): string[] {
  const sameDataset =
    a.dataset.sha256 === b.dataset.sha256 || (a.dataset.revision !== null && a.dataset.revision === b.dataset.revision);
  const describeDataset = ({ source, revision, sha256 }: RunHead["dataset"]) =>
    `${source} (${revision ?? sha256.slice(0, 12)})`;
  return compact([
    !sameDataset && `the dataset: ${describeDataset(a.dataset)} and ${describeDataset(b.dataset)}`,
    a.split !== b.split && `the split: ${a.split} and ${b.split}`,
    a.corpusFingerprint !== b.corpusFingerprint &&
      // Suite tasks do not depend on the mail in the database.
      [a, b].some((run) => taskKindOf(run) !== "suite") &&
      `the mail: fingerprint ${a.corpusFingerprint.slice(0, 12)} and ${b.corpusFingerprint.slice(0, 12)}`,
    ...cutoffDifference(a.settings.cutoff, b.settings.cutoff),
  ]);
}

/** The cutoff of an imported run is unknown, and the runs may still be comparable. */
function cutoffDifference(a: string | undefined, b: string | undefined): string[] {
  return a === undefined || b === undefined || a === b ? [] : [`the cutoff: ${a} and ${b}`];
}

function differingSettings(a: RunHead, b: RunHead): string[] {
  const names = [...new Set([...Object.keys(a.settings), ...Object.keys(b.settings)])];
  return names.filter((name) => JSON.stringify(a.settings[name]) !== JSON.stringify(b.settings[name])).sort();
}

const EFFORTS: readonly MetricDescription[] = Object.entries(EFFORT).map(([metric, { label }]) => ({
  metric,
  label,
  kind: "mean",
  better: "lower",
}));

function describeMetric(metric: string, { scores }: RunHead): MetricDescription {
  const { label, kind, better } = scores[metric] ?? { label: metric, kind: "mean", better: "higher" };
  return { metric, label, kind, better };
}

function findFlips(
  { metric, better }: MetricDescription,
  baseline: ComparableRun,
  candidate: ComparableRun,
  limit: number,
  failed: FailedTasks,
) {
  const sign = better === "higher" ? 1 : -1;
  const changed = pairsOf(metric, baseline, candidate, failed)
    .map((pair) => ({ ...pair, gain: sign * (pair.after - pair.before) }))
    .filter(({ gain }) => gain !== 0)
    .toSorted((a, b) => Math.abs(b.gain) - Math.abs(a.gain) || compareTaskIds(a.taskId, b.taskId));
  const toFlip = ({ taskId, before, after }: QuestionPair): Flip => {
    const [baselineQuestion, candidateQuestion] = [baseline.questions.get(taskId), candidate.questions.get(taskId)];
    return {
      taskId,
      inbox: baselineQuestion?.inbox ?? "",
      question: baselineQuestion?.question ?? "",
      baseline: before,
      candidate: after,
      baselineAnswer: baselineQuestion?.answer ?? "",
      candidateAnswer: candidateQuestion?.answer ?? "",
    };
  };
  const largest = (side: typeof changed) => side.slice(0, limit).map(toFlip);
  return {
    lost: largest(changed.filter(({ gain }) => gain < 0)),
    won: largest(changed.filter(({ gain }) => gain > 0)),
  };
}

/** The part of a results file that comparisons and gates need. Unknown fields are ignored. */
export const runHeadSchema = benchmarkResultSchema
  .pick({
    runId: true,
    name: true,
    agentId: true,
    model: true,
    split: true,
    totalTasks: true,
    completedTasks: true,
    failedTasks: true,
    avgExecutionTimeMs: true,
    avgModelTimeMs: true,
    avgToolTimeMs: true,
    avgWaitingTimeMs: true,
    totalTimeMs: true,
    turns: true,
    costUsd: true,
    status: true,
    plannedTasks: true,
    judgeCostUsd: true,
    totalCostUsd: true,
    dataset: true,
    corpusFingerprint: true,
    suite: true,
  })
  .extend({
    scores: z.record(z.string(), scoreFiguresSchema.strip()),
    settings: z.looseObject({ cutoff: z.string().exactOptional(), epochs: z.number() }),
  })
  .strip();

export type RunHead = Readonly<z.output<typeof runHeadSchema>>;

export const runFileSchema = runHeadSchema.extend({ taskResults: z.array(taskResultSchema.strip()) });
