import { z } from "zod";
import { UserError } from "../platform/errors.js";
import type { Estimate } from "../statistics/estimate.js";
import { meanOf } from "../statistics/intervals.js";
import { computePower, mcnemar, pairedDifference, signFlipTest } from "../statistics/significance.js";
import { canBeRetried } from "../tasks/ending.js";
import { compareTaskIds, type TaskId } from "../tasks/question.js";
import { benchmarkResultSchema, scoreFiguresSchema } from "../traces/run-totals.js";
import { isScored, METRIC_ALIASES, type ScoredTasks, scorerOfMetric } from "../traces/score.js";
import { modelAndToolTimeOf, runStatusSchema, type TaskResult, taskResultSchema } from "../traces/task-result.js";

/** As OpenPipe published them with ART-E; without intervals or denominators. Null: not published. */
export const PUBLISHED = {
  figures: [
    { model: "ART-E 14B", accuracy: 0.96, secondsPerTask: 1.1, usdPerThousand: 0.85 },
    { model: "o3", accuracy: 0.9, secondsPerTask: 5.6, usdPerThousand: 55.19 },
    { model: "o4-mini", accuracy: 0.88, secondsPerTask: 3.4, usdPerThousand: 7.88 },
    { model: "Gemini 2.5 Pro", accuracy: 0.76, secondsPerTask: null, usdPerThousand: null },
    { model: "GPT-4.1", accuracy: 0.71, secondsPerTask: null, usdPerThousand: null },
  ],
  protocol:
    "agent art-e over the first 100 test questions with one gold mail each, seven known bad ones left out; mail through ART's import filter, no cutoff; gemini-2.0-flash as judge, which says True or False; no intervals",
};

export type PublishedResults = typeof PUBLISHED;

const QUESTIONS = 100;
const JUDGE = "gemini-2.0-flash";

/**
 * In words, how a run's protocol differs from that of the published results. `--protocol art` sets all that a run can.
 */
export function protocolDifferences({ settings, split, agentId, scores, dataset }: RunHead): string[] {
  const selection = isRecord(settings.selection) ? settings.selection : {};
  return [
    ...judgeDifferences(settings.judge, isScored("judgeCorrect", scores)),
    agentId !== "art-e" && `agent ${agentId}, not art-e`,
    split !== "test" && `the ${split} split`,
    dataset.revision === null && `questions of the file ${dataset.source}, which may be others`,
    selection.maxSources !== 1 && "questions with several gold mails too (--max-sources 1 leaves them out)",
    selection.excludeKnownBad !== true && "the known bad questions too (--exclude-known-bad leaves them out)",
    isOtherSelection(selection) &&
      `not the first ${QUESTIONS} questions (-l ${QUESTIONS}, in their order, and nothing else chosen)`,
    settings.epochs !== 1 && `each question asked ${settings.epochs} times`,
    settings.mailFilter !== "art" && "mail not imported through ART's filter (import --filter art)",
    settings.cutoff !== "off" && "mail after the question's date is invisible (--cutoff off shows it)",
    settings.maxTurns !== 10 && `${settings.maxTurns} turns, not 10`,
    settings.maxTokens !== 2048 && `${settings.maxTokens} tokens a reply, not 2048`,
    typeof settings.temperature === "number" && `temperature ${settings.temperature}, not the model's own`,
    typeof settings.reasoningEffort === "string" && `reasoning effort ${settings.reasoningEffort}, not the model's own`,
    isRecord(settings.extraBody) && `request fields ${Object.keys(settings.extraBody).join(", ")} (--body)`,
  ].filter((difference) => difference !== false);
}

function judgeDifferences(judge: unknown, isJudged: boolean): (string | false)[] {
  if (!isJudged || !isRecord(judge)) return ["no judge: its accuracy is exact match, which is far stricter"];
  const { model, protocol, votes } = judge;
  return [
    protocol !== "art" && "a judge with four verdicts, not True or False (--judge art)",
    typeof model === "string" && !model.endsWith(`/${JUDGE}`) && `judge ${model}, not ${JUDGE}`,
    typeof votes === "number" && votes > 1 && `${votes} votes of the judge, not one`,
  ];
}

function isOtherSelection({ limit, ids, inbox, shuffle, minRealism }: Record<string, unknown>): boolean {
  return limit !== QUESTIONS || shuffle === true || [ids, inbox, minRealism].some((chosen) => chosen !== undefined);
}

function isRecord(value: unknown): value is Record<string, unknown> {
  return typeof value === "object" && value !== null;
}

/** The scorers that metrics mean, among those there are figures of. */
export function scorersAmong(wanted: readonly string[], scores: ScoredTasks): string[] {
  const scorers = wanted.map((metric) => scorerOfMetric(metric, scores));
  const unknown = wanted.find((_, i) => scores[scorers[i] ?? ""] === undefined);
  if (unknown === undefined) return [...new Set(scorers)];
  throw new UserError(
    "metric_unknown",
    `There is no metric "${unknown}" here.`,
    `There are ${[...Object.keys(METRIC_ALIASES), ...Object.keys(scores)].join(", ")}.`,
  );
}

/** What two runs both have a value of, with how many tasks the lesser has it for. */
export function sharedScores(a: ScoredTasks, b: ScoredTasks): ScoredTasks {
  const shared = Object.entries(a).flatMap(([name, { n }]) => {
    const other = b[name]?.n ?? 0;
    return n > 0 && other > 0 ? [[name, { n: Math.min(n, other) }] as const] : [];
  });
  return Object.fromEntries(shared);
}

/** All metrics of shared scores: accuracy first, where questions have one. */
export function sharedMetrics(shared: ScoredTasks): string[] {
  const all = Object.keys(shared);
  return all.includes("exactMatch") || all.includes("judgeCorrect") ? ["accuracy", ...all] : all;
}

interface QuestionPair extends ValuePair {
  readonly taskId: TaskId;
}

/** Sums of the same numbers in another order differ in their last digits, also from 0. */
const ROUNDING = { relative: 1e-9, absolute: 1e-12 };

/** The questions that both runs have a value of the metric for. */
export function pairsOf(metric: string, baseline: ComparableRun, candidate: ComparableRun): QuestionPair[] {
  return [...baseline.questions].flatMap(([taskId, { values }]) => {
    const before = values[metric];
    const after = candidate.questions.get(taskId)?.values[metric];
    if (before === undefined || after === undefined) return [];
    const isSame =
      Math.abs(after - before) <= ROUNDING.absolute + ROUNDING.relative * Math.max(Math.abs(before), Math.abs(after));
    return [{ taskId, before, after: isSame ? before : after }];
  });
}

/**
 * How the candidate does on each question of the baseline, a letter each in their order: w won, l lost, t tied, `-`
 * where one of the two has no value.
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

interface ValuePair {
  readonly before: number;
  readonly after: number;
}

export type MetricDescription = Pick<MetricComparison, "metric" | "label" | "kind" | "better">;

export function comparePairs(described: MetricDescription, pairs: readonly ValuePair[]): MetricComparison {
  const differences = pairs.map(({ before, after }) => after - before);
  const difference = pairedDifference(differences);
  const up = differences.filter((value) => value > 0).length;
  const down = differences.filter((value) => value < 0).length;
  const isBinary = pairs.every(({ before, after }) => [0, 1].includes(before) && [0, 1].includes(after));
  const test = described.kind === "rate" && isBinary ? "mcnemar" : "sign_flip";
  const p = pairs.length === 0 ? null : test === "mcnemar" ? mcnemar(up, down) : signFlipTest(differences);
  const higherIsBetter = described.better === "higher";
  const { moreNeeded, detectable } = computePower(differences);
  return {
    ...described,
    baseline: meanOf(pairs.map(({ before }) => before)),
    candidate: meanOf(pairs.map(({ after }) => after)),
    difference,
    p,
    test,
    wins: higherIsBetter ? up : down,
    losses: higherIsBetter ? down : up,
    ties: pairs.length - up - down,
    verdict: significanceOf(difference, p, higherIsBetter),
    moreQuestions: moreNeeded,
    detectable,
  };
}

function significanceOf(
  { low, high }: MetricComparison["difference"],
  p: number | null,
  higherIsBetter: boolean,
): MetricComparison["verdict"] {
  if (low === null || high === null || p === null || p >= 0.05 || (low <= 0 && high >= 0)) return null;
  return low > 0 === higherIsBetter ? "better" : "worse";
}

/** Characters of a question or answer that are kept: enough to recognise it. */
const MAX_CHARS = 300;

/** Cost, time and turns of a task, compared like scores; lower is better. Waiting is no property of the agent. */
const EFFORT = {
  costUsd: { label: "Cost of a task, $", read: (task: TaskResult) => task.costUsd },
  modelAndToolTimeMs: { label: "Model and tool time, ms", read: modelAndToolTimeOf },
  turns: { label: "Turns of a task", read: (task: TaskResult) => task.turns },
} as const;

/**
 * Groups the repeats of each question. Failed tasks have no values, except for the grade of a suite's task whose time
 * ran out.
 */
export class QuestionTally {
  private readonly sums = new Map<
    TaskId,
    { first: TaskResult; answer: string; byMetric: Map<string, [sum: number, n: number]> }
  >();

  add(task: TaskResult): void {
    const question = this.sums.get(task.taskId) ?? { first: task, answer: "", byMetric: new Map() };
    this.sums.set(task.taskId, question);
    const failed = canBeRetried(task.ending);
    question.answer ||= outcomeText(task, failed).slice(0, MAX_CHARS);
    const effort = failed ? [] : Object.entries(EFFORT).map(([name, { read }]) => [name, read(task)] as const);
    for (const [name, value] of [...Object.entries(task.scores), ...effort]) {
      if (value === null) continue;
      const [sum, n] = question.byMetric.get(name) ?? [0, 0];
      question.byMetric.set(name, [sum + value, n + 1]);
    }
  }

  questions(): Map<TaskId, ComparedQuestion> {
    const questions = new Map<TaskId, ComparedQuestion>();
    for (const [taskId, { first, answer, byMetric }] of this.sums) {
      const values = Object.fromEntries([...byMetric].map(([name, [sum, n]]) => [name, sum / n]));
      questions.set(taskId, { question: first.question.slice(0, MAX_CHARS), inbox: first.inbox, answer, values });
    }
    return questions;
  }
}

export function comparableRun(head: RunHead, results: Iterable<TaskResult>): ComparableRun {
  const tally = new QuestionTally();
  for (const task of results) tally.add(task);
  return { head, questions: tally.questions() };
}

function outcomeText({ suite, agentAnswer }: TaskResult, failed: boolean): string {
  if (suite !== undefined) return [suite.state, suite.reason].filter((part) => part !== "").join(": ");
  return failed ? "" : agentAnswer;
}

/** The questions and the mail of a run. */
type RunIdentity = Pick<RunHead, "dataset" | "split" | "corpusFingerprint" | "settings">;

/** As the split of runs over suites, to which the database's mail does not matter. */
const SUITE_SPLIT = "suite";

/**
 * Compares two runs question by question, over the questions for which both have a value. `scorers`: the metrics to
 * compare, the first of which decides the flips; cost, time and turns follow. `flips`: the most to list per side.
 */
export function compareRuns(
  baseline: ComparableRun,
  candidate: ComparableRun,
  scorers: readonly string[],
  flips: number,
): RunComparison {
  const common = [...baseline.questions.keys()].filter((id) => candidate.questions.has(id));
  const metrics = [...scorers.map((name) => describeMetric(name, baseline.head)), ...EFFORTS];
  const first = metrics[0] as MetricDescription;
  return {
    baseline: baseline.head.runId,
    candidate: candidate.head.runId,
    questions: {
      common: common.length,
      onlyBaseline: baseline.questions.size - common.length,
      onlyCandidate: candidate.questions.size - common.length,
    },
    ungraded: ungradedTasks(baseline.head, candidate.head),
    incomparable: incomparable(baseline.head, candidate.head),
    settings: differingSettings(baseline.head, candidate.head),
    metrics: metrics.map((metric) => comparePairs(metric, pairsOf(metric.metric, baseline, candidate))),
    flips: { metric: first.metric, ...findFlips(first, baseline, candidate, flips) },
  };
}

function ungradedTasks(a: RunHead, b: RunHead): RunComparison["ungraded"] {
  if (a.suite === undefined || b.suite === undefined) return null;
  return { baseline: a.totalTasks - a.suite.graded, candidate: b.totalTasks - b.suite.graded };
}

/** In words, why two runs are not comparable: other questions, other mail, another cutoff. */
export function incomparable(a: RunIdentity, b: RunIdentity): string[] {
  const sameDataset =
    a.dataset.sha256 === b.dataset.sha256 || (a.dataset.revision !== null && a.dataset.revision === b.dataset.revision);
  const describeDataset = ({ source, revision, sha256 }: RunHead["dataset"]) =>
    `${source} (${revision ?? sha256.slice(0, 12)})`;
  return [
    ...(sameDataset ? [] : [`the dataset: ${describeDataset(a.dataset)} and ${describeDataset(b.dataset)}`]),
    ...(a.split === b.split ? [] : [`the split: ${a.split} and ${b.split}`]),
    ...(a.corpusFingerprint === b.corpusFingerprint || (a.split === SUITE_SPLIT && b.split === SUITE_SPLIT)
      ? []
      : [`the mail: fingerprint ${a.corpusFingerprint.slice(0, 12)} and ${b.corpusFingerprint.slice(0, 12)}`]),
    ...(a.settings.cutoff === b.settings.cutoff ? [] : [`the cutoff: ${a.settings.cutoff} and ${b.settings.cutoff}`]),
  ];
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
) {
  const sign = better === "higher" ? 1 : -1;
  const changed = pairsOf(metric, baseline, candidate)
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

/** What comparing and gating read of a results file; what other versions write beside it does not matter. */
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
    dataset: true,
    corpusFingerprint: true,
    suite: true,
  })
  .extend({
    scores: z.record(z.string(), scoreFiguresSchema.strip()),
    settings: z.looseObject({ cutoff: z.string(), epochs: z.number() }),
    // Not in files of earlier versions.
    status: runStatusSchema.exactOptional(),
    plannedTasks: z.number().exactOptional(),
  })
  .strip();

export type RunHead = Readonly<z.output<typeof runHeadSchema>>;

export const runFileSchema = runHeadSchema.extend({ taskResults: z.array(taskResultSchema.strip()) });

interface ComparedQuestion {
  readonly question: string;
  readonly inbox: string;
  /** The first that was given; empty where there is none. Of a task of a suite: its state, and why it is not solved. */
  readonly answer: string;
  /** By metric, the mean over the repeats that completed and have a value. */
  readonly values: Readonly<Record<string, number>>;
}

export interface ComparableRun {
  readonly head: RunHead;
  readonly questions: ReadonlyMap<TaskId, ComparedQuestion>;
}

/** A question that the two runs do not do equally well. */
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
  /** Of runs over suites: tasks that are not graded, and so in no comparison of scores. Null: of questions. */
  readonly ungraded: { readonly baseline: number; readonly candidate: number } | null;
  /** What makes them incomparable, in words; empty where nothing does. */
  readonly incomparable: readonly string[];
  /** Settings in which they differ. */
  readonly settings: readonly string[];
  readonly metrics: readonly MetricComparison[];
  /** Of the first metric, the largest losses first, then the largest wins. */
  readonly flips: { readonly metric: string; readonly lost: readonly Flip[]; readonly won: readonly Flip[] };
}

export interface MetricComparison {
  readonly metric: string;
  readonly label: string;
  readonly kind: "rate" | "mean";
  readonly better: "higher" | "lower";
  /** Means over the pairs; null without pairs. */
  readonly baseline: number | null;
  readonly candidate: number | null;
  /** Candidate less baseline. n counts questions. */
  readonly difference: Estimate;
  /** Two-sided. McNemar's exact test where every pair is right or wrong, else drawing the differences' signs anew. */
  readonly p: number | null;
  readonly test: "mcnemar" | "sign_flip";
  /** Questions that the candidate does better, worse, and as well. */
  readonly wins: number;
  readonly losses: number;
  readonly ties: number;
  /** Null: the difference may be chance. Else the interval holds no 0 and p is below 0.05. */
  readonly verdict: "better" | "worse" | null;
  /** Questions more for 80 % power at the observed difference; 0: there are enough; null: there is no difference. */
  readonly moreQuestions: number | null;
  /** The smallest difference that this many questions find with 80 % power. */
  readonly detectable: number | null;
}
