import { count, oneDecimal } from "../../text/format-number.js";
import { CHART_STYLE, type Chart } from "../charts/chart.js";
import { OUTCOME_WORDS } from "../display-texts.js";
import type { Task } from "../load-report.js";
import type { ReportHead } from "../report-data.js";
import { EMPTY_VIEW, taskName, writeView } from "../route.js";
import { scoreText } from "../shared/format.js";

interface Point {
  readonly actions: number;
  readonly toolCalls: number;
  readonly outcome: Task["outcome"];
  readonly run: string;
  readonly title: string;
  readonly href: string;
}

/** The agent's tool calls against the actions that a person takes, task by task. */
export function stepsChart(head: ReportHead, tasks: readonly Task[]): Chart {
  const points = tasks.flatMap((task) => toPoint(task, head));
  const runs = head.runs.filter(({ suite }) => suite !== null).map(({ label }) => label);
  const most = Math.max(1, ...points.map(({ actions }) => actions));
  return {
    title: "Steps",
    description:
      "Tool calls of the agent against the actions that a person takes; the line is as many. A point leads to its task.",
    draw: (width) =>
      Plot.plot({
        width,
        height: 60 + 200 * runs.length,
        marginLeft: 44,
        marginBottom: 36,
        insetTop: runs.length === 1 ? 0 : 18,
        style: CHART_STYLE,
        x: {
          domain: [0, most + 1],
          label: "actions of a person",
          labelArrow: "none",
          ticks: Math.min(most + 1, 10),
          tickFormat: "d",
        },
        y: { label: "tool calls", grid: true, ticks: 5, tickFormat: "d", zero: true, nice: true },
        fy: { domain: runs, axis: null },
        marks: [
          Plot.line(
            [0, most].map((steps) => ({ steps })),
            {
              ...{ x: "steps", y: "steps", stroke: "currentColor", strokeOpacity: 0.35, strokeDasharray: "4 4" },
            },
          ),
          Plot.dot(points, {
            ...{
              x: "actions",
              y: "toolCalls",
              fy: "run",
              href: "href",
              title: "title",
              r: 4.5,
              stroke: "var(--paper)",
            },
            fill: (point: Point) => `var(--${point.outcome})`,
          }),
          ...(runs.length === 1
            ? []
            : [
                Plot.text(runs, {
                  fy: (run: string) => run,
                  text: (run: string) => run,
                  frameAnchor: "top-left",
                  fontWeight: 600,
                  dy: -2,
                }),
              ]),
        ],
      }),
    heading: ["Actions", "Tasks", "Actions a task", "Turns", "Tool calls"],
    rows: head.runs.flatMap(({ suite, label }) =>
      (suite?.steps ?? []).map(({ difficulty, tasks: worked, actions, turns, toolCalls }) => [
        runs.length === 1 ? difficulty : `${difficulty}, ${label}`,
        count(worked),
        ...[actions, turns, toolCalls].map(oneDecimal),
      ]),
    ),
  };
}

/** None for tasks that the agent did not work on, or of which the suite does not say what they take. */
function toPoint(task: Task, head: ReportHead): Point[] {
  const { suite, outcome, turns, question } = task;
  if (suite === null || suite.actionNumber === null || suite.toolCalls === null || turns === 0) return [];
  const { actionNumber, toolCalls } = suite;
  const score = scoreText(task.scores[head.scores.findIndex(({ name }) => name === "taskScore")]);
  const steps = `${toolCalls} tool calls for ${actionNumber} actions; score ${score} (${OUTCOME_WORDS[outcome]})`;
  return [
    {
      ...{ actions: actionNumber, toolCalls, outcome, run: head.runs[task.run]?.label ?? "" },
      title: `${question.slice(0, 80)}\n${steps}`,
      href: writeView({ ...EMPTY_VIEW, task: taskName(task, head) }),
    },
  ];
}
