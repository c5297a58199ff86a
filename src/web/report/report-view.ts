// Puts the sections of a report together with its task table and dialog.
import { compact } from "../../platform/optional-values.js";
import type { ReportHead, RunFigures } from "../../reports/report-data.js";
import { SLICES, type SliceName } from "../../traces/task-slices.js";
import { h, replaceChildren } from "../dom.js";
import {
  effortTable,
  endings,
  evalTable,
  messageList,
  outcomeBars,
  outcomeLegend,
  scoreTable,
  toolTable,
} from "./bar-list.js";
import { distributionChart, figureOf, scoreChooser, sliceChart, turnsChart } from "./charts.js";
import { comparisonSection } from "./comparison.js";
import { runName, tiles } from "./header.js";
import type { Task, TraceSource } from "./load.js";
import { PairOutcomes } from "./pair-outcomes.js";
import { QuestionMatrix } from "./question-matrix.js";
import { section } from "./section.js";
import { suiteSections } from "./suite.js";
import { TaskControls, taskFilter } from "./task-controls.js";
import { type FirstTasks, TaskTable } from "./task-table.js";
import { TaskDialog, type TaskLinks } from "./task-view.js";
import { EMPTY_VIEW, findTask, isOfThisPlace, readView, taskName, type ViewState, writeView } from "./view-state.js";

type Kind = "questions" | "suites" | "both";

/** Where a report is shown: in its own file, or in a section of the served pages. */
export interface ReportPlace {
  /** Aborts when the report is removed from the page. */
  readonly signal: AbortSignal;
  /** The tasks at the top of the table. */
  readonly first: FirstTasks;
  /** Links from a task to other sections of the page. */
  readonly links: TaskLinks;
}

/** The sections of figures, from the scores to the tools. `keyFigures` are the first ones, or null. */
function figureSections(head: ReportHead, tasks: readonly Task[], keyFigures: HTMLElement | null): HTMLElement[] {
  return compact([
    section(
      "Scores",
      `${coverage(head)} In 95 of 100 such runs, the interval contains the true value.`,
      keyFigures,
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
    section("How agents work", null, h("div.pair.uneven", figureOf(turnsChart(head)), toolTable(head))),
  ]);
}

const EVALS =
  "Evals make errors. The corrected rate is the pass rate without the errors of the eval and of people's labels that the newest test measured. The false failure rate is the fraction of the good traces that the eval fails. Select a name to see the failing tasks.";

function evalSection(head: ReportHead): HTMLElement {
  return section("Evals", EVALS, evalTable(head));
}

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
  const listed = (title: string, messages: RunFigures["errors"]) =>
    messages.length === 0 ? [] : [h("h3", title), messageList(messages)];
  const messages = [...listed("Errors of failed tasks", run.errors), ...listed("Refusals", run.refusals)];
  return h(
    "div.run-block",
    head.runs.length > 1 && h("p.run-name", runName(index, head)),
    h(
      "div.pair",
      h("div", h("h3", run.suite === null ? "Gold email" : "State"), outcomeBars(run)),
      h("div", h("h3", "Endings"), endings(run, index), messages),
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
        "p.lead",
        `${score.label} with 95% intervals per group of tasks, and the number of tasks. Select a bar to see its tasks.`,
      ),
      h("div.pair", ...slices.map((by) => figureOf(sliceChart(head, by, score)))),
    ];
  });
  return section("One score in detail", null, ...chooser);
}

/** The sections of a report, its task table and the dialog of a task. Its state is in the URL fragment. */
export class ReportView {
  /** The sections of the figures and the task table. */
  readonly sections: HTMLElement;
  readonly dialog: HTMLElement;
  private view: ViewState = EMPTY_VIEW;
  private readonly outcomes: PairOutcomes;
  private readonly table: TaskTable;
  private readonly controls: TaskControls;
  /** Null if there is only one run. */
  private readonly matrix: QuestionMatrix | null;
  private readonly taskDialog: TaskDialog;
  /** Shown if the URL refers to a task that is not in the report. */
  private readonly missing = h("p.missing", { role: "alert" });
  private readonly taskSection: HTMLElement;

  constructor(
    private readonly head: ReportHead,
    private readonly tasks: readonly Task[],
    source: TraceSource,
    { signal, first, links }: ReportPlace,
  ) {
    this.outcomes = new PairOutcomes(head, tasks);
    const change = (changed: Partial<ViewState>) => {
      // Typing in the search field must not fill the browser's history.
      history.replaceState(history.state, "", writeView({ ...this.view, ...changed, task: null }));
      this.applyUrl();
    };
    this.table = new TaskTable(head, tasks, first, {
      open: (task) => this.go({ ...this.view, task: taskName(task, head) }),
      sort: (sort) => change({ sort }),
      signal,
    });
    this.controls = new TaskControls(head, tasks, change);
    this.matrix = head.runs.length === 1 ? null : new QuestionMatrix(head, tasks, this.outcomes, change);
    this.taskDialog = new TaskDialog(head, tasks, this.outcomes, source, links, {
      neighbours: () => this.table.rows,
      go: (task) => this.leave(task),
    });
    this.dialog = this.taskDialog.element;
    const { missing, controls, matrix, table } = this;
    this.taskSection = section("Tasks", null, missing, controls.element, matrix?.element ?? null, table.element);
    const isServed = first === "worst";
    const figures = [
      ...figureSections(head, tasks, isServed ? null : tiles(head)),
      scoreSection(head, (score) => this.table.showScore(score)),
    ];
    this.sections = h(
      "div.sections",
      head.comparisons.length !== 0 && comparisonSection(head),
      // A file is read from the figures to the tasks. The served pages lead to the failed tasks first.
      isServed ? [tiles(head), this.taskSection, ...figures] : [...figures, this.taskSection],
    );
    this.showTasks(EMPTY_VIEW);
  }

  /** Whether the user reads a task or works with the table, so that the report must not be replaced. */
  get isInUse(): boolean {
    return this.taskDialog.isOpen || this.sections.contains(document.activeElement);
  }

  /** Shows the state from the URL fragment. */
  applyUrl(): void {
    const { head, tasks } = this;
    const before = this.view;
    const view = readView(location.hash);
    this.view = view;
    const words = (each: ViewState) => writeView({ ...each, task: null });
    const task = view.task === null ? null : findTask(view.task, tasks, head);
    if (words(before) !== words(view)) {
      this.controls.show(view);
      this.showTasks(view);
    }
    if (task !== null) void this.taskDialog.show(task);
    else if (this.taskDialog.isOpen) {
      this.taskDialog.close();
      const closed = findTask(before.task ?? "", tasks, head);
      if (closed !== null) this.table.focus(closed);
    }
    const isMissing = view.task !== null && task === null;
    replaceChildren(this.missing, isMissing ? `Unknown task "${view.task}" in this report.` : "");
    if (location.hash === "#tasks" || this.isFollowed(before) || isMissing) this.taskSection.scrollIntoView();
  }

  private showTasks(view: ViewState): void {
    this.table.show(taskFilter(view, this.head, this.outcomes), view.sort);
    this.matrix?.show(this.table.rows, view);
  }

  private go(to: ViewState): void {
    location.hash = writeView(to);
  }

  /** Opens the next task, or closes the dialog and focuses the task's row. */
  private leave(task: Task | null): void {
    const { view, head } = this;
    if (task !== null) {
      // Steps between tasks are one place, so that Back leaves it.
      history.replaceState(history.state, "", writeView({ ...view, task: taskName(task, head) }));
      this.applyUrl();
      return;
    }
    // The close event is asynchronous: the URL can already show another section or task.
    if (!isOfThisPlace(location.hash) || readView(location.hash).task !== view.task) return;
    const openTask = view.task === null ? null : findTask(view.task, this.tasks, head);
    history.replaceState(history.state, "", writeView({ ...view, task: null }));
    this.view = { ...view, task: null };
    if (openTask !== null) this.table.focus(openTask);
  }

  /** Whether a chart link was followed. The tasks that it selects are further down. */
  private isFollowed(before: ViewState): boolean {
    const names = Object.keys(this.view.filters).length;
    return (
      this.view.task === null &&
      before.task === null &&
      names > 0 &&
      !this.taskSection.contains(document.activeElement) &&
      before !== EMPTY_VIEW
    );
  }
}
