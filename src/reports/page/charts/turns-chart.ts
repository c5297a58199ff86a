import { count } from "../../text/format-number.js";
import type { ReportHead } from "../report-data.js";
import { CHART_STYLE, type Chart, runColour } from "./chart.js";

/** How many turns the tasks took. */
export function turnsChart({ runs }: ReportHead): Chart {
  const most = Math.max(1, ...runs.map((run) => run.turns.length - 1));
  const all = Array.from({ length: most + 1 }, (_, turns) => turns);
  const bars = runs.flatMap((run, index) => run.turns.map((tasks, turns) => ({ run: run.label, index, tasks, turns })));
  return {
    title: "Turns",
    description: "How many tasks took how many calls of the model.",
    draw: (width) =>
      Plot.plot({
        width,
        height: 60 + 110 * runs.length,
        marginLeft: 44,
        insetTop: runs.length === 1 ? 0 : 18,
        style: CHART_STYLE,
        x: { domain: [-0.5, most + 0.5], label: null, ticks: Math.min(most, 12), tickFormat: "d" },
        y: { label: "tasks", grid: true, ticks: 4, tickFormat: "~s" },
        fy: { domain: runs.map((run) => run.label), axis: null },
        marks: [
          Plot.rectY(bars, {
            x1: (bar: (typeof bars)[number]) => bar.turns - 0.4,
            x2: (bar: (typeof bars)[number]) => bar.turns + 0.4,
            ...{ y: "tasks", fy: "run", rx: 2 },
            fill: (bar: (typeof bars)[number]) => runColour(bar.index),
            title: (bar: (typeof bars)[number]) => `${bar.turns} turns: ${count(bar.tasks)} tasks`,
          }),
          Plot.ruleY([0]),
          ...(runs.length === 1
            ? []
            : [Plot.text(runs, { fy: "label", text: "label", frameAnchor: "top-left", fontWeight: 600, dy: -2 })]),
        ],
      }),
    heading: ["Turns", ...runs.map((run) => run.label)],
    rows: all.map((turns) => [String(turns), ...runs.map((run) => count(run.turns[turns] ?? 0))]),
  };
}
