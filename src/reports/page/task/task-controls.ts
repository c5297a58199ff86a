import { outcomeOptions, outcomeWords } from "../comparison/outcome-filter-options.js";
import { OUTCOME_WORDS, SLICE_WORDS, STAGE_WORDS, spaceWords } from "../display-texts.js";
import type { Task } from "../load-report.js";
import type { ReportHead } from "../report-data.js";
import { FILTERS, type FilterName, type ViewState } from "../route.js";
import { h, replaceChildren, untrustedInline } from "../shared/dom.js";
import { filterValues } from "./task-filter.js";

const TITLES: Readonly<Record<FilterName, string>> = {
  ...SLICE_WORDS,
  realism: "Realism",
  year: "Year",
  difficulty: "Actions",
  run: "Run",
  compared: "Compared",
  outcome: "Outcome",
  state: "State",
  stage: "Gold mail",
  ending: "Ending",
  eval: "Fails",
};

/** Filters with a list; the others are set by links in the charts. */
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

/** The search field, the filter lists, and the active filters, each with a button that removes it. */
export class TaskControls {
  readonly element: HTMLElement;
  private readonly search = h("input", {
    ...{ type: "search", placeholder: "Search tasks and answers", "aria-label": "Search tasks" },
    ...{ autocomplete: "off", spellcheck: "false" },
  });
  private readonly lists = new Map<FilterName, HTMLSelectElement>();
  private readonly chips = h("div", { class: "chips" });
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
      const list = h(
        "select",
        { "aria-label": TITLES[name], change: () => this.set(name, list.value) },
        h("option", { value: "" }, `${TITLES[name]}: all`),
        ...values.map((value) => h("option", { value }, this.words(name, value))),
      );
      this.lists.set(name, list);
    }
    this.search.addEventListener("input", () => this.notify({ search: this.search.value }));
    this.element = h(
      "div",
      { class: "controls", role: "search", "aria-label": "Tasks" },
      this.search,
      ...this.lists.values(),
      this.chips,
    );
  }

  show(view: ViewState): void {
    this.view = view;
    if (this.search.value !== view.search) this.search.value = view.search;
    for (const [name, list] of this.lists) list.value = view.filters[name] ?? "";
    const activeFilters = FILTERS.flatMap((name) => {
      const value = view.filters[name];
      return value === undefined ? [] : [{ name, value }];
    });
    replaceChildren(
      this.chips,
      ...activeFilters.map(({ name, value }) =>
        h(
          "button",
          { type: "button", class: "chip", click: () => this.set(name, "") },
          `${TITLES[name]}: `,
          untrustedInline(this.words(name, value)),
          h("span", { "aria-hidden": "true" }, " ×"),
          h("span", { class: "hidden" }, ", remove"),
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
    return name === "ending" || name === "state" ? spaceWords(value) : value;
  }
}
