import type { RunTotals } from "../../domain/runs/benchmark-result.js";
import type { SliceName } from "../../domain/runs/slice.js";
import { estimate } from "./format-estimate.js";
import { count } from "./format-number.js";
import { table } from "./text-table.js";

/** One slice of a run: a row per part, a column per metric with intervals and denominators. */
export function sliceTable(totals: RunTotals, slice: SliceName, metrics: readonly string[]): string {
  const labels = metrics.map((name) => totals.scores[name]?.label ?? name);
  const rows = (totals.slices[slice] ?? []).map(({ value, tasks, scores }) => [
    value,
    count(tasks),
    ...metrics.map((name) => (scores[name] === undefined ? "-" : estimate(scores[name]))),
  ]);
  return table([slice, "tasks", ...labels], rows);
}
