import { count } from "../../text/format-number.js";
import type { ReportHead, ScoreMeaning } from "../report-data.js";
import { CHART_STYLE, type Chart, runColour } from "./chart.js";

/** A histogram of a score with twenty bars. */
export function distributionChart({ runs }: ReportHead, { name, label }: ScoreMeaning): Chart {
  const bars = runs.flatMap((run, index) =>
    (run.distribution[name] ?? []).map((tasks, bin, bins) => ({
      ...{ run: run.label, index, tasks },
      ...{ from: bin / bins.length, to: (bin + 1) / bins.length },
    })),
  );
  const edges = [...new Set(bars.map(({ from }) => from))];
  return {
    title: `${label}, task by task`,
    description: "How many tasks have which score, in steps of 0.05.",
    draw: (width) =>
      Plot.plot({
        width,
        height: 60 + 130 * runs.length,
        marginLeft: 44,
        marginRight: 12,
        insetTop: runs.length === 1 ? 0 : 18,
        style: CHART_STYLE,
        x: { domain: [0, 1], label: null, ticks: 10, tickFormat: ".1f" },
        y: { label: "tasks", grid: true, ticks: 4, tickFormat: "~s" },
        fy: { domain: runs.map((run) => run.label), axis: null },
        marks: [
          Plot.rectY(bars, {
            ...{ x1: "from", x2: "to", y: "tasks", fy: "run", insetLeft: 1, insetRight: 1, rx: 2 },
            fill: (bar: (typeof bars)[number]) => runColour(bar.index),
            title: (bar: (typeof bars)[number]) =>
              `${bar.from.toFixed(2)} to ${bar.to.toFixed(2)}: ${count(bar.tasks)} tasks`,
          }),
          Plot.ruleY([0]),
          ...(runs.length === 1
            ? []
            : [Plot.text(runs, { fy: "label", text: "label", frameAnchor: "top-left", fontWeight: 600, dy: -2 })]),
        ],
      }),
    heading: ["Score", ...runs.map((run) => run.label)],
    rows: edges.map((edge) => [
      `${edge.toFixed(2)} to ${(edge + 0.05).toFixed(2)}`,
      ...runs.map((run) => count(bars.find((bar) => bar.run === run.label && bar.from === edge)?.tasks ?? 0)),
    ]),
  };
}
