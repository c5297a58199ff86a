import type { SliceName } from "../../../domain/runs/slice.js";
import { count } from "../../text/format-number.js";
import { SLICE_WORDS } from "../display-texts.js";
import type { ReportHead, ScoreMeaning } from "../report-data.js";
import { filterLink } from "../route.js";
import { intervalText, scoreText } from "../shared/format.js";
import { CHART_STYLE, type Chart, runColour } from "./chart.js";

/** Parts shown: those with the most tasks. */
const SHOWN = 12;

/** A score by slice, with intervals. Each bar links to its tasks. */
export function sliceChart({ runs }: ReportHead, by: SliceName, { name }: ScoreMeaning): Chart {
  const labels = [...new Set(runs.flatMap((run) => (run.slices[by] ?? []).map((slice) => slice.label)))];
  const shown = labels.slice(0, SHOWN);
  const slices = runs.flatMap((run, index) =>
    (run.slices[by] ?? []).flatMap(({ label: slice, scores }) => {
      const figure = scores[name];
      if (figure === undefined || figure.value === null) return [];
      return [{ ...figure, slice, index, run: run.label, href: filterLink({ [by]: slice }) }];
    }),
  );
  const bars = slices.filter(({ slice }) => shown.includes(slice));
  const ends = bars.flatMap(({ value, low, high }) => [value ?? 0, low ?? 0, high ?? 0]);
  const end = Math.max(1, ...ends);
  const left = labels.length - shown.length;
  return {
    title: SLICE_WORDS[by],
    description: left === 0 ? "" : `The ${shown.length} with the most tasks of ${labels.length}.`,
    draw: (width) =>
      Plot.plot({
        width,
        height: 30 + shown.length * Math.max(26, 14 * runs.length + 8),
        marginLeft: marginFor(shown, width),
        marginRight: 46,
        marginTop: 4,
        style: CHART_STYLE,
        x: { domain: [Math.min(0, ...ends), end], label: null, ticks: 5, grid: true },
        y: { domain: runs.map((run) => run.label), axis: null, padding: 0.15 },
        fy: { domain: shown, label: null, padding: 0.22, tickFormat: (text: string) => shorten(text, width) },
        marks: [
          Plot.barX(bars, {
            ...{ x: "value", y: "run", fy: "slice", href: "href", rx: 2, fillOpacity: 0.8 },
            fill: (bar: (typeof bars)[number]) => runColour(bar.index),
            title: (bar: (typeof bars)[number]) =>
              `${bar.slice}: ${scoreText(bar.value)}, ${intervalText(bar)}, ${count(bar.n)} tasks`,
            ariaLabel: (bar: (typeof bars)[number]) =>
              `${bar.slice}, ${bar.run}: ${scoreText(bar.value)}; show its tasks`,
          }),
          Plot.ruleY(
            bars.filter(({ low }) => low !== null),
            { x1: "low", x2: "high", y: "run", fy: "slice", stroke: "currentColor", strokeWidth: 1.5 },
          ),
          Plot.text(bars, {
            ...{ y: "run", fy: "slice", frameAnchor: "right", dx: 42, textAnchor: "end", fillOpacity: 0.7 },
            text: (bar: (typeof bars)[number]) => count(bar.n),
          }),
        ],
      }),
    heading: [SLICE_WORDS[by], ...runs.map((run) => run.label)],
    rows: labels.map((slice) => [
      slice,
      ...runs.map((run) => {
        const figure = run.slices[by]?.find((each) => each.label === slice)?.scores[name];
        return figure === undefined ? "–" : `${scoreText(figure.value)} (${intervalText(figure)}; ${count(figure.n)})`;
      }),
    ]),
  };
}

/** Width of a character of the labels, and the space beside them. */
const CHARACTER_PX = 7.2;
const LABEL_PADDING_PX = 12;

/** As wide as the longest label, within limits. */
function marginFor(labels: readonly string[], width: number): number {
  const longest = Math.max(0, ...labels.map((label) => label.length));
  return Math.max(44, Math.min(widestMargin(width), LABEL_PADDING_PX + longest * CHARACTER_PX));
}

function shorten(text: string, width: number): string {
  const room = Math.floor((widestMargin(width) - LABEL_PADDING_PX) / CHARACTER_PX);
  return text.length <= room ? text : `${text.slice(0, room - 1)}…`;
}

function widestMargin(width: number): number {
  return Math.min(210, width * 0.42);
}
