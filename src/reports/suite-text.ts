// The analysis of a run over a task suite as terminal text.
import type { GuidanceComparison, SuiteAnalysis } from "../analysis/analyse-suite.js";
import type { MetricComparison } from "../analysis/paired-comparison.js";
import { count, duration, oneDecimal, share, table } from "../text/format.js";
import type { RunTotals, SuiteTotals } from "../traces/run-totals.js";
import { BANDS } from "../traces/score-bands.js";
import { differenceText, pText, sliceTable, stateName } from "./figure-text.js";
import type { ToolUse } from "./report-data.js";

/** Formats `ended 12, timeout 3 (1 not graded), unsupported 4 (not graded)`, with the most frequent state first. */
export function statesText(states: SuiteTotals["states"]): string {
  const sorted = Object.entries(states).sort(([, a], [, b]) => b.tasks - a.tasks);
  return (
    sorted.map(([state, counts]) => `${stateName(state)} ${count(counts.tasks)}${ungradedText(counts)}`).join(", ") ||
    "-"
  );
}

function ungradedText({ tasks, graded }: { readonly tasks: number; readonly graded: number }): string {
  if (graded === tasks) return "";
  return graded === 0 ? " (not graded)" : ` (${count(tasks - graded)} not graded)`;
}

/** Maximum number of listed tools, starting with those with the most calls. */
const MAX_TOOLS = 10;

const SCORES = ["taskScore", "taskSolved"];

/** Formats the analysis of a run over a suite as tables, in addition to its totals. */
export function suiteAnalysisText(
  totals: RunTotals,
  analysis: SuiteAnalysis & { readonly tools: readonly ToolUse[] },
): string {
  const slices = (["tool", "difficulty", "guidance"] as const).map((slice) => sliceTable(totals, slice, SCORES));
  const texts = [
    ...slices,
    profileTable(analysis),
    stepTable(analysis),
    table(["time by tool", "tasks", "mean", "median", "95th percentile"], durationRows(analysis)),
    toolTable(analysis.tools),
    guidanceText(analysis.guidance),
  ];
  return texts.join("\n\n");
}

/** Formats how tasks ended, by the score of their output files. */
function profileTable({ profile }: SuiteAnalysis): string {
  const bands = [...BANDS, "unscored"] as const;
  const states = [...new Set(profile.map(({ state }) => state))];
  const rows = states.map((state) => [
    stateName(state),
    ...bands.map((band) => count(profile.find((cell) => cell.state === state && cell.band === band)?.tasks ?? 0)),
  ]);
  return table(["state", "score above 0.8", "0.5 to 0.8", "below 0.5", "not graded"], rows);
}

function stepTable(analysis: SuiteAnalysis): string {
  const { turns, toolCalls } = analysis.stepCorrelation;
  const correlated =
    turns === null && toolCalls === null
      ? []
      : [`Rank correlation with the actions: turns ${share(turns)}, tool calls ${share(toolCalls)}`];
  return [
    table(["actions", "tasks", "actions per task", "turns", "tool calls"], stepRows(analysis)),
    ...correlated,
  ].join("\n");
}

/** Returns tasks, actions, turns and tool calls per task, by the number of actions that a person needs. */
export function stepRows({ steps }: SuiteAnalysis): string[][] {
  return steps.map(({ difficulty, tasks, actions, turns, toolCalls }) => [
    difficulty,
    count(tasks),
    ...[actions, turns, toolCalls].map(oneDecimal),
  ]);
}

/** Returns the number of tasks and the mean, median and 95th percentile of their times, by tool. */
export function durationRows({ durations }: SuiteAnalysis): string[][] {
  return durations.map(({ tool, tasks, mean, p50, p95 }) => [tool, count(tasks), ...[mean, p50, p95].map(duration)]);
}

function toolTable(tools: readonly ToolUse[]): string {
  const rows = tools
    .slice(0, MAX_TOOLS)
    .map(({ name, calls, errors, tasks, meanMs }) => [
      name,
      count(calls),
      count(errors),
      count(tasks),
      duration(meanMs),
    ]);
  return table(["agent tool", "calls", "errors", "tasks", "mean time"], rows);
}

/** Formats the comparison of abstract with verbose instructions, and the tasks left out of it. */
function guidanceText(guidance: GuidanceComparison): string {
  const rows = guidance.metrics.map((metric) => [
    ...pairCells(metric),
    [metric.wins, metric.losses, metric.ties].map(count).join("/"),
  ]);
  return [
    table(["pairs", "n", "abstract", "verbose", "difference (95%)", "p", "verbose better/worse/same"], rows),
    ...leftOut(guidance),
  ].join("\n");
}

/**
 * Returns the cells of a score over the pairs: its name, the number of pairs, both means, the difference and its
 * p-value.
 */
export function pairCells({ label, baseline, candidate, difference, p, test }: MetricComparison): string[] {
  return [
    label,
    count(difference.n),
    share(baseline),
    share(candidate),
    differenceText(difference),
    p === null ? "-" : `${pText(p)} (${TEST_NAMES[test]})`,
  ];
}

export const TEST_NAMES = { mcnemar: "McNemar", sign_flip: "sign flips" } as const;

/** Returns the reasons why tasks are not in any pair, with the number of tasks. */
export function leftOut({ ungradedPairs, sameGuidance, unpaired }: Omit<GuidanceComparison, "metrics">): string[] {
  const { notInRun, own, none, notMutual } = unpaired;
  const reasons = [
    [ungradedPairs, "pairs with a task that was not graded"],
    [sameGuidance, "pairs without one abstract and one verbose task"],
    [notInRun, "tasks whose counterpart is not in the run"],
    [own, "tasks that are their own counterpart"],
    [none, "tasks without a counterpart"],
    [notMutual, "tasks whose counterpart belongs to another pair"],
  ] as const;
  const counted = reasons.filter(([tasks]) => tasks > 0).map(([tasks, reason]) => `${reason} ${count(tasks)}`);
  return counted.length === 0 ? [] : [`Left out: ${counted.join("; ")}.`];
}
