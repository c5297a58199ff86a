// The sections of a report about suite runs.
import type { GuidanceComparison } from "../../analysis/analyse-suite.js";
import { differenceText, pText } from "../../reports/figure-text.js";
import type { ReportHead, RunFigures, SuiteFigures } from "../../reports/report-data.js";
import { durationRows, leftOut, stepRows, TEST_NAMES } from "../../reports/suite-text.js";
import { count } from "../../text/format.js";
import { type Child, h, scoreText } from "../dom.js";
import { CHART_STYLE, type Chart, facetsOf, figureOf } from "./charts.js";
import { figureTable } from "./figure-table.js";
import { OUTCOME_WORDS, outcomeColour, runName } from "./header.js";
import { scoreOf, type Task } from "./load.js";
import { section } from "./section.js";
import { taskLink } from "./view-state.js";

type SuiteRun = RunFigures & { readonly suite: SuiteFigures };

/** The sections about suite runs. Empty if all runs are over questions. */
export function suiteSections(head: ReportHead, tasks: readonly Task[]): HTMLElement[] {
  const runs = head.runs.filter((run): run is SuiteRun => run.suite !== null);
  if (runs.length === 0) return [];
  return [
    section(
      "Abstract against verbose",
      "Tasks that state only the goal, compared with the same tasks described step by step. Each task is compared with its counterpart.",
      ...runs.map((run) =>
        h(
          "div.run-block",
          runs.length > 1 && h("p.run-name", runName(head.runs.indexOf(run), head)),
          guidanceTable(run.suite.guidance),
        ),
      ),
    ),
    section("Steps and time", null, h("div.pair.uneven", figureOf(stepsChart(head, tasks)), durationTable(runs))),
  ];
}

const PAIR_COLUMNS = ["Score", "Pairs", "Abstract", "Verbose", "Difference (95%)", "p", "Better, worse, same"];

/** Compares abstract with verbose instructions over pairs of a task and its counterpart. */
function guidanceTable({ metrics, ...guidance }: GuidanceComparison): Child[] {
  const rows = metrics.map(({ label, baseline, candidate, difference, p, test, wins, losses, ties }) => ({
    label: [label],
    cells: [
      count(difference.n),
      scoreText(baseline),
      scoreText(candidate),
      differenceText(difference),
      p === null ? "–" : `${pText(p)} (${TEST_NAMES[test]})`,
      `${count(wins)}, ${count(losses)}, ${count(ties)}`,
    ],
  }));
  const caption = "Verbose compared with abstract instructions";
  return [
    figureTable({ className: "pairs", caption, columns: PAIR_COLUMNS }, rows),
    ...leftOut(guidance).map((text) => h("p.meta", text)),
  ];
}

/** Model and tool time by the suite's tools. */
function durationTable(runs: readonly SuiteRun[]): HTMLElement {
  const columns = ["Task time", "Tasks", "Mean", "Median", "95th percentile"];
  const groups = runs.map(({ label, suite }) => ({
    label: runs.length > 1 ? label : null,
    rows: durationRows(suite).map(([tool = "", ...cells]) => ({ label: [tool], cells })),
  }));
  return figureTable({ className: "tools", caption: "Model and tool time of tasks", columns }, { groups });
}

/** The agent's tool calls against the actions that a person needs, task by task. */
function stepsChart(head: ReportHead, tasks: readonly Task[]): Chart {
  const points = tasks.flatMap((task) => toPoint(task, head));
  const runs = head.runs.filter(({ suite }) => suite !== null).map(({ label }) => label);
  const most = Math.max(1, ...points.map(({ actions }) => actions));
  const { facets, names } = facetsOf(runs);
  return {
    title: "Steps",
    description:
      "The agent's tool calls compared with the actions that a person needs. On the line, both are equal. Select a point to see its task.",
    draw: (width) =>
      Plot.plot({
        width,
        height: 60 + 200 * runs.length,
        marginLeft: 44,
        marginBottom: 36,
        style: CHART_STYLE,
        ...facets,
        x: {
          domain: [0, most + 1],
          label: "human actions",
          labelArrow: "none",
          ticks: Math.min(most + 1, 10),
          tickFormat: "d",
        },
        y: { label: "tool calls", grid: true, ticks: 5, tickFormat: "d", zero: true, nice: true },
        marks: [
          Plot.line(
            [0, most].map((steps) => ({ steps })),
            { x: "steps", y: "steps", stroke: "currentColor", strokeOpacity: 0.35, strokeDasharray: "4 4" },
          ),
          Plot.dot(points, {
            x: "actions",
            y: "toolCalls",
            fy: "run",
            r: 4.5,
            stroke: "var(--paper)",
            fill: "colour",
            href: "href",
            title: "title",
          }),
          names,
        ],
      }),
    heading: ["Actions", "Tasks", "Actions per task", "Turns", "Tool calls"],
    rows: head.runs.flatMap(({ suite, label }) =>
      (suite === null ? [] : stepRows(suite)).map(([difficulty = "", ...cells]) => [
        runs.length === 1 ? difficulty : `${difficulty}, ${label}`,
        ...cells,
      ]),
    ),
  };
}

/** Returns an empty list for tasks that the agent did not work on, or without a known number of human actions. */
function toPoint(task: Task, head: ReportHead) {
  const { suite, outcome, turns, question } = task;
  if (suite === null || suite.actionNumber === null || suite.toolCalls === null || turns === 0) return [];
  const { actionNumber, toolCalls } = suite;
  const score = scoreText(scoreOf(task, "taskScore", head));
  const steps = `${toolCalls} tool calls for ${actionNumber} actions; score ${score} (${OUTCOME_WORDS[outcome]})`;
  return [
    {
      actions: actionNumber,
      toolCalls,
      colour: outcomeColour(outcome),
      run: head.runs[task.run]?.label ?? "",
      title: `${question.slice(0, 80)}\n${steps}`,
      href: taskLink(task, head),
    },
  ];
}
