import type { ComparableRun, Flip, RunComparison, RunHead } from "../domain/scores/comparison.js";
import { compareTaskIds } from "../domain/tasks/task-id.js";
import { EFFORT } from "./comparable-run.js";
import { comparePairs, type MetricDescription } from "./compare-pairs.js";
import { type Pair, pairsOf } from "./pair-questions.js";

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
