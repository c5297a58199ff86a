import type { RunTotals } from "../domain/result.js";
import type { SliceName } from "../domain/slice.js";
import { estimate } from "../reports/estimate-text.js";
import { count } from "../reports/figures.js";
import { table } from "./table.js";

/** One slice of a run: its parts in rows, the wanted scores in columns with their intervals and denominators. */
export function sliceTable(totals: RunTotals, slice: SliceName, metrics: readonly string[]): string {
  const labels = metrics.map((name) => totals.scores[name]?.label ?? name);
  const rows = totals.slices[slice].map(({ value, tasks, scores }) => [
    value,
    count(tasks),
    ...metrics.map((name) => (scores[name] === undefined ? "-" : estimate(scores[name]))),
  ]);
  return table([slice, "tasks", ...labels], rows);
}
