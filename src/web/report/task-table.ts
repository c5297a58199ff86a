// The task table of a report: renders only the visible rows, sorts them, and moves between them with the keyboard.
import type { ReportHead } from "../../reports/report-data.js";
import type { TaskId } from "../../tasks/question.js";
import { count, counted } from "../../text/format.js";
import { h, replaceChildren } from "../dom.js";
import type { Task } from "./load.js";
import { type Column, columnsOf } from "./task-columns.js";

/** The tasks at the top of the table before the user sorts it. */
export type FirstTasks = "byId" | "worst";

interface TableActions {
  open(task: Task): void;
  /** Called with the order that the user selected, as it is in the URL. */
  sort(order: string): void;
  /** Aborts when the table is removed from the page. */
  readonly signal: AbortSignal;
}

interface Order {
  /** Key of a column, or `worst` for failed tasks first, then the lowest scores. */
  readonly key: string;
  readonly down: boolean;
}

/** Row height in pixels. All rows have the same height, so that positions can be computed. */
const ROW = 56;

/** Rows rendered above and below the visible ones. */
const SPARE = 8;

/** Maximum number of printed rows, because all of them are rendered. */
const PRINTED = 200;

/**
 * The task table. Only the visible rows are rendered, so that ten thousand tasks are as fast as ten. One row has
 * tabindex 0. The arrow keys, Page, Home and End move from there, and Enter opens a task.
 */
export class TaskTable {
  readonly element: HTMLElement;
  private readonly body = h("tbody");
  private readonly above = h("tr.space", { "aria-hidden": "true" });
  private readonly below = h("tr.space", { "aria-hidden": "true" });
  private readonly scroller: HTMLElement;
  private readonly table: HTMLTableElement;
  private readonly summary = h("p.meta.count", { role: "status" });
  private readonly columns: readonly Column[];
  private readonly heads = new Map<string, HTMLElement>();
  /** All tasks in the selected order, so that a search only has to filter them. */
  private ordered: readonly Task[];
  private matches: (task: Task) => boolean = () => true;
  /** The matching tasks in display order. */
  private shown: readonly Task[] = [];
  private order: Order;
  /** Index of the displayed score in a task's scores. */
  private score = 0;
  private active = 0;
  private printing = false;
  private frame = 0;

  constructor(
    head: ReportHead,
    tasks: readonly Task[],
    private readonly first: FirstTasks,
    private readonly actions: TableActions,
  ) {
    this.ordered = tasks;
    this.columns = columnsOf(head);
    this.order = this.readOrder("");
    for (const column of this.columns) this.heads.set(column.key, this.heading(column));
    this.table = h(
      "table.tasks",
      { role: "grid", "aria-label": "Tasks" },
      h("thead", h("tr", { "aria-rowindex": 1 }, ...this.heads.values())),
      this.body,
    );
    this.scroller = h("div.scroller", { scroll: () => this.later() }, this.table);
    this.element = h("div", this.summary, this.scroller);
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
      const draw = () => {
        this.printing = printing;
        this.draw();
      };
      addEventListener(name, draw, { signal: actions.signal });
    }
  }

  /** The tasks in display order. */
  get rows(): readonly Task[] {
    return this.shown;
  }

  /** Shows the tasks that match, in an order from the URL. */
  show(matches: (task: Task) => boolean, sort: string): void {
    this.matches = matches;
    const { key, down } = this.order;
    this.order = this.readOrder(sort);
    if (key === this.order.key && down === this.order.down) this.showMatches();
    else this.sort();
  }

  private readOrder(text: string): Order {
    const key = text.replace(/^-/, "");
    if (this.columns.some((column) => column.key === key)) return { key, down: text.startsWith("-") };
    return { key: this.first === "worst" ? "worst" : "task", down: false };
  }

  showScore(score: number): void {
    this.score = score;
    this.sort();
  }

  /** Scrolls to a task's row and focuses it. */
  focus(task: Task): void {
    const index = this.shown.indexOf(task);
    if (index >= 0) this.move(index);
  }

  private sort(): void {
    const { key: orderKey, down } = this.order;
    const { sort = badness } = this.columns.find(({ key }) => key === orderKey) ?? {};
    this.ordered = sorted(this.ordered, sort, down, this.score);
    for (const [key, head] of this.heads) {
      head.setAttribute("aria-sort", key !== this.order.key ? "none" : this.order.down ? "descending" : "ascending");
    }
    this.showMatches();
  }

  private showMatches(): void {
    this.shown = this.ordered.filter(this.matches);
    this.active = 0;
    this.scroller.scrollTop = 0;
    this.table.setAttribute("aria-rowcount", String(this.shown.length + 1));
    const [shown, all] = [this.shown.length, this.ordered.length];
    replaceChildren(this.summary, shown === all ? counted(all, "task") : `${count(shown)} of ${counted(all, "task")}`);
    this.draw();
  }

  private heading({ key, title, className }: Column): HTMLElement {
    const sort = () => this.actions.sort(this.order.key === key && !this.order.down ? `-${key}` : key);
    return h("th", { scope: "col", class: className }, h("button", { click: sort }, title));
  }

  private later(): void {
    cancelAnimationFrame(this.frame);
    this.frame = requestAnimationFrame(() => this.draw());
  }

  private draw(): void {
    const { scrollTop, clientHeight } = this.scroller;
    const first = this.printing ? 0 : Math.max(0, Math.floor(scrollTop / ROW) - SPARE);
    const seen = this.printing ? PRINTED : Math.ceil(clientHeight / ROW) + 2 * SPARE;
    const last = Math.min(this.shown.length, first + seen);
    const hasFocus = document.activeElement instanceof HTMLElement && this.body.contains(document.activeElement);
    this.above.style.height = `${first * ROW}px`;
    this.below.style.height = `${this.printing ? 0 : (this.shown.length - last) * ROW}px`;
    // If the row with tabindex 0 was scrolled out of sight, a visible row replaces it.
    if (!this.printing) this.active = Math.min(Math.max(this.active, first), Math.max(first, last - 1));
    const rows = this.shown.slice(first, last).map((task, i) => this.row(task, first + i));
    replaceChildren(this.body, this.above, ...rows, this.below);
    if (hasFocus) this.rowAt(this.active)?.focus({ preventScroll: true });
  }

  private row(task: Task, index: number): HTMLElement {
    return h(
      "tr",
      { "aria-rowindex": index + 2, tabindex: index === this.active ? 0 : -1, "data-index": index },
      ...this.columns.map((column) =>
        h("td", { class: column.className }, (column.cell ?? column.sort)(task, this.score)),
      ),
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
    const task = index === null ? undefined : this.shown[index];
    if (task === undefined || index === null) return;
    this.active = index;
    this.actions.open(task);
  }

  private key(event: KeyboardEvent): void {
    const page = Math.max(1, Math.floor(this.scroller.clientHeight / ROW) - 1);
    const steps: Readonly<Record<string, number>> = {
      ArrowDown: this.active + 1,
      j: this.active + 1,
      ArrowUp: this.active - 1,
      k: this.active - 1,
      PageDown: this.active + page,
      PageUp: this.active - page,
      Home: 0,
      End: this.shown.length - 1,
    };
    const step = steps[event.key];
    if (step !== undefined) this.move(step);
    else if (event.key === "Enter" || event.key === " ") this.open(this.active);
    else return;
    event.preventDefault();
  }

  private move(target: number): void {
    const index = Math.min(this.shown.length - 1, Math.max(0, target));
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

/** Returns the tasks sorted by a value, equal ones by id. Tasks without a value come last in both directions. */
function sorted(tasks: readonly Task[], read: Column["sort"], down: boolean, score: number): Task[] {
  const sign = down ? -1 : 1;
  // Each value is read only once, which makes sorting 10,000 questions three times as fast.
  return tasks
    .map((task) => ({ task, value: read(task, score) }))
    .sort((a, b) => {
      const [x, y] = [a.value, b.value];
      if (x === null || y === null) return Number(x === null) - Number(y === null) || byTask(a.task, b.task);
      const order = x < y ? -1 : x > y ? 1 : 0;
      return order * sign || byTask(a.task, b.task);
    })
    .map(({ task }) => task);
}

function byTask(a: Task, b: Task): number {
  return compareIds(a.taskId, b.taskId) || a.epoch - b.epoch || a.run - b.run;
}

const TEXT_ORDER = new Intl.Collator("en", { numeric: true });

/** Compares numbers by value, and strings alphabetically. */
function compareIds(a: TaskId, b: TaskId): number {
  return typeof a === "number" && typeof b === "number" ? a - b : TEXT_ORDER.compare(String(a), String(b));
}

/** Failed tasks come before all scores. */
function badness({ stage, scores }: Task, score: number): number | null {
  return stage === "failed" ? Number.NEGATIVE_INFINITY : (scores[score] ?? null);
}
