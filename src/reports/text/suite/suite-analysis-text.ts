import type { RunTotals } from "../../../domain/runs/benchmark-result.js";
import type { SuiteAnalysis } from "../../../domain/runs/suite-analysis.js";
import { BANDS } from "../../../domain/scores/score-bands.js";
import { stripControls } from "../../../platform/strip-controls.js";
import type { ToolUse } from "../../page/report-data.js";
import { count, duration, oneDecimal, share } from "../format-number.js";
import { sliceTable } from "../slice-table.js";
import { table } from "../text-table.js";
import { guidanceText } from "./guidance-text.js";

/** Tools listed, those with the most calls first. */
const MAX_TOOLS = 10;

const SCORES = ["taskScore", "taskSolved"];

/** What a run over a suite shows beside its totals, as tables. */
export function suiteAnalysisText(
  totals: RunTotals,
  analysis: SuiteAnalysis & { readonly tools: readonly ToolUse[] },
): string {
  const slices = (["tool", "difficulty", "guidance"] as const).map((slice) => sliceTable(totals, slice, SCORES));
  const texts = [
    ...slices,
    profileTable(analysis),
    stepTable(analysis),
    durationTable(analysis),
    toolTable(analysis.tools),
    guidanceText(analysis.guidance),
  ];
  return stripControls(texts.join("\n\n"));
}

/** How tasks ended, by how good what they left behind was. */
function profileTable({ profile }: SuiteAnalysis): string {
  const bands = [...BANDS, "unscored"] as const;
  const states = [...new Set(profile.map(({ state }) => state))];
  const rows = states.map((state) => [
    state,
    ...bands.map((band) => count(profile.find((cell) => cell.state === state && cell.band === band)?.tasks ?? 0)),
  ]);
  return table(["state", "score above 0.8", "0.5 to 0.8", "below 0.5", "not graded"], rows);
}

function stepTable({ steps, stepCorrelation }: SuiteAnalysis): string {
  const rows = steps.map(({ difficulty, tasks, actions, turns, toolCalls }) => [
    difficulty,
    count(tasks),
    ...[actions, turns, toolCalls].map(oneDecimal),
  ]);
  const { turns, toolCalls } = stepCorrelation;
  const correlated =
    turns === null && toolCalls === null
      ? []
      : [`Rank correlation with the actions: turns ${share(turns)}, tool calls ${share(toolCalls)}`];
  return [table(["actions", "tasks", "actions a task", "turns", "tool calls"], rows), ...correlated].join("\n");
}

function durationTable({ durations }: SuiteAnalysis): string {
  const rows = durations.map(({ tool, tasks, mean, p50, p95 }) => [
    tool,
    count(tasks),
    ...[mean, p50, p95].map(duration),
  ]);
  return table(["time by tool", "tasks", "mean", "median", "95 % within"], rows);
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
  return table(["tool of the agent", "calls", "errors", "tasks", "mean time"], rows);
}
