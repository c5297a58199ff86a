// The search field, the filter lists and the active filters above the task table, and which tasks match them.
import { SLICE_TITLES } from "../../reports/figure-text.js";
import type { ReportHead } from "../../reports/report-data.js";
import { h, replaceChildren, select, untrustedInline } from "../dom.js";
import { outcomeOptions, outcomeWords } from "./comparison.js";
import { OUTCOME_WORDS, STAGE_WORDS, spaceWords, stateWords } from "./header.js";
import type { Task } from "./load.js";
import type { PairOutcomes } from "./pair-outcomes.js";
import { activeFilters, EMPTY_VIEW, type FilterName, type ViewState } from "./view-state.js";

const TITLES: Readonly<Record<FilterName, string>> = {
  ...SLICE_TITLES,
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
  private view = EMPTY_VIEW;

  constructor(
    private readonly head: ReportHead,
    tasks: readonly Task[],
    private readonly onChange: (change: Partial<ViewState>) => void,
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
    this.search.addEventListener("input", () => onChange({ search: this.search.value }));
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
    const { [name]: _, ...rest } = this.view.filters;
    this.onChange({ filters: value === "" ? rest : { ...rest, [name]: value } });
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
