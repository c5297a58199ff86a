import { count } from "../../text/format-number.js";
import type { Task } from "../load-report.js";
import type { ReportHead } from "../report-data.js";
import { h, replaceChildren } from "../shared/dom.js";
import { type Order, type SortKey, sorted } from "./task-filter.js";
import { type Column, columnsOf } from "./task-row.js";

/** Pixels; all rows have the same height, so that positions can be computed. */
const ROW = 56;
/** Rows rendered above and below the visible ones. */
const SPARE = 8;
/** Rows printed at most, as all of them are rendered then. */
const PRINTED = 200;

/**
 * The task table. Only the visible rows are rendered, so that ten thousand tasks are as fast as ten. One row has
 * tabindex 0; the arrow keys, Page, Home and End move from there, and Enter opens a task.
 */
export class TaskTable {
  readonly element: HTMLElement;
  private readonly body = h("tbody");
  private readonly above = h("tr", { class: "space", "aria-hidden": "true" });
  private readonly below = h("tr", { class: "space", "aria-hidden": "true" });
  private readonly scroller: HTMLElement;
  private readonly table: HTMLTableElement;
  private readonly summary = h("p", { class: "count", role: "status" });
  private readonly columns: readonly Column[];
  private readonly heads = new Map<SortKey, HTMLElement>();
  private tasks: readonly Task[] = [];
  private sortedTasks: readonly Task[] = [];
  private order: Order = { key: "task", down: false };
  private active = 0;
  private printing = false;
  private frame = 0;

  constructor(
    head: ReportHead,
    private readonly total: number,
    private score: number,
    private readonly onOpen: (task: Task) => void,
  ) {
    this.columns = columnsOf(head);
    for (const column of this.columns) this.heads.set(column.key, this.heading(column));
    this.table = h(
      "table",
      { class: "tasks", role: "grid", "aria-label": "Tasks" },
      h("thead", {}, h("tr", { "aria-rowindex": 1 }, ...this.heads.values())),
      this.body,
    );
    this.scroller = h("div", { class: "scroller", scroll: () => this.later() }, this.table);
    this.element = h("div", {}, this.summary, this.scroller);
    this.body.addEventListener("click", (event) => this.open(this.indexOf(event.target)));
    this.body.addEventListener("keydown", (event) => this.key(event));
    this.body.addEventListener("focusin", (event) => {
      this.active = this.indexOf(event.target) ?? this.active;
    });
    new ResizeObserver(() => this.later()).observe(this.scroller);
    for (const [name, printing] of [
      ["beforeprint", true],
      ["afterprint", false],
    ] as const) {
      addEventListener(name, () => {
        this.printing = printing;
        this.draw();
      });
    }
  }

  /** The tasks in display order. */
  get rows(): readonly Task[] {
    return this.sortedTasks;
  }

  show(tasks: readonly Task[]): void {
    this.tasks = tasks;
    this.arrange();
  }

  showScore(score: number): void {
    this.score = score;
    this.arrange();
  }

  /** Scrolls to a task's row and focuses it. */
  focus(task: Task): void {
    const index = this.sortedTasks.indexOf(task);
    if (index >= 0) this.move(index);
  }

  private arrange(): void {
    this.sortedTasks = sorted(this.tasks, this.order, this.score);
    this.active = 0;
    this.scroller.scrollTop = 0;
    for (const [key, head] of this.heads) {
      head.setAttribute("aria-sort", key !== this.order.key ? "none" : this.order.down ? "descending" : "ascending");
    }
    this.table.setAttribute("aria-rowcount", String(this.sortedTasks.length + 1));
    const all = this.sortedTasks.length === this.total;
    replaceChildren(
      this.summary,
      all ? `${count(this.total)} tasks` : `${count(this.sortedTasks.length)} of ${count(this.total)} tasks`,
    );
    this.draw();
  }

  private heading({ key, title, className }: Column): HTMLElement {
    const sort = () => {
      const down = this.order.key === key ? !this.order.down : false;
      this.order = { key, down };
      this.arrange();
    };
    return h("th", { scope: "col", class: className }, h("button", { type: "button", click: sort }, title));
  }

  private later(): void {
    cancelAnimationFrame(this.frame);
    this.frame = requestAnimationFrame(() => this.draw());
  }

  private draw(): void {
    const { scrollTop, clientHeight } = this.scroller;
    const first = this.printing ? 0 : Math.max(0, Math.floor(scrollTop / ROW) - SPARE);
    const seen = this.printing ? PRINTED : Math.ceil(clientHeight / ROW) + 2 * SPARE;
    const last = Math.min(this.sortedTasks.length, first + seen);
    const held = document.activeElement instanceof HTMLElement && this.body.contains(document.activeElement);
    this.above.style.height = `${first * ROW}px`;
    this.below.style.height = `${this.printing ? 0 : (this.sortedTasks.length - last) * ROW}px`;
    // Where the row with tabindex 0 was scrolled out of sight, a visible row takes its place.
    if (!this.printing) this.active = Math.min(Math.max(this.active, first), Math.max(first, last - 1));
    const rows = this.sortedTasks.slice(first, last).map((task, i) => this.row(task, first + i));
    replaceChildren(this.body, this.above, ...rows, this.below);
    if (held) this.rowAt(this.active)?.focus({ preventScroll: true });
  }

  private row(task: Task, index: number): HTMLElement {
    return h(
      "tr",
      { "aria-rowindex": index + 2, tabindex: index === this.active ? 0 : -1, "data-index": index },
      ...this.columns.map((column) => h("td", { class: column.className }, ...column.cell(task, this.score))),
    );
  }

  private rowAt(index: number): HTMLElement | null {
    return this.body.querySelector(`tr[data-index="${index}"]`);
  }

  private indexOf(target: EventTarget | null): number | null {
    const row = target instanceof Element ? target.closest("tr[data-index]") : null;
    return row === null ? null : Number(row.getAttribute("data-index"));
  }

  private open(index: number | null): void {
    const task = index === null ? undefined : this.sortedTasks[index];
    if (task === undefined || index === null) return;
    this.active = index;
    this.onOpen(task);
  }

  private key(event: KeyboardEvent): void {
    const page = Math.max(1, Math.floor(this.scroller.clientHeight / ROW) - 1);
    const steps: Readonly<Record<string, number>> = {
      ...{ ArrowDown: this.active + 1, ArrowUp: this.active - 1, PageDown: this.active + page },
      ...{ PageUp: this.active - page, Home: 0, End: this.sortedTasks.length - 1 },
    };
    const step = steps[event.key];
    if (step !== undefined) this.move(step);
    else if (event.key === "Enter" || event.key === " ") this.open(this.active);
    else return;
    event.preventDefault();
  }

  private move(wanted: number): void {
    const index = Math.min(this.sortedTasks.length - 1, Math.max(0, wanted));
    this.active = index;
    const { scrollTop, clientHeight } = this.scroller;
    const head = this.table.tHead?.offsetHeight ?? 0;
    if (index * ROW < scrollTop) this.scroller.scrollTop = index * ROW;
    else if ((index + 1) * ROW + head > scrollTop + clientHeight)
      this.scroller.scrollTop = (index + 1) * ROW + head - clientHeight;
    this.draw();
    this.rowAt(index)?.focus({ preventScroll: true });
  }
}
