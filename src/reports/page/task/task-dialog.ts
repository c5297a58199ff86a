import { count } from "../../text/format-number.js";
import type { PairOutcomes } from "../comparison/pair-outcomes.js";
import { runDot } from "../header.js";
import type { Task } from "../load-report.js";
import type { ReportHead, TraceView } from "../report-data.js";
import { taskName } from "../route.js";
import { type Child, h, replaceChildren, untrustedInline } from "../shared/dom.js";
import { headingOf } from "../suite/suite-task-view.js";
import { TraceMissing, type TraceSource } from "../trace-source.js";
import { scoreList, taskSummary, traceColumns } from "./task-view.js";
import { timeline } from "./timeline.js";

const OF_RESULTS_FILE = "This run was read from a results file, which has no conversations.";

/** A dialog with one task. Escape closes it; the arrow keys go to the next task in the table. */
export class TaskDialog {
  readonly element: HTMLDialogElement;
  private readonly content = h("div", { class: "content" });
  private readonly position = h("span", { class: "position" });
  private task: Task | null = null;

  constructor(
    private readonly head: ReportHead,
    private readonly tasks: readonly Task[],
    private readonly outcomes: PairOutcomes,
    private readonly source: TraceSource,
    private readonly neighbours: () => readonly Task[],
    private readonly onGo: (task: Task | null) => void,
  ) {
    const button = (label: string, name: string, click: () => void) =>
      h("button", { type: "button", class: "quiet", "aria-label": name, title: name, click }, label);
    this.element = h(
      "dialog",
      { class: "task", "aria-labelledby": "task-title" },
      h(
        "div",
        { class: "bar" },
        h(
          "div",
          { class: "buttons" },
          button("←", "Previous task", () => this.step(-1)),
          button("→", "Next task", () => this.step(1)),
        ),
        this.position,
        button("Close", "Close", () => this.element.close()),
      ),
      this.content,
    );
    this.element.addEventListener("close", () => {
      this.task = null;
      this.onGo(null);
    });
    // A click on the backdrop has the dialog itself as its target, as it has no padding.
    this.element.addEventListener("click", (event) => {
      if (event.target === this.element) this.element.close();
    });
    this.element.addEventListener("keydown", (event) => {
      if (event.altKey || event.ctrlKey || event.metaKey) return;
      if (event.key === "ArrowLeft") this.step(-1);
      if (event.key === "ArrowRight") this.step(1);
    });
  }

  get shown(): Task | null {
    return this.task;
  }

  close(): void {
    if (this.element.open) this.element.close();
  }

  async show(task: Task): Promise<void> {
    if (this.task === task) return;
    this.task = task;
    const rows = this.neighbours();
    const index = rows.indexOf(task);
    replaceChildren(this.position, index < 0 ? "" : `${count(index + 1)} of ${count(rows.length)}`);
    const scores = h("div", {}, ...this.scores(task, null));
    const columns = h("div", { "aria-live": "polite" }, h("p", { class: "meta" }, "Loading the conversation…"));
    replaceChildren(
      this.content,
      ...this.title(task),
      taskSummary(task, this.head, this.tasks, this.outcomes),
      scores,
      columns,
    );
    if (!this.element.open) this.element.showModal();
    // Focus the heading, so that screen readers read the question before the buttons.
    this.element.querySelector("h2")?.focus();
    this.element.scrollTop = 0;
    try {
      if (this.head.runs[task.run]?.hasConversations === false) {
        replaceChildren(columns, h("p", { class: "meta" }, OF_RESULTS_FILE));
        return;
      }
      const trace = await this.source.load(task);
      if (this.task !== task) return;
      replaceChildren(scores, ...this.scores(task, trace));
      replaceChildren(columns, timeline(trace.timeline), traceColumns(trace, this.runLabel(task, " of ", "")));
    } catch (error) {
      if (this.task !== task) return;
      const reason = error instanceof TraceMissing ? error.message : "The conversation could not be read.";
      const command = `art-e show ${taskName(task, this.head)}`;
      replaceChildren(
        columns,
        h("p", { class: "meta" }, reason, " ", h("code", {}, command), " shows it in a terminal."),
      );
    }
  }

  /** The grade of a suite's task stands in its summary. */
  private scores(task: Task, trace: TraceView | null): Child[] {
    return task.suite === null ? [scoreList(task, this.head, trace)] : [];
  }

  private title(task: Task): Child[] {
    const repeat = task.epoch === 1 ? "" : `, repeat ${task.epoch}`;
    if (task.suite !== null) {
      const { tool, snapshot, guidance } = task.suite;
      return [
        h(
          "p",
          { class: "eyebrow" },
          ...this.runLabel(task, "", " · "),
          untrustedInline(`Task ${task.taskId}${repeat} · ${tool} · ${snapshot} · ${guidance}`),
        ),
        h("h2", { id: "task-title", dir: "auto", tabindex: -1 }, headingOf(task.question)),
      ];
    }
    return [
      h(
        "p",
        { class: "eyebrow" },
        ...this.runLabel(task, "", " · "),
        `Task ${task.taskId}${repeat} · asked ${task.date} · `,
        untrustedInline(task.inbox),
      ),
      h("h2", { id: "task-title", dir: "auto", tabindex: -1 }, task.question),
    ];
  }

  /** Where there are several runs: which one the task is of. */
  private runLabel({ run }: Task, before: string, after: string): Child[] {
    const { runs } = this.head;
    return runs.length === 1 ? [] : [before, runDot(run), untrustedInline(runs[run]?.label ?? ""), after];
  }

  private step(by: number): void {
    const rows = this.neighbours();
    const next = this.task === null ? undefined : rows[rows.indexOf(this.task) + by];
    if (next !== undefined) this.onGo(next);
  }
}
