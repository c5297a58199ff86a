import { compact } from "../../platform/optional-values.js";
import type { ReportHead, RunFigures } from "../../reports/report-data.js";
import { SLICES, type SliceName } from "../../traces/task-slices.js";
import { h, replaceChildren } from "../dom.js";
import {
  effortTable,
  endings,
  evalTable,
  messageList,
  outcomeLegend,
  profile,
  scoreTable,
  toolTable,
} from "./bar-list.js";
import { distributionChart, figureOf, scoreChooser, sliceChart, turnsChart } from "./charts.js";
import { comparisonSection } from "./comparison.js";
import { header, runName, tiles } from "./header.js";
import { loadReport, type Task, TraceSource } from "./load.js";
import { PairOutcomes } from "./pair-outcomes.js";
import { section } from "./section.js";
import { suiteSections, taskStatesChart } from "./suite.js";
import { filterTasks, TaskControls, TaskTable } from "./task-table.js";
import { TaskDialog } from "./task-view.js";
import { EMPTY_VIEW, findTask, readView, taskName, type ViewState, writeView } from "./view-state.js";

const KEY = "art-e-theme";

/** A button that switches between dark and light. Before its first use, the page follows the system setting. */
function themeButton(): HTMLElement {
  const button = h("button", { type: "button", class: "quiet" }, "");
  const label = () => {
    button.textContent = isDark() ? "Light" : "Dark";
    button.setAttribute("aria-label", isDark() ? "Switch to light colors" : "Switch to dark colors");
  };
  const storedTheme = remembered();
  if (storedTheme !== null) document.documentElement.dataset.theme = storedTheme;
  button.addEventListener("click", () => {
    const theme = isDark() ? "light" : "dark";
    document.documentElement.dataset.theme = theme;
    remember(theme);
    label();
  });
  matchMedia("(prefers-color-scheme: dark)").addEventListener("change", label);
  label();
  return button;
}

function isDark(): boolean {
  const { theme } = document.documentElement.dataset;
  return theme === undefined ? matchMedia("(prefers-color-scheme: dark)").matches : theme === "dark";
}

/** Some browsers do not allow pages opened from a file to use storage. */
function remembered(): string | null {
  try {
    const theme = localStorage.getItem(KEY);
    return theme === "dark" || theme === "light" ? theme : null;
  } catch {
    return null;
  }
}

function remember(theme: string): void {
  try {
    localStorage.setItem(KEY, theme);
  } catch {
    // The choice then lasts until the page is closed.
  }
}

/** The sections above the task table, from the headline scores to the tools. */
function figureSections(head: ReportHead, tasks: readonly Task[]): HTMLElement[] {
  return compact([
    section(
      "Scores",
      `${coverage(head)} In 95 of 100 such runs, the interval contains the true value.`,
      tiles(head),
      scoreTable(head),
      head.runs.length > 1 ? effortTable(head) : null,
    ),
    head.evals.length > 0 && evalSection(head),
    section(
      "Where tasks are lost",
      `${LOST[kindOf(head)]} Select a bar to see its tasks.`,
      outcomeLegend(head),
      ...head.runs.map((run, i) => lostTasks(run, i, head)),
    ),
    ...suiteSections(head, tasks),
    section("How agents work", null, h("div", { class: "pair uneven" }, figureOf(turnsChart(head)), toolTable(head))),
  ]);
}

const EVALS =
  "Evals make errors. The corrected rate is the pass rate without the errors of the eval and of the labels that the newest test measured. False alarms are the fraction of good traces that the eval fails. Select a name to see the failing tasks.";

function evalSection(head: ReportHead): HTMLElement {
  return section("Evals", EVALS, evalTable(head));
}

type Kind = "questions" | "suites" | "both";

function kindOf({ runs }: ReportHead): Kind {
  const ofSuites = runs.filter(({ suite }) => suite !== null).length;
  return ofSuites === 0 ? "questions" : ofSuites === runs.length ? "suites" : "both";
}

const QUESTIONS_LOST = "How close the agent came to an email with the answer, and how good its answer was.";
const SUITES_LOST = "How tasks ended, and how good the agent's output files were.";
const LOST: Readonly<Record<Kind, string>> = {
  questions: QUESTIONS_LOST,
  suites: SUITES_LOST,
  both: `${QUESTIONS_LOST} Suites: ${SUITES_LOST.charAt(0).toLowerCase()}${SUITES_LOST.slice(1)}`,
};

/** Explains which tasks the scores cover. */
function coverage(head: ReportHead): string {
  const kind = kindOf(head);
  if (kind === "questions") return "Over the completed tasks. Failed tasks are never graded.";
  const ofSuites = "Over the graded tasks. A missing score never counts as 0.";
  return kind === "suites"
    ? ofSuites
    : `Questions: over the completed tasks. Suites: over the graded tasks. A missing score never counts as 0.`;
}

/** Whether any part of the slice has a value for the score. */
function hasScore(run: RunFigures, by: SliceName, score: string): boolean {
  return (run.slices[by] ?? []).some(({ scores }) => (scores[score]?.n ?? 0) > 0);
}

function lostTasks(run: RunFigures, index: number, head: ReportHead): HTMLElement {
  const { runId, tasks, suite } = run;
  const states = suite === null ? [h("h3", {}, "Gold email"), profile(run)] : taskStatesChart(runId, tasks, suite);
  const listed = (title: string, messages: RunFigures["errors"]) =>
    messages.length === 0 ? [] : [h("h3", {}, title), messageList(messages)];
  const messages = [...listed("Errors of failed tasks", run.errors), ...listed("Refusals", run.refusals)];
  return h(
    "div",
    { class: "run-block" },
    head.runs.length > 1 ? h("p", { class: "run-name" }, ...runName(index, head)) : null,
    h(
      "div",
      { class: "pair" },
      h("div", {}, ...states),
      h("div", {}, h("h3", {}, "Endings"), endings(run, index), ...messages),
    ),
  );
}

/** The charts of one score, and the list that selects it. */
function scoreSection(head: ReportHead, onScore: (index: number) => void): HTMLElement {
  const chooser = scoreChooser(head, { name: "Score", first: head.leading }, (score, index) => {
    onScore(index);
    const slices = SLICES.filter((by) => head.runs.some((run) => hasScore(run, by, score.name)));
    return [
      figureOf(distributionChart(head, score)),
      h(
        "p",
        { class: "lead" },
        `${score.label} with 95% intervals per group of tasks, and the number of tasks. Select a bar to see its tasks.`,
      ),
      h("div", { class: "pair" }, ...slices.map((by) => figureOf(sliceChart(head, by, score)))),
    ];
  });
  return section("One score in detail", null, ...chooser);
}

const { head, tasks } = loadReport();
let view: ViewState = EMPTY_VIEW;

const outcomes = new PairOutcomes(head, tasks);
const table = new TaskTable(head, tasks.length, (task) => go({ ...view, task: taskName(task, head) }));
const controls = new TaskControls(head, tasks, (change) => {
  // Typing in the search field must not fill the browser's history.
  history.replaceState(null, "", writeView({ ...view, ...change, task: null }));
  applyUrl();
});
const dialog = new TaskDialog(
  head,
  tasks,
  outcomes,
  new TraceSource(head.traces),
  () => table.rows,
  (task) => leave(task),
);
/** Shown if the URL refers to a task that is not in the report. */
const missing = h("p", { class: "missing", role: "alert" });
const taskSection = section("Tasks", null, missing, controls.element, table.element);

document.getElementById("report")?.append(
  h("a", { class: "skip", href: "#tasks" }, "To the tasks"),
  header(head, [themeButton(), h("button", { type: "button", class: "quiet", click: () => print() }, "Print")]),
  h(
    "main",
    {},
    head.comparisons.length === 0 ? null : comparisonSection(head, outcomes),
    ...figureSections(head, tasks),
    scoreSection(head, (score) => table.showScore(score)),
    taskSection,
  ),
  dialog.element,
);

addEventListener("hashchange", applyUrl);
table.show(tasks);
applyUrl();

function go(to: ViewState): void {
  location.hash = writeView(to);
}

/** Opens the next task, or closes the dialog and focuses the task's row. */
function leave(task: Task | null): void {
  if (task !== null) {
    go({ ...view, task: taskName(task, head) });
    return;
  }
  const openTask = view.task === null ? null : findTask(view.task, tasks, head);
  history.replaceState(null, "", writeView({ ...view, task: null }));
  view = { ...view, task: null };
  if (openTask !== null) table.focus(openTask);
}

/** Shows the state from the URL fragment. */
function applyUrl(): void {
  const before = view;
  view = readView(location.hash);
  const words = (each: ViewState) => writeView({ ...each, task: null });
  const task = view.task === null ? null : findTask(view.task, tasks, head);
  if (words(before) !== words(view)) {
    controls.show(view);
    table.show(filterTasks(tasks, view, head, outcomes));
  }
  if (task !== null) void dialog.show(task);
  else dialog.close();
  const isMissing = view.task !== null && task === null;
  replaceChildren(missing, isMissing ? `Unknown task "${view.task}" in this report.` : "");
  if (location.hash === "#tasks" || isFollowed(before) || isMissing) taskSection.scrollIntoView();
}

/** Whether a chart link was followed. The tasks that it selects are further down. */
function isFollowed(before: ViewState): boolean {
  const names = Object.keys(view.filters).length;
  return (
    view.task === null &&
    before.task === null &&
    names > 0 &&
    !taskSection.contains(document.activeElement) &&
    before !== EMPTY_VIEW
  );
}
