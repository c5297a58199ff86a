import type { ReportHead, TaskKey } from "../../reports/report-data.js";
import { count, duration } from "../../text/format.js";
import { type Child, costText, h, replaceChildren, scoreText, select, untrustedInline } from "../dom.js";
import { outcomeOptions, outcomeWords } from "./comparison.js";
import { OUTCOME_WORDS, runDot, SLICE_WORDS, STAGE_SHORT, STAGE_WORDS, spaceWords, stateWords } from "./header.js";
import type { Task } from "./load.js";
import type { PairOutcomes } from "./pair-outcomes.js";
import { activeFilters, type FilterName, type ViewState } from "./view-state.js";

/** The tasks at the top of the table before the user sorts it. */
export type FirstTasks = "byId" | "worst";

interface TableActions {
  open(task: Task): void;
  /** Called with the order that the user selected, as it is in the URL. */
  sort(order: string): void;
  /** Aborts when the table is removed from the page. */
  readonly signal: AbortSignal;
}

interface Column {
  readonly key: string;
  readonly title: string;
  readonly className: string;
  /** False if the column does not apply to the runs. */
  readonly isShown?: boolean;
  /** Returns the value to sort by, or null if it is missing. */
  sort(task: Task, score: number): string | number | null;
  /** Returns the content of a cell, by default the value to sort by. */
  cell?(task: Task, score: number): Child;
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
    const [shown, all] = [count(this.shown.length), count(this.ordered.length)];
    replaceChildren(this.summary, shown === all ? `${all} tasks` : `${shown} of ${all} tasks`);
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

const TITLES: Readonly<Record<FilterName, string>> = {
  ...SLICE_WORDS,
  realism: "Realism",
  year: "Year",
  difficulty: "Actions",
  run: "Run",
  compared: "Compared",
  outcome: "Outcome",
  state: "State",
  stage: "Gold email",
  ending: "Ending",
  eval: "Fails",
};

/** Filters with a drop-down list. Links in the charts set the other filters. */
const LISTED: readonly FilterName[] = [
  "run",
  "compared",
  "outcome",
  "state",
  "tool",
  "guidance",
  "stage",
  "ending",
  "eval",
  "inbox",
];

const SORTED: ReadonlySet<FilterName> = new Set(["inbox", "ending", "eval", "state", "tool", "guidance"]);

/** The search field, the filter lists, and the active filters, each with a button to remove it. */
export class TaskControls {
  readonly element: HTMLElement;
  private readonly search = h("input", {
    type: "search",
    placeholder: "Search tasks and answers",
    "aria-label": "Search tasks",
    autocomplete: "off",
    spellcheck: "false",
  });
  private readonly lists = new Map<FilterName, HTMLSelectElement>();
  private readonly chips = h("div.chips");
  private view: ViewState | null = null;

  constructor(
    private readonly head: ReportHead,
    tasks: readonly Task[],
    private readonly onChange: (view: Pick<ViewState, "search" | "filters">) => void,
  ) {
    for (const name of LISTED) {
      const values =
        name === "compared"
          ? outcomeOptions(head)
          : [...new Set(tasks.flatMap((task) => filterValues(task, name, head)))];
      if (values.length < 2) continue;
      if (SORTED.has(name)) values.sort();
      const list = select({ "aria-label": TITLES[name], change: () => this.set(name, list.value) }, [
        ["", `${TITLES[name]}: all`],
        ...values.map((value) => [value, this.words(name, value)] as const),
      ]);
      this.lists.set(name, list);
    }
    this.search.addEventListener("input", () => this.notify({ search: this.search.value }));
    this.element = h(
      "div.controls",
      { role: "search", "aria-label": "Tasks" },
      this.search,
      ...this.lists.values(),
      this.chips,
    );
  }

  show(view: ViewState): void {
    this.view = view;
    if (this.search.value !== view.search) this.search.value = view.search;
    for (const [name, list] of this.lists) list.value = view.filters[name] ?? "";
    replaceChildren(
      this.chips,
      ...activeFilters(view.filters).map(({ name, value }) =>
        h(
          "button.chip",
          { click: () => this.set(name, "") },
          `${TITLES[name]}: `,
          untrustedInline(this.words(name, value)),
          h("span", { "aria-hidden": "true" }, " ×"),
          h("span.hidden", ", remove"),
        ),
      ),
    );
  }

  private set(name: FilterName, value: string): void {
    const { [name]: _, ...rest } = this.view?.filters ?? {};
    this.notify({ filters: value === "" ? rest : { ...rest, [name]: value } });
  }

  private notify(change: Partial<ViewState>): void {
    this.onChange({ search: this.view?.search ?? "", filters: this.view?.filters ?? {}, ...change });
  }

  private words(name: FilterName, value: string): string {
    if (name === "run") return this.head.runs.find(({ runId }) => runId === value)?.label ?? value;
    if (name === "compared") return outcomeWords(value, this.head);
    if (name === "outcome") return (OUTCOME_WORDS as Readonly<Record<string, string>>)[value] ?? value;
    if (name === "stage") return (STAGE_WORDS as Readonly<Record<string, string>>)[value] ?? value;
    if (name === "state") return stateWords(value);
    return name === "ending" ? spaceWords(value) : value;
  }
}

/** Returns the columns of the task table for these runs. */
function columnsOf({ runs, evals }: ReportHead): readonly Column[] {
  const hasQuestions = runs.some(({ suite }) => suite === null);
  const hasSuites = runs.some(({ suite }) => suite !== null);
  const hasEvals = evals.length > 0;
  const all: readonly Column[] = [
    { key: "task", title: "Task", className: "figure id", sort: ({ taskId }) => taskId, cell: taskLabel },
    {
      key: "run",
      title: "Run",
      className: "run",
      isShown: runs.length > 1,
      sort: ({ run }) => run,
      cell({ run }) {
        const label = runs[run]?.label ?? "";
        return h("span", { title: label }, runDot(run), h("span.hidden", label));
      },
    },
    {
      key: "question",
      title: hasQuestions ? "Question and answer" : "Task and reason for its score",
      className: "question",
      sort: ({ question }) => question.toLowerCase(),
      cell: (task) => [untrustedInline(task.question, "asked"), secondLine(task)],
    },
    {
      key: "inbox",
      title: "Mailbox",
      className: "inbox wide",
      isShown: hasQuestions,
      sort: ({ inbox }) => inbox,
      cell: ({ inbox }) => untrustedInline(inbox.split("@")[0] ?? ""),
    },
    {
      key: "tool",
      title: "Tool",
      className: "tool wide",
      isShown: hasSuites,
      sort: ({ suite }) => suite?.tool ?? null,
      cell: ({ suite }) => untrustedInline(suite?.tool ?? ""),
    },
    {
      key: "score",
      title: "Score",
      className: "figure score",
      sort: ({ scores }, score) => scores[score] ?? null,
      cell: ({ outcome, scores }, score) =>
        h("span", { class: `value outcome-text-${outcome}` }, scoreText(scores[score])),
    },
    {
      key: "evals",
      title: "Evals failed",
      className: "evals wide",
      isShown: hasEvals,
      sort: ({ failedEvals }) => failedEvals.length,
      cell: ({ failedEvals }) => evalLines(failedEvals).map((line) => h("span", line)),
    },
    {
      key: "stage",
      title: "Gold email",
      className: "stage",
      isShown: hasQuestions,
      sort: ({ stage }) => STAGE_ORDER[stage],
      cell: ({ stage }) => h("span", { class: `stage-${stage}`, title: STAGE_WORDS[stage] }, STAGE_SHORT[stage]),
    },
    {
      key: "state",
      title: "State",
      className: "state",
      isShown: hasSuites,
      sort: ({ suite }) => suite?.state ?? null,
      cell: ({ suite }) => suite !== null && stateWords(suite.state),
    },
    {
      // The column does not fit next to the evals. The view of a task shows its ending.
      key: "ending",
      title: "Ending",
      className: "ending wide",
      isShown: hasQuestions && !hasEvals,
      sort: ({ ending }) => ending,
      cell: ({ ending }) => spaceWords(ending),
    },
    { key: "turns", title: "Turns", className: "figure wide turns", sort: ({ turns }) => turns },
    {
      key: "toolCalls",
      title: "Calls",
      className: "figure wide turns",
      isShown: hasSuites,
      sort: ({ suite }) => suite?.toolCalls ?? null,
      cell: ({ suite }) => suite !== null && String(suite.toolCalls ?? "–"),
    },
    {
      key: "ms",
      title: "Time",
      className: "figure wide time",
      sort: ({ ms }) => ms,
      cell: ({ ms }) => duration(ms),
    },
    {
      key: "costUsd",
      title: "Cost",
      className: "figure wide cost",
      sort: ({ costUsd }) => costUsd,
      cell: ({ costUsd }) => costText(costUsd),
    },
  ];
  return all.filter(({ isShown = true }) => isShown);
}

/** The start of a suite's long ids is enough to distinguish them. */
function taskLabel({ taskId, epoch }: Task): string {
  const id = typeof taskId === "number" ? String(taskId) : taskId.slice(0, 8);
  return epoch === 1 ? id : `${id}/${epoch}`;
}

/** Two names fit into a row. */
function evalLines(names: readonly string[]): readonly string[] {
  if (names.length === 0) return ["none"];
  return names.length <= 2 ? names : [names[0] ?? "", `and ${names.length - 1} more`];
}

/** Returns the answer to a question, or the reason why a suite task is not solved. */
function secondLine({ answer, error, suite }: Task): HTMLElement {
  const said = suite === null ? answer : suite.reason || (error ?? answer);
  if (said !== "") return untrustedInline(said, "meta answer");
  return h("span.meta.answer.none", error === null ? "no answer" : untrustedInline(error));
}

/** Returns a task's values for a filter. Empty if the filter does not apply to this kind of task. */
function filterValues(task: Task, name: Exclude<FilterName, "compared">, { runs }: ReportHead): readonly string[] {
  const { suite } = task;
  switch (name) {
    case "run":
      return [runs[task.run]?.runId ?? ""];
    case "outcome":
    case "ending":
      return [task[name]];
    case "stage":
    case "inbox":
    case "realism":
    case "sources":
    case "year":
      return suite === null ? [task[name]] : [];
    case "eval":
      return task.failedEvals;
    case "app":
      return suite?.apps ?? [];
    case "tag":
      return suite?.tags ?? [];
    default:
      return suite === null ? [] : [suite[name]];
  }
}

/** Returns whether a task contains every search word and matches all filters. */
export function taskFilter(
  { search, filters }: ViewState,
  head: ReportHead,
  outcomes: PairOutcomes,
): (task: Task) => boolean {
  const words = search
    .toLowerCase()
    .split(/\s+/)
    .filter((word) => word !== "");
  const active = activeFilters(filters);
  return (task) =>
    active.every(({ name, value }) =>
      name === "compared" ? outcomes.matches(task, value) : filterValues(task, name, head).includes(value),
    ) && words.every((word) => task.words.includes(word));
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
function compareIds(a: TaskKey, b: TaskKey): number {
  return typeof a === "number" && typeof b === "number" ? a - b : TEXT_ORDER.compare(String(a), String(b));
}

/** Failed tasks come before all scores. */
function badness({ stage, scores }: Task, score: number): number | null {
  return stage === "failed" ? Number.NEGATIVE_INFINITY : (scores[score] ?? null);
}

const STAGE_ORDER = { read: 0, found: 1, missed: 2, unknown: 3, none: 4, failed: 5 } as const;
