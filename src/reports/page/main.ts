import { header } from "./header.js";
import { loadReport, type Task } from "./load-report.js";
import { findTask, NOWHERE, nameOf, type Place, readPlace, writePlace } from "./route.js";
import { figureSections, scoreSection, section } from "./sections.js";
import { h, replaceChildren } from "./shared/dom.js";
import { TaskControls } from "./task/task-controls.js";
import { TaskDialog } from "./task/task-dialog.js";
import { chosen } from "./task/task-filter.js";
import { TaskTable } from "./task/task-table.js";
import { themeButton } from "./theme-button.js";
import { TraceSource } from "./trace-source.js";

const { head, tasks } = loadReport();
let place: Place = NOWHERE;

const leading = Math.max(
  0,
  head.scores.findIndex(({ name }) => name === head.leading),
);
const table = new TaskTable(head, tasks.length, leading, (task) => go({ ...place, task: nameOf(task, head) }));
const controls = new TaskControls(head, tasks, (change) => {
  // Letters of a search are no places to come back to.
  history.replaceState(null, "", writePlace({ ...place, ...change, task: null }));
  arrive();
});
const dialog = new TaskDialog(
  head,
  tasks,
  new TraceSource(head.traces),
  () => table.rows,
  (task) => leave(task),
);
/** Said where an address names a task that is not here; empty otherwise. */
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
    ...figureSections(head),
    scoreSection(head, (score) => table.showScore(score)),
    taskSection,
  ),
  dialog.element,
);

addEventListener("hashchange", arrive);
table.show(tasks);
arrive();

function go(to: Place): void {
  location.hash = writePlace(to);
}

/** Goes on to a neighbour, or back to the table with the focus on the task's row. */
function leave(task: Task | null): void {
  if (task !== null) {
    go({ ...place, task: nameOf(task, head) });
    return;
  }
  const left = place.task === null ? null : findTask(place.task, tasks, head);
  history.replaceState(null, "", writePlace({ ...place, task: null }));
  place = { ...place, task: null };
  if (left !== null) table.focus(left);
}

/** Shows what the address says. */
function arrive(): void {
  const before = place;
  place = readPlace(location.hash);
  const words = (each: Place) => writePlace({ ...each, task: null });
  const task = place.task === null ? null : findTask(place.task, tasks, head);
  if (words(before) !== words(place)) {
    controls.show(place);
    table.show(chosen(tasks, place, head));
  }
  if (task !== null) void dialog.show(task);
  else dialog.close();
  const isMissing = place.task !== null && task === null;
  replaceChildren(missing, isMissing ? `There is no task "${place.task}" in this report.` : "");
  if (location.hash === "#tasks" || isFollowed(before) || isMissing) taskSection.scrollIntoView();
}

/** A link of a chart was followed: what it chose is further down. */
function isFollowed(before: Place): boolean {
  const names = Object.keys(place.filters).length;
  return (
    place.task === null &&
    before.task === null &&
    names > 0 &&
    !taskSection.contains(document.activeElement) &&
    before !== NOWHERE
  );
}
