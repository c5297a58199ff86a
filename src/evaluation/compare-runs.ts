import type { ComparableRun, Flip, MetricComparison, RunComparison, RunHead } from "../domain/scores/comparison.js";
import { compareTaskIds, type TaskId } from "../domain/tasks/task-id.js";
import { mcnemar } from "../statistics/mcnemar.js";
import { meanOf } from "../statistics/mean.js";
import { pairedDifference, signFlipTest } from "../statistics/paired-difference.js";
import { computePower } from "../statistics/power.js";
import { EFFORT } from "./comparable-run.js";

interface Pair {
  readonly taskId: TaskId;
  readonly before: number;
  readonly after: number;
}

/** The questions and the mail of a run. */
type RunIdentity = Pick<RunHead, "dataset" | "split" | "corpusFingerprint" | "settings">;

type MetricDescription = Pick<MetricComparison, "metric" | "label" | "kind" | "better">;

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
    incomparable: incomparable(baseline.head, candidate.head),
    settings: differingSettings(baseline.head, candidate.head),
    metrics: metrics.map((metric) => compareMetric(metric, pairsOf(metric.metric, baseline, candidate))),
    flips: { metric: first.metric, ...findFlips(first, baseline, candidate, flips) },
  };
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
    ...(a.corpusFingerprint === b.corpusFingerprint
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

/** Relative: sums of the same numbers in another order differ in their last digits. */
const ROUNDING = 1e-9;

function pairsOf(metric: string, baseline: ComparableRun, candidate: ComparableRun): Pair[] {
  return [...baseline.questions].flatMap(([taskId, { values }]) => {
    const before = values[metric];
    const after = candidate.questions.get(taskId)?.values[metric];
    if (before === undefined || after === undefined) return [];
    const isSame = Math.abs(after - before) <= ROUNDING * Math.max(Math.abs(before), Math.abs(after));
    return [{ taskId, before, after: isSame ? before : after }];
  });
}

function compareMetric(described: MetricDescription, pairs: readonly Pair[]): MetricComparison {
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
  const toFlip = ({ taskId, before, after }: Pair): Flip => {
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
