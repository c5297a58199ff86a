// The charts of a report, as Plot figures: scores, turns, cost and time, one facet per run.
import type * as PlotLibrary from "@observablehq/plot";
import { stripControls } from "../../platform/control-characters.js";
import type { Figure, ReportHead, RunFigures, ScoreMeaning } from "../../reports/report-data.js";
import { count, counted, duration, truncated } from "../../text/format.js";
import type { SliceName } from "../../traces/task-slices.js";
import { type Child, costText, h, intervalText, replaceChildren, scoreAxis, scoreText, select } from "../dom.js";
import { costOfThousand, runColour, SLICE_WORDS } from "./header.js";
import { filterLink } from "./view-state.js";

interface Bin {
  readonly run: string;
  readonly tasks: number;
  readonly from: number;
  readonly to: number;
  readonly colour: string;
  readonly title: string;
}

interface Price {
  readonly title: string;
  readonly label: string;
  readonly read: (run: RunFigures) => number | null;
  readonly text: (value: number) => string;
}

interface Point extends Figure {
  readonly value: number;
  readonly x: number;
  readonly colour: string;
  readonly run: string;
}

interface PointLabel {
  readonly text: string;
  readonly colour: string;
  readonly x: number;
  readonly value: number;
  /** Position of the point in pixels. */
  readonly left: number;
  readonly top: number;
}

export interface Chart {
  readonly title: string;
  /** The title, which is also the name for screen readers. */
  readonly description: string;
  draw(width: number): SVGSVGElement | HTMLElement;
  /** The figures of the chart as a table. */
  readonly heading: readonly string[];
  readonly rows: readonly (readonly string[])[];
}

/** Number of tasks per number of turns. */
export function turnsChart({ runs }: ReportHead): Chart {
  const most = Math.max(1, ...runs.map((run) => run.turns.length - 1));
  const all = Array.from({ length: most + 1 }, (_, turns) => turns);
  const bins = runs.flatMap((run, index) =>
    run.turns.map((tasks, turns) => ({
      run: run.label,
      tasks,
      from: turns - 0.4,
      to: turns + 0.4,
      colour: runColour(index),
      title: `${counted(turns, "turn")}: ${counted(tasks, "task")}`,
    })),
  );
  const x = { domain: [-0.5, most + 0.5], label: null, ticks: Math.min(most + 1, 12), tickFormat: "d" };
  return {
    title: "Turns",
    description: "Number of tasks per number of model calls.",
    draw: histogram(bins, runs, 110, { x }),
    heading: ["Turns", ...runs.map((run) => run.label)],
    rows: all.map((turns) => [String(turns), ...runs.map((run) => count(run.turns[turns] ?? 0))]),
  };
}

/** A histogram of a score with twenty bars. */
export function distributionChart({ runs }: ReportHead, { name, label }: ScoreMeaning): Chart {
  const bins = runs.flatMap((run, index) =>
    (run.distribution[name] ?? []).map((tasks, bin, all) => {
      const [from, to] = [bin / all.length, (bin + 1) / all.length];
      const title = `${from.toFixed(2)} to ${to.toFixed(2)}: ${counted(tasks, "task")}`;
      return { run: run.label, tasks, from, to, colour: runColour(index), title };
    }),
  );
  const edges = [...new Set(bins.map(({ from }) => from))];
  const x = { domain: [0, 1], label: null, ticks: 10, tickFormat: ".1f" };
  return {
    title: `${label}, task by task`,
    description: "Number of tasks per score, in steps of 0.05.",
    draw: histogram(bins, runs, 130, { x, marginRight: 12 }, 1),
    heading: ["Score", ...runs.map((run) => run.label)],
    rows: edges.map((edge) => [
      `${edge.toFixed(2)} to ${(edge + 0.05).toFixed(2)}`,
      ...runs.map((run) => count(bins.find((bin) => bin.run === run.label && bin.from === edge)?.tasks ?? 0)),
    ]),
  };
}

/** A histogram of tasks. `inset` is the space between two bars in pixels, on each side. */
function histogram(
  bins: readonly Bin[],
  runs: readonly RunFigures[],
  runHeight: number,
  options: PlotLibrary.PlotOptions,
  inset = 0,
): Chart["draw"] {
  const { facets, names } = facetsOf(runs.map((run) => run.label));
  return (width) =>
    Plot.plot({
      width,
      height: 60 + runHeight * runs.length,
      marginLeft: 44,
      marginTop: 30,
      style: CHART_STYLE,
      // More ticks than tasks would be fractions of a task.
      y: {
        label: "tasks",
        grid: true,
        ticks: Math.min(4, Math.max(1, ...bins.map(({ tasks }) => tasks))),
        tickFormat: "~s",
      },
      ...facets,
      ...options,
      marks: [
        Plot.rectY(bins, {
          x1: "from",
          x2: "to",
          y: "tasks",
          fy: "run",
          insetLeft: inset,
          insetRight: inset,
          rx: 2,
          fill: "colour",
          title: "title",
        }),
        Plot.ruleY([0]),
        names,
      ],
    });
}

/** The facets that put the charts of several runs below one another, and the mark with their names. */
export function facetsOf(runs: readonly string[]) {
  const isOne = runs.length === 1;
  const name = { fy: (run: string) => run, text: (run: string) => run };
  return {
    facets: { insetTop: isOne ? 0 : 18, fy: { domain: runs, axis: null } },
    names: isOne ? null : Plot.text(runs, { ...name, frameAnchor: "top-left", fontWeight: 600, dy: -2 }),
  };
}

export const COST: Price = {
  title: "against cost",
  label: "US dollars per 1,000 tasks",
  read: costOfThousand,
  text: costText,
};

export const LATENCY: Price = {
  title: "against time",
  label: "seconds per task, median",
  read: ({ latency }) => (latency.p50 === null ? null : latency.p50 / 1_000),
  text: (seconds) => duration(seconds * 1_000),
};

/**
 * Score against cost or latency. A run is dominated if another run is at least as good at no higher price and better in
 * one of the two. Dominated runs are drawn as rings.
 */
export function tradeOffChart({ runs }: ReportHead, { name, label, better }: ScoreMeaning, price: Price): Chart {
  const all = runs.flatMap((run, index): Point[] => {
    const figure = run.scores[name];
    const x = price.read(run);
    if (figure === undefined || figure.value === null || x === null) return [];
    return [{ ...figure, value: figure.value, x, colour: runColour(index), run: run.label }];
  });
  const points = all.map((point) => {
    const dominatedBy = all.find((other) => dominates(other, point, better))?.run ?? null;
    const inside = dominatedBy === null ? point.colour : "var(--paper)";
    return { ...point, dominatedBy, inside, title: `${point.run}: ${scoreText(point.value)}, ${price.text(point.x)}` };
  });
  const xs = points.map(({ x }) => x);
  const wide = Math.min(...xs) > 0 && Math.max(...xs) / Math.min(...xs) > 20;
  const ends = points.flatMap(({ value, low, high }) => [value ?? 0, low ?? 0, high ?? 0]);
  const yDomain = around(ends);
  const xDomain: [number, number] = wide
    ? [Math.min(...xs) / 1.5, Math.max(...xs) * 1.5]
    : [0, Math.max(0.001, ...xs) * 1.15];
  const height = Math.max(280, 64 + LABEL_PX * points.length);
  const margins = { marginLeft: 44, marginTop: 24, marginBottom: 40, marginRight: 24 };
  return {
    title: `${label} ${price.title}`,
    description: `One point per run, with its 95% interval; ${better === "higher" ? "up" : "down"} and to the left is better. A ring marks a dominated run: another run is at least as good and costs no more.`,
    draw: (width) =>
      Plot.plot({
        width,
        height,
        ...margins,
        style: CHART_STYLE,
        x: {
          label: price.label,
          labelArrow: "none",
          type: wide ? "log" : "linear",
          ticks: 5,
          domain: xDomain,
          ...(wide ? { tickFormat: "~g" } : {}),
        },
        y: { domain: yDomain, label, labelArrow: "none", grid: true, ticks: 5 },
        marks: [
          Plot.ruleX(
            points.filter(({ low }) => low !== null),
            { x: "x", y1: "low", y2: "high", strokeWidth: 1.5, stroke: "colour" },
          ),
          ...pointLabels(
            points.map(({ value, x, run, colour, dominatedBy }) => ({
              text: dominatedBy === null ? run : `${run} (dominated)`,
              colour,
              x,
              value,
              left: pixel(x, xDomain, [margins.marginLeft, width - margins.marginRight], wide),
              top: pixel(value, yDomain, [height - margins.marginBottom, margins.marginTop], false),
            })),
            { left: margins.marginLeft, right: width, top: margins.marginTop, bottom: height - margins.marginBottom },
          ),
          Plot.dot(points, {
            x: "x",
            y: "value",
            r: 5,
            strokeWidth: 2,
            stroke: "colour",
            fill: "inside",
            title: "title",
          }),
        ],
      }),
    heading: ["Run", label, "95% interval", price.label, "Dominated by"],
    rows: points.map((point) => [
      point.run,
      scoreText(point.value),
      intervalText(point),
      price.text(point.x),
      point.dominatedBy ?? "–",
    ]),
  };
}

function dominates(a: Point, b: Point, better: ScoreMeaning["better"]): boolean {
  const gain = better === "higher" ? a.value - b.value : b.value - a.value;
  return gain >= 0 && a.x <= b.x && (gain > 0 || a.x < b.x);
}

/** Returns the range of the values with a margin. A scatter plot does not have to start at 0. */
function around(ends: readonly number[]): [number, number] {
  const [low, high] = [Math.min(...ends), Math.max(...ends)];
  const room = Math.max(0.02, (high - low) * 0.15);
  return [low - room, high + room];
}

function pixel(
  value: number,
  [low, high]: readonly [number, number],
  [from, to]: readonly [number, number],
  log: boolean,
): number {
  const at = (each: number) => (log ? Math.log(each) : each);
  return from + ((at(value) - at(low)) / (at(high) - at(low))) * (to - from);
}

/** Height of a line of labels in pixels. */
const LABEL_PX = 15;

/**
 * Labels next to their points and in the same color. Labels of nearby points are placed below one another. Long labels
 * are truncated in the middle, because labels often differ at their ends.
 */
function pointLabels(
  labels: readonly PointLabel[],
  { left: from, right: to, top, bottom }: Readonly<Record<"left" | "right" | "top" | "bottom", number>>,
): PlotLibrary.Markish[] {
  const sorted = labels.toSorted((a, b) => a.top - b.top);
  const tops = sorted.map((label) => label.top);
  for (const [i, at] of tops.entries()) tops[i] = Math.max(at, (tops[i - 1] ?? top - LABEL_PX) + LABEL_PX);
  for (const i of tops.keys()) {
    const last = tops.length - 1 - i;
    tops[last] = Math.min(tops[last] ?? 0, (tops[last + 1] ?? bottom + LABEL_PX) - LABEL_PX);
  }
  return sorted.map((label, i) => {
    const { text, colour, left } = label;
    // Use the side with more space.
    const toRight = to - left > left - from;
    const room = Math.floor(((toRight ? to - left : left - from) - LABEL_PADDING_PX) / CHARACTER_PX);
    const half = Math.floor((room - 1) / 2);
    return Plot.text([label], {
      x: "x",
      y: "value",
      dx: toRight ? 10 : -10,
      dy: (tops[i] ?? label.top) - label.top,
      textAnchor: toRight ? "start" : "end",
      fill: colour,
      stroke: "var(--paper)",
      strokeWidth: 3,
      text: () => (text.length <= room ? text : `${text.slice(0, half)}…${text.slice(text.length - half)}`),
    });
  });
}

/** Maximum number of parts, starting with those with the most tasks. */
const SHOWN = 12;

/** A score by slice, with intervals. Each bar links to its tasks. */
export function sliceChart({ runs }: ReportHead, by: SliceName, { name }: ScoreMeaning): Chart {
  const labels = [...new Set(runs.flatMap((run) => (run.slices[by] ?? []).map((slice) => slice.label)))];
  const shown = labels.slice(0, SHOWN);
  const slices = runs.flatMap((run, index) =>
    (run.slices[by] ?? []).flatMap(({ label: slice, scores }) => {
      const figure = scores[name];
      if (figure === undefined || figure.value === null) return [];
      const value = scoreText(figure.value);
      return [
        {
          ...figure,
          slice,
          run: run.label,
          colour: runColour(index),
          href: filterLink({ [by]: slice }),
          title: `${slice}: ${value}, ${intervalText(figure)}, ${counted(figure.n, "task")}`,
          name: `${slice}, ${run.label}: ${value}; show its tasks`,
          tasks: count(figure.n),
        },
      ];
    }),
  );
  const bars = slices.filter(({ slice }) => shown.includes(slice));
  const omitted = labels.length - shown.length;
  return {
    title: SLICE_WORDS[by],
    description: omitted === 0 ? "" : `The ${shown.length} groups with the most tasks, out of ${labels.length}.`,
    draw: (width) =>
      Plot.plot({
        width,
        height: 30 + shown.length * Math.max(26, 14 * runs.length + 8),
        marginLeft: marginFor(shown, width),
        marginRight: 46,
        marginTop: 4,
        style: CHART_STYLE,
        x: { domain: scoreAxis(bars), label: null, ticks: 5, grid: true },
        y: { domain: runs.map((run) => run.label), axis: null, padding: 0.15 },
        fy: { domain: shown, label: null, padding: 0.22, tickFormat: (text: string) => shorten(text, width) },
        marks: [
          Plot.barX(bars, {
            x: "value",
            y: "run",
            fy: "slice",
            href: "href",
            rx: 2,
            fillOpacity: 0.8,
            fill: "colour",
            title: "title",
            ariaLabel: "name",
          }),
          // A bar of 0 has no width.
          Plot.tickX(bars, { x: "value", y: "run", fy: "slice", stroke: "colour", strokeWidth: 2 }),
          Plot.ruleY(
            bars.filter(({ low }) => low !== null),
            { x1: "low", x2: "high", y: "run", fy: "slice", stroke: "currentColor", strokeWidth: 1.5 },
          ),
          Plot.text(bars, {
            y: "run",
            fy: "slice",
            frameAnchor: "right",
            dx: 42,
            textAnchor: "end",
            fillOpacity: 0.7,
            text: "tasks",
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

/** Width of a label character, and the space next to labels, in pixels. */
const CHARACTER_PX = 7.2;
const LABEL_PADDING_PX = 12;

/** As wide as the longest label, within limits. */
function marginFor(labels: readonly string[], width: number): number {
  const longest = Math.max(0, ...labels.map((label) => label.length));
  return Math.max(44, Math.min(widestMargin(width), LABEL_PADDING_PX + longest * CHARACTER_PX));
}

function shorten(text: string, width: number): string {
  const room = Math.floor((widestMargin(width) - LABEL_PADDING_PX) / CHARACTER_PX);
  return truncated(text, room);
}

function widestMargin(width: number): number {
  return Math.min(210, width * 0.42);
}

declare global {
  /** The page loads this library before this script. */
  const Plot: typeof PlotLibrary;
}

/** A chart with its title and data table. It is redrawn when the width changes. */
export function figureOf({ title, description, draw, heading, rows }: Chart): HTMLElement {
  const canvas = h("div.canvas");
  let drawnWidth = 0;
  new ResizeObserver(([entry]) => {
    const width = Math.floor(entry?.contentRect.width ?? 0);
    if (width === 0 || width === drawnWidth) return;
    drawnWidth = width;
    const picture = draw(width);
    const svg = picture instanceof SVGSVGElement ? picture : picture.querySelector("svg");
    svg?.setAttribute("role", "group");
    svg?.setAttribute("aria-label", `${title}. ${description}`);
    // Plot names its groups "rule" and "line", which screen readers would read.
    for (const group of picture.querySelectorAll("g[aria-label]")) group.removeAttribute("aria-label");
    // The served pages allow only their own style file, which contains the rules of these elements.
    for (const style of picture.querySelectorAll("style")) style.remove();
    // Plot shows names as they are.
    const texts = document.createTreeWalker(picture, NodeFilter.SHOW_TEXT);
    while (texts.nextNode()) texts.currentNode.nodeValue = stripControls(texts.currentNode.nodeValue ?? "");
    canvas.replaceChildren(picture);
  }).observe(canvas);
  return h(
    "figure.chart",
    h("figcaption", h("b", title), description !== "" && h("span", description)),
    canvas,
    h("details.as-table", h("summary", "Figures"), plainTable(heading, rows)),
  );
}

/** A list of the scores, and below it the output of `draw` for the selected score. */
export function scoreChooser(
  { scores }: ReportHead,
  { name, first }: { readonly name: string; readonly first: string },
  draw: (score: ScoreMeaning, index: number) => readonly Child[],
): HTMLElement[] {
  const body = h("div");
  const show = () => {
    const index = Math.max(0, list.selectedIndex);
    const score = scores[index];
    if (score !== undefined) replaceChildren(body, draw(score, index));
  };
  const list = select(
    { "aria-label": name, change: show },
    scores.map((score) => [score.name, score.label]),
  );
  list.value = first;
  show();
  return [h("p.choose", "Score ", list), body];
}

function plainTable(heading: readonly string[], rows: readonly (readonly string[])[]): HTMLElement {
  return h(
    "table",
    h("thead", h("tr", ...heading.map((name) => h("th", { scope: "col" }, name)))),
    h(
      "tbody",
      ...rows.map(([first = "", ...rest]) =>
        h("tr", h("th", { scope: "row" }, first), ...rest.map((text) => h("td.figure", text))),
      ),
    ),
  );
}

/** Style of all charts: a transparent background and the page's font. */
export const CHART_STYLE = {
  background: "none",
  fontFamily: "inherit",
  fontSize: "12px",
  overflow: "visible",
} as const;
