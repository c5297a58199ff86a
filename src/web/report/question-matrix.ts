// The compared questions with a column per run.
import { firstLine } from "../../reports/figure-text.js";
import type { ReportHead } from "../../reports/report-data.js";
import { count } from "../../text/format.js";
import { type Child, h, replaceChildren, scoreText, setText, untrustedInline, untrustedText } from "../dom.js";
import { outcomeBody } from "./comparison.js";
import { wide } from "./figure-table.js";
import { outcomeColour, runName } from "./header.js";
import { scoreOf, type Task } from "./load.js";
import { type PairOutcomes, writeOutcome } from "./pair-outcomes.js";
import { EMPTY_VIEW, taskName, type ViewState, writeView } from "./view-state.js";

/** A question that several runs answered. */
interface Row {
  /** All epochs, per run. Empty for a run without the question. */
  readonly tasks: readonly (readonly Task[])[];
  /** Difference between the highest and the lowest score. */
  readonly gap: number;
}

/** Number of questions per page. */
const PAGE = 20;

/**
 * The compared questions with a column per run: its answer, its score and its outcome against the first run. The
 * largest differences come first.
 */
export class QuestionMatrix {
  readonly element: HTMLElement;
  private readonly metric: string;
  private readonly rows: readonly Row[];
  private readonly body = h("tbody");
  private readonly differing = h("input", { type: "checkbox", id: "only-differences" });
  private readonly summary = h("span.meta", { role: "status" });
  private readonly more = h("button.quiet", { click: () => this.addPage() }, "Show more");
  private visible: readonly Row[] = [];
  private view: ViewState = EMPTY_VIEW;

  constructor(
    private readonly head: ReportHead,
    tasks: readonly Task[],
    private readonly outcomes: PairOutcomes,
    onChange: (change: Pick<ViewState, "filters">) => void,
  ) {
    this.metric = head.comparisons.find(({ headline }) => headline !== null)?.headline ?? head.leading;
    this.rows = rowsOf(tasks, this.metric, head);
    this.differing.addEventListener("change", () => {
      const { compared: _, ...others } = this.view.filters;
      onChange({ filters: this.differing.checked ? { ...others, compared: this.differsFilter } : others });
    });
    const hasQuestions = head.runs.some(({ suite }) => suite === null);
    const heads: readonly (readonly Child[])[] = [
      [hasQuestions ? "Question and gold answer" : "Task"],
      ...head.runs.map((_, run) => runName(run, head)),
    ];
    const table = h(
      "table.matrix",
      h("caption.hidden", "Questions by run"),
      h("thead", h("tr", ...heads.map((cells) => h("th", { scope: "col" }, ...cells)))),
      this.body,
    );
    const label = h("label", { for: this.differing.id }, "Only differences");
    this.element = h(
      "div.by-question",
      { hidden: this.rows.length === 0 },
      h("h3", hasQuestions ? "Questions by run" : "Tasks by run"),
      h("p.matrix-tools", this.differing, label, this.summary),
      wide(table, "Questions by run"),
      this.more,
    );
  }

  /** Shows the questions of the filtered tasks. */
  show(tasks: readonly Task[], view: ViewState): void {
    this.view = view;
    this.differing.checked = view.filters.compared === this.differsFilter;
    const shown = new Set(tasks);
    this.visible = this.rows.filter(({ tasks: ofRuns }) =>
      ofRuns.some((ofRun) => ofRun.some((task) => shown.has(task))),
    );
    setText(this.summary, `${count(this.visible.length)} of ${count(this.rows.length)}`);
    replaceChildren(this.body);
    this.addPage();
  }

  private get differsFilter(): string {
    return writeOutcome({ outcome: "differs", runId: null, metric: this.metric });
  }

  private addPage(): void {
    const from = this.body.rows.length;
    this.body.append(...this.visible.slice(from, from + PAGE).map((row) => this.row(row)));
    this.more.hidden = this.body.rows.length >= this.visible.length;
  }

  private row({ tasks }: Row): HTMLElement {
    const [task] = tasks.flat();
    if (task === undefined) return h("tr");
    const gold = task.suite === null ? h("p.meta", "Gold answer: ", untrustedInline(task.gold)) : null;
    return h(
      "tr",
      // The first line is enough to recognize a long instruction.
      h("th", { scope: "row" }, untrustedText(firstLine(task.question, 200)), gold),
      ...tasks.map((ofRun) => this.cell(ofRun, tasks[0]?.[0])),
    );
  }

  private cell(ofRun: readonly Task[], first: Task | undefined): HTMLElement {
    const [task] = ofRun;
    if (task === undefined) return h("td.meta", "–");
    const { head, metric } = this;
    const score = scoreText(meanScore(ofRun, metric, head));
    const label = head.runs[task.run]?.label ?? "";
    const href = writeView({ ...this.view, task: taskName(task, head) });
    const outcome = this.outcomes.of(task.taskId, task.run, metric);
    return h(
      "td.outcome-edge",
      { style: `border-left-color: ${outcomeColour(task.outcome)}` },
      h("a.figure", { href, "aria-label": `${score}, open the task of ${label}` }, score),
      ofRun.length === 1 ? null : h("span.meta", ` mean of ${ofRun.length} epochs`),
      outcome === null ? null : h("span", { class: `badge badge-${outcome}` }, outcome),
      outcomeBody(task, first === task ? undefined : first),
    );
  }
}

/** Returns the tasks with the same id and question in several runs, with the largest differences first. */
function rowsOf(tasks: readonly Task[], metric: string, head: ReportHead): Row[] {
  const byQuestion = new Map<string, Task[][]>();
  for (const task of tasks) {
    const key = `${task.taskId}\n${task.question}`;
    const ofRuns = byQuestion.get(key) ?? head.runs.map(() => []);
    ofRuns[task.run]?.push(task);
    byQuestion.set(key, ofRuns);
  }
  const rows = [...byQuestion.values()].filter((ofRuns) => ofRuns.filter((ofRun) => ofRun.length > 0).length > 1);
  const gapOf = (ofRuns: readonly (readonly Task[])[]) => {
    const scores = ofRuns.flatMap((ofRun) => meanScore(ofRun, metric, head) ?? []);
    return scores.length < 2 ? 0 : Math.max(...scores) - Math.min(...scores);
  };
  return rows.map((ofRuns) => ({ tasks: ofRuns, gap: gapOf(ofRuns) })).sort((a, b) => b.gap - a.gap);
}

/** Returns the mean over the epochs with a score, or null if none has one. */
function meanScore(tasks: readonly Task[], metric: string, head: ReportHead): number | null {
  const scores = tasks.flatMap((task) => scoreOf(task, metric, head) ?? []);
  return scores.length === 0 ? null : scores.reduce((sum, score) => sum + score, 0) / scores.length;
}
