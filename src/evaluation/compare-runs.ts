import type { ComparableRun, Flip, MetricComparison, RunComparison, RunHead } from "../domain/scores/comparison.js";
import { mcnemar } from "../statistics/mcnemar.js";
import { meanOf } from "../statistics/mean.js";
import { pairedDifference, signFlipTest } from "../statistics/paired-difference.js";
import { computePower } from "../statistics/power.js";
import { EFFORT } from "./comparable-run.js";

interface Pair {
  readonly taskId: number;
  readonly before: number;
  readonly after: number;
}

/** What a run was asked, and over which mail. */
type RunIdentity = Pick<RunHead, "dataset" | "split" | "corpusFingerprint" | "settings">;

type MetricDescription = Pick<MetricComparison, "metric" | "label" | "kind" | "better">;

/**
 * Two runs, question by question: only what both have been asked and have a value for is compared. `scorers`: the metrics
 * wanted, the first of which the flips are told of; cost, time and turns come after them.
 */
export function compareRuns(
  baseline: ComparableRun,
  candidate: ComparableRun,
  scorers: readonly string[],
  flips: number,
): RunComparison {
  const common = [...baseline.questions.keys()].filter((id) => candidate.questions.has(id));
  const described = [...scorers.map((name) => describeMetric(name, baseline.head)), ...EFFORTS];
  const first = described[0] as MetricDescription;
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
    metrics: described.map((metric) => compareMetric(metric, pairsOf(metric.metric, baseline, candidate))),
    flips: { metric: first.metric, ...findFlips(first, baseline, candidate, flips) },
  };
}

/** What keeps two runs from being compared, each in words: other questions, other mail, other mail visible. */
export function incomparable(a: RunIdentity, b: RunIdentity): string[] {
  const sameDataset =
    a.dataset.sha256 === b.dataset.sha256 || (a.dataset.revision !== null && a.dataset.revision === b.dataset.revision);
  const named = ({ source, revision, sha256 }: RunHead["dataset"]) => `${source} (${revision ?? sha256.slice(0, 12)})`;
  return [
    ...(sameDataset ? [] : [`the dataset: ${named(a.dataset)} and ${named(b.dataset)}`]),
    ...(a.split === b.split ? [] : [`the split: ${a.split} and ${b.split}`]),
    ...(a.corpusFingerprint === b.corpusFingerprint
      ? []
      : [`the mail: fingerprint ${a.corpusFingerprint.slice(0, 12)} and ${b.corpusFingerprint.slice(0, 12)}`]),
    ...(a.settings.cutoff === b.settings.cutoff ? [] : [`the cutoff: ${a.settings.cutoff} and ${b.settings.cutoff}`]),
  ];
}

function differingSettings(a: RunHead, b: RunHead): string[] {
  const names = [...new Set([...Object.keys(a.settings), ...Object.keys(b.settings)])];
  const told = (value: unknown) => JSON.stringify(value);
  return names.filter((name) => told(a.settings[name]) !== told(b.settings[name])).sort();
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

/** Sums of the same numbers in another order differ in their last digits, which are no difference. */
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

function findFlips({ metric, better }: MetricDescription, baseline: ComparableRun, candidate: ComparableRun, most: number) {
  const sign = better === "higher" ? 1 : -1;
  const moved = pairsOf(metric, baseline, candidate)
    .map((pair) => ({ ...pair, gain: sign * (pair.after - pair.before) }))
    .filter(({ gain }) => gain !== 0)
    .toSorted((a, b) => Math.abs(b.gain) - Math.abs(a.gain) || a.taskId - b.taskId);
  const told = ({ taskId, before, after }: Pair): Flip => {
    const [was, is] = [baseline.questions.get(taskId), candidate.questions.get(taskId)];
    return {
      taskId,
      inbox: was?.inbox ?? "",
      question: was?.question ?? "",
      baseline: before,
      candidate: after,
      baselineAnswer: was?.answer ?? "",
      candidateAnswer: is?.answer ?? "",
    };
  };
  const first = (side: typeof moved) => side.slice(0, most).map(told);
  return { lost: first(moved.filter(({ gain }) => gain < 0)), won: first(moved.filter(({ gain }) => gain > 0)) };
}
