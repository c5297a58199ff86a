import type { RunFigures } from "../page/report-data.js";
import type { SuiteFigures } from "../page/report-suite.js";
import { count, duration, oneDecimal } from "../text/format-number.js";
import { leftOut } from "../text/suite/left-out.js";
import { pairCells } from "../text/suite/pair-cells.js";
import { details, table } from "./markdown-table.js";

/** Of a run over a suite: failures, steps, and abstract against verbose instructions. */
export function suiteParts({ label, suite }: RunFigures, hasSeveralRuns: boolean): string[] {
  if (suite === null) return [];
  const of = hasSeveralRuns ? ` of ${label}` : "";
  const profile = suite.profile.map(({ state, band, tasks }) => [state, band, count(tasks)]);
  const steps = suite.steps.map(({ difficulty, tasks, actions, turns, toolCalls }) => [
    difficulty,
    count(tasks),
    ...[actions, turns, toolCalls].map(oneDecimal),
  ]);
  const times = suite.durations.map(({ tool, tasks, mean, p50, p95 }) => [
    tool,
    count(tasks),
    ...[mean, p50, p95].map(duration),
  ]);
  return [
    details(`Abstract against verbose instructions${of}`, pairTable(suite.guidance)),
    details(`States by score${of}`, table(["State", "Score", "Tasks"], profile)),
    details(`Steps${of}`, table(["Actions of a person", "Tasks", "Actions a task", "Turns", "Tool calls"], steps)),
    details(`Model and tool time${of}`, table(["Tool", "Tasks", "Mean", "Median", "95 % within"], times)),
  ];
}

function pairTable({ metrics, ...guidance }: SuiteFigures["guidance"]): string {
  const rows = metrics.map((metric) => [
    ...pairCells(metric),
    [metric.wins, metric.losses, metric.ties].map(count).join(", "),
  ]);
  const columns = ["Score", "Pairs", "Abstract", "Verbose", "Difference, 95 %", "p", "Verbose better, worse, same"];
  return [table(columns, rows), ...leftOut(guidance)].join("\n\n");
}
