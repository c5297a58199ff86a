import type { GuidanceComparison } from "../../../domain/runs/suite-analysis.js";
import { count } from "../format-number.js";
import { table } from "../text-table.js";
import { leftOut } from "./left-out.js";
import { pairCells } from "./pair-cells.js";

/** Abstract against verbose instructions, with what is left out of it. */
export function guidanceText(guidance: GuidanceComparison): string {
  const rows = guidance.metrics.map((metric) => [
    ...pairCells(metric),
    [metric.wins, metric.losses, metric.ties].map(count).join("/"),
  ]);
  return [
    table(["pairs", "n", "abstract", "verbose", "difference, 95 %", "p", "verbose better/worse/same"], rows),
    ...leftOut(guidance),
  ].join("\n");
}
