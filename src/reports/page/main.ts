import { comparisonSection } from "./comparison/comparison-section.js";
import { PairOutcomes } from "./comparison/pair-outcomes.js";
import { header } from "./header.js";
import { loadReport, type Task } from "./load-report.js";
import { EMPTY_VIEW, findTask, readView, taskName, type ViewState, writeView } from "./route.js";
import { section } from "./section.js";
import { figureSections, scoreSection } from "./sections.js";
import { h, replaceChildren } from "./shared/dom.js";
import { TaskControls } from "./task/task-controls.js";
import { TaskDialog } from "./task/task-dialog.js";
import { filterTasks } from "./task/task-filter.js";
import { TaskTable } from "./task/task-table.js";
import { themeButton } from "./theme-button.js";
import { TraceSource } from "./trace-source.js";

const { head, tasks } = loadReport();
let view: ViewState = EMPTY_VIEW;

const outcomes = new PairOutcomes(head, tasks);
const leading = Math.max(
  0,
  head.scores.findIndex(({ name }) => name === head.leading),
);
const table = new TaskTable(head, tasks.length, leading, (task) => go({ ...view, task: taskName(task, head) }));
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
/** Shown where the URL names a task that is not in the report. */
const missing = h("p", { class: "missing", role: "alert" });
const taskSection = section("Tasks", null, missing, controls.element, table.element);

document.getElementById("report")?.append(
  h("a", { class: "skip", href: "#tasks" }, "To the tasks"),
  header(head, [
    themeButton(() => undefined),
    h("button", { type: "button", class: "quiet", click: () => print() }, "Print"),
  ]),
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
  const left = view.task === null ? null : findTask(view.task, tasks, head);
  history.replaceState(null, "", writeView({ ...view, task: null }));
  view = { ...view, task: null };
  if (left !== null) table.focus(left);
}

/** Shows what the URL's fragment says. */
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
  replaceChildren(missing, isMissing ? `There is no task "${view.task}" in this report.` : "");
  if (location.hash === "#tasks" || isFollowed(before) || isMissing) taskSection.scrollIntoView();
}

/** Whether a link of a chart was followed: the tasks it filters are further down. */
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
