// A chart of the headline score over the listed runs with the same agent, dataset and score.
import { groupBy } from "../../platform/group-by.js";
import { compact } from "../../platform/optional-values.js";
import { besideHeadline, datasetText, failedAsWrong } from "../../reports/figure-text.js";
import type { RunLineJson } from "../../server/response-shapes.js";
import { count } from "../../text/format.js";
import { h, intervalText, minuteText, replaceChildren, scoreAxis, scoreText, select } from "../dom.js";
import { CHART_STYLE, type Chart, figureOf } from "../report/charts.js";
import { loadLibraries } from "./libraries.js";
import { errorNotice } from "./lists.js";

type ScoredRun = RunLineJson & { readonly score: NonNullable<RunLineJson["score"]> };

interface Group {
  readonly name: string;
  readonly runs: readonly ScoredRun[];
}

const ORDERS = [
  ["date", "by date"],
  ["tag", "by tag"],
] as const;

/** A collapsed chart. `show` replaces its runs. */
export function scoreChart(): { readonly element: HTMLDetailsElement; show(runs: readonly RunLineJson[]): void } {
  let groups: readonly Group[] = [];
  const body = h("div.served");
  const group = select({ "aria-label": "Runs of the chart", change: () => draw() }, []);
  const order = select({ "aria-label": "Order of the chart", change: () => draw() }, ORDERS);
  const element = h(
    "details.filters",
    { toggle: () => void open() },
    h("summary", "Chart of scores"),
    h("p.run-actions", group, order),
    body,
  );

  async function open(): Promise<void> {
    try {
      if (element.open) await loadLibraries("d3", "plot");
      draw();
    } catch (error) {
      replaceChildren(body, errorNotice((error as Error).message));
    }
  }

  function draw(): void {
    const shown = groups[group.selectedIndex];
    if (!element.open || shown === undefined || typeof Plot === "undefined") return;
    replaceChildren(body, figureOf(chartOf(shown, order.value === "tag")));
  }

  return {
    element,
    show(runs) {
      groups = groupsOf(runs);
      element.hidden = groups.length === 0;
      const { value } = group;
      const options = groups.map(({ name, runs }) => h("option", { value: name }, `${name} (${count(runs.length)})`));
      replaceChildren(group, ...options);
      group.hidden = groups.length === 1;
      group.value = groups.some(({ name }) => name === value) ? value : (groups[0]?.name ?? "");
      draw();
    },
  };
}

/** Groups the runs whose scores can be compared. The largest group comes first. */
function groupsOf(runs: readonly RunLineJson[]): readonly Group[] {
  const scored = runs.flatMap((run): ScoredRun[] => (run.score === null ? [] : [{ ...run, score: run.score }]));
  const byName = groupBy(scored, (run) => {
    const disturbed = run.perturbation === null ? "" : `, ${run.perturbation}`;
    return `${run.agent_id}, ${datasetText(run)}${disturbed}: ${run.score.label}`;
  });
  return [...byName].map(([name, runs]) => ({ name, runs })).sort((a, b) => b.runs.length - a.runs.length);
}

function chartOf({ name, runs }: Group, isByTag: boolean): Chart {
  const oldestFirst = runs.toSorted((a, b) => a.started_at.localeCompare(b.started_at));
  const points = oldestFirst.flatMap(({ id, name, model, tags, score, started_at }) => {
    const [value, interval] = [scoreText(score.value), intervalText(score)];
    const label = name ?? model;
    const point = {
      ...score,
      withFailed: failedAsWrong(score),
      allRight: score.passHatK?.value ?? null,
      label,
      date: new Date(started_at),
      day: minuteText(started_at),
      href: `#runs/${encodeURIComponent(id)}`,
      title: `${label}, ${minuteText(started_at)}: ${value}, ${interval}${besideHeadline(score)}`,
      name: `${label}: ${value}; open the run`,
    };
    return (isByTag && tags.length > 0 ? tags : [isByTag ? "no tag" : ""]).map((tag) => ({ ...point, tag }));
  });
  const tags = [...new Set(points.map(({ tag }) => tag))];
  const withFailed = points.filter((point) => point.withFailed !== null);
  const allRight = points.filter((point) => point.allRight !== null);
  const x = isByTag ? "tag" : "date";
  return {
    title: name,
    description: compact([
      "One point per run, with its 95% interval. Select a point to open the run.",
      withFailed.length > 0 && "A ring is the score with failed tasks as wrong.",
      allRight.length > 0 && "A diamond is pass^k: all epochs of a question are right.",
    ]).join(" "),
    draw: (width) =>
      Plot.plot({
        width,
        height: 260,
        marginLeft: 44,
        marginRight: 24,
        style: CHART_STYLE,
        x: isByTag
          ? { type: "point", domain: tags, label: null, padding: 0.5 }
          : { type: "utc", label: null, inset: 12 },
        y: {
          domain: scoreAxis(points),
          label: null,
          grid: true,
          ticks: 5,
        },
        marks: [
          Plot.ruleX(
            points.filter(({ low }) => low !== null),
            { x, y1: "low", y2: "high", strokeWidth: 1.5, stroke: "var(--run-0)" },
          ),
          Plot.dot(withFailed, { x, y: "withFailed", r: 4, stroke: "var(--run-0)", title: "title" }),
          Plot.dot(allRight, { x, y: "allRight", r: 4, symbol: "diamond", stroke: "var(--run-0)", title: "title" }),
          Plot.dot(points, {
            x,
            y: "value",
            r: 5,
            fill: "var(--run-0)",
            href: "href",
            title: "title",
            ariaLabel: "name",
          }),
        ],
      }),
    heading: ["Run", isByTag ? "Tag" : "Started", "Score", "95% interval", "Failed as wrong", "pass^k"],
    rows: points.map((point) => [
      point.label,
      isByTag ? point.tag : point.day,
      scoreText(point.value),
      intervalText(point),
      scoreText(point.withFailed),
      scoreText(point.allRight),
    ]),
  };
}
