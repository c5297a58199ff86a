import { duration } from "../../text/format-number.js";
import type { Figure, ReportHead, RunFigures, ScoreMeaning } from "../report-data.js";
import { costText, intervalText, scoreText } from "../shared/format.js";
import { CHART_STYLE, type Chart, runColour } from "./chart.js";

interface Price {
  readonly title: string;
  readonly label: string;
  readonly read: (run: RunFigures) => number | null;
  readonly text: (value: number) => string;
}

export const COST: Price = {
  title: "against cost",
  label: "US dollars for 1,000 tasks",
  read: ({ costUsd, tasks }) => (costUsd === null || tasks === 0 ? null : (costUsd / tasks) * 1_000),
  text: costText,
};

export const LATENCY: Price = {
  title: "against time",
  label: "seconds a task, median",
  read: ({ latency }) => (latency.p50 === null ? null : latency.p50 / 1_000),
  text: (seconds) => duration(seconds * 1_000),
};

interface Point extends Figure {
  readonly value: number;
  readonly x: number;
  readonly index: number;
  readonly run: string;
}

/**
 * Score against cost or latency. A run is dominated where another is at least as good for no more, and better in one of
 * the two: it is drawn as a ring.
 */
export function tradeOffChart({ runs }: ReportHead, { name, label, better }: ScoreMeaning, price: Price): Chart {
  const all = runs.flatMap((run, index): Point[] => {
    const figure = run.scores[name];
    const x = price.read(run);
    if (figure === undefined || figure.value === null || x === null) return [];
    return [{ ...figure, value: figure.value, x, index, run: run.label }];
  });
  const points = all.map((point) => {
    const dominatedBy = all.find((other) => dominates(other, point, better))?.run ?? null;
    return { ...point, dominatedBy, shown: dominatedBy === null ? point.run : `${point.run} (dominated)` };
  });
  const xs = points.map(({ x }) => x);
  const wide = Math.min(...xs) > 0 && Math.max(...xs) / Math.min(...xs) > 20;
  const ends = points.flatMap(({ value, low, high }) => [value ?? 0, low ?? 0, high ?? 0]);
  return {
    title: `${label} ${price.title}`,
    description: `One point a run, with its 95 % interval; ${better === "higher" ? "up" : "down"} and to the left is better. A ring is dominated: another run is at least as good for no more.`,
    draw: (width) =>
      Plot.plot({
        width,
        height: 280,
        marginLeft: 44,
        marginTop: 24,
        marginBottom: 40,
        marginRight: 24,
        style: CHART_STYLE,
        x: {
          label: price.label,
          labelArrow: "none",
          type: wide ? "log" : "linear",
          ticks: 5,
          ...(wide ? { tickFormat: "~g", nice: true } : { domain: [0, Math.max(0.001, ...xs) * 1.15] }),
        },
        y: { domain: around(ends), label, labelArrow: "none", grid: true, ticks: 5 },
        marks: [
          Plot.ruleX(
            points.filter(({ low }) => low !== null),
            {
              ...{ x: "x", y1: "low", y2: "high", strokeWidth: 1.5 },
              stroke: (point: (typeof points)[number]) => runColour(point.index),
            },
          ),
          Plot.text(points, {
            ...{ x: "x", y: "value", text: "shown", lineWidth: 24, textOverflow: "ellipsis" },
            // Labels of points on the right go to the left.
            ...{ textAnchor: "start", dx: 10, filter: (point: (typeof points)[number]) => !isRight(point.x, xs, wide) },
          }),
          Plot.text(points, {
            ...{ x: "x", y: "value", text: "shown", lineWidth: 24, textOverflow: "ellipsis" },
            ...{ textAnchor: "end", dx: -10, filter: (point: (typeof points)[number]) => isRight(point.x, xs, wide) },
          }),
          Plot.dot(points, {
            ...{ x: "x", y: "value", r: 5, strokeWidth: 2 },
            stroke: (point: (typeof points)[number]) => runColour(point.index),
            fill: (point: (typeof points)[number]) =>
              point.dominatedBy === null ? runColour(point.index) : "var(--paper)",
            title: (point: (typeof points)[number]) =>
              `${point.shown}: ${scoreText(point.value)}, ${price.text(point.x)}`,
          }),
        ],
      }),
    heading: ["Run", label, "95 % interval", price.label, "Dominated by"],
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

/** The range of the values with a margin; a scatter plot need not start at 0. */
function around(ends: readonly number[]): [number, number] {
  const [low, high] = [Math.min(...ends), Math.max(...ends)];
  const room = Math.max(0.02, (high - low) * 0.15);
  return [low - room, high + room];
}

function isRight(x: number, xs: readonly number[], log: boolean): boolean {
  const at = (value: number) => (log ? Math.log(value) : value);
  const [from, to] = [log ? at(Math.min(...xs)) : 0, at(Math.max(...xs))];
  return at(x) > (from + to) / 2;
}
