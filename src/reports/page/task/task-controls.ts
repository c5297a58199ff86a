import type { ReportHead } from "../data.js";
import { OUTCOME_WORDS, STAGE_WORDS, spaced } from "../labels.js";
import type { Task } from "../load-report.js";
import { FILTERS, type FilterName, type Place } from "../route.js";
import { h, replaceChildren, untrustedInline } from "../shared/dom.js";
import { filedUnder } from "./task-filter.js";

const TITLES: Readonly<Record<FilterName, string>> = {
  run: "Run",
  outcome: "Outcome",
  stage: "Gold mail",
  ending: "Ending",
  inbox: "Mailbox",
  realism: "Realism",
  sources: "Gold mails",
  year: "Year",
};

/** These have lists to choose from; the others are set by the charts. */
const LISTED: readonly FilterName[] = ["run", "outcome", "stage", "ending", "inbox"];

/** The search field, the lists to choose from, and what is chosen, each with a button that lets it go. */
export class TaskControls {
  readonly element: HTMLElement;
  private readonly search = h("input", {
    ...{ type: "search", placeholder: "Search questions, answers, mailboxes", "aria-label": "Search tasks" },
    ...{ autocomplete: "off", spellcheck: "false" },
  });
  private readonly lists = new Map<FilterName, HTMLSelectElement>();
  private readonly chips = h("div", { class: "chips" });
  private place: Place | null = null;

  constructor(
    private readonly head: ReportHead,
    tasks: readonly Task[],
    private readonly onChange: (place: Pick<Place, "search" | "filters">) => void,
  ) {
    for (const name of LISTED) {
      const values = [...new Set(tasks.map((task) => filedUnder(task, name, head)))];
      if (values.length < 2) continue;
      if (name === "inbox" || name === "ending") values.sort();
      const list = h(
        "select",
        { "aria-label": TITLES[name], change: () => this.set(name, list.value) },
        h("option", { value: "" }, `${TITLES[name]}: all`),
        ...values.map((value) => h("option", { value }, this.words(name, value))),
      );
      this.lists.set(name, list);
    }
    this.search.addEventListener("input", () => this.tell({ search: this.search.value }));
    this.element = h(
      "div",
      { class: "controls", role: "search", "aria-label": "Tasks" },
      this.search,
      ...this.lists.values(),
      this.chips,
    );
  }

  show(place: Place): void {
    this.place = place;
    if (this.search.value !== place.search) this.search.value = place.search;
    for (const [name, list] of this.lists) list.value = place.filters[name] ?? "";
    const chosen = FILTERS.flatMap((name) => {
      const value = place.filters[name];
      return value === undefined ? [] : [{ name, value }];
    });
    replaceChildren(
      this.chips,
      ...chosen.map(({ name, value }) =>
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
    const { [name]: _, ...rest } = this.place?.filters ?? {};
    this.tell({ filters: value === "" ? rest : { ...rest, [name]: value } });
  }

  private tell(change: Partial<Place>): void {
    this.onChange({ search: this.place?.search ?? "", filters: this.place?.filters ?? {}, ...change });
  }

  private words(name: FilterName, value: string): string {
    if (name === "run") return this.head.runs.find(({ runId }) => runId === value)?.label ?? value;
    if (name === "outcome") return (OUTCOME_WORDS as Readonly<Record<string, string>>)[value] ?? value;
    if (name === "stage") return (STAGE_WORDS as Readonly<Record<string, string>>)[value] ?? value;
    return name === "ending" ? spaced(value) : value;
  }
}
