import { compact } from "../../platform/optional-values.js";
import type { OffsetPageJson } from "../../server/response-shapes.js";
import { type Child, h, replaceChildren, select, untrustedInline, untrustedText } from "../dom.js";
import { get } from "./api.js";

/** A filter of a list. `name` is the API's parameter name. */
export interface FilterField {
  readonly name: string;
  readonly label: string;
  /** Options are values with their labels. */
  readonly kind: "text" | "date" | readonly (readonly [value: string, label: string])[];
}

/** A column of a list, with at least one of the two functions. */
export interface Column<Line> {
  readonly title: string;
  /** Value to sort by, or null if it is missing. Columns without this function cannot be sorted. */
  sort?(line: Line): string | number | null;
  /** Content of a cell, by default the value to sort by. */
  cell?(line: Line): Child;
}

interface ListPage<Line> {
  readonly lines: readonly Line[];
  /** Parameter for the next page, or null after the last page. */
  readonly next: string | null;
  readonly total: number;
}

interface FilteredList<Line> {
  readonly title: string;
  /** Name of the section in the URL fragment. */
  readonly section: string;
  readonly fields: readonly FilterField[];
  load(filter: URLSearchParams, next: string | null): Promise<ListPage<Line>>;
  readonly columns: readonly Column<Line>[];
  /** Placeholder of the field that searches the loaded lines. */
  readonly search: string;
  /** Shown above the table, such as actions for the selected lines. */
  readonly tools?: HTMLElement;
  /** Shown below the table. */
  footnote?(lines: readonly Line[]): Child;
  /** Shown if the unfiltered list is empty. */
  readonly none: string;
}

type Rows = readonly (readonly Child[])[];

interface LiveTable {
  readonly element: HTMLElement;
  /** Replaces the rows. A focused link keeps the focus if it still exists. */
  setRows(rows: Rows): void;
}

/** A string is shown as untrusted text. Null is left out. */
export type Fact = readonly [name: string, value: string | Node | null];

/**
 * Shows a list with a search field, filters, sortable columns and pages. All of them are in the URL fragment or the
 * state of the history entry, so that a reload and the Back button restore them.
 */
export async function filteredList<Line extends object>(
  page: HTMLElement,
  query: URLSearchParams,
  list: FilteredList<Line>,
): Promise<void> {
  const inputs = list.fields.map((field) => inputOf(field, query.get(field.name) ?? ""));
  const search = h("input", { type: "search", "aria-label": list.search, placeholder: list.search, name: "search" });
  search.value = query.get("search") ?? "";
  const status = h("p.hint", { role: "status" });
  const notice = h("div");
  const footnote = h("div");
  const more = h("button", { hidden: true, click: () => void loadNext() }, "Show more");
  const shown = sortableTable(list.title, list.columns, query.get("sort") ?? "", () => show());
  let lines: Line[] = [];
  let next: string | null = null;
  let total = 0;
  /** Number of filter changes, so that responses for an earlier filter are ignored. */
  let changes = 0;

  const filter = () =>
    new URLSearchParams(inputs.filter(({ value }) => value !== "").map(({ name, value }) => [name, value]));

  async function loadNext(): Promise<void> {
    const change = changes;
    try {
      const loaded = await list.load(filter(), next);
      if (change !== changes) return;
      lines = [...lines, ...loaded.lines];
      ({ next, total } = loaded);
      more.hidden = next === null;
      notice.replaceChildren();
      show();
    } catch (error) {
      if (change !== changes) return;
      more.hidden = true;
      replaceChildren(notice, errorNotice((error as Error).message));
    }
  }

  function show(): void {
    const found = searchLines(lines, search.value);
    shown.setLines(found);
    shown.element.hidden = found.length === 0;
    status.textContent =
      found.length === lines.length
        ? `${lines.length} of ${total}`
        : `${found.length} found in ${lines.length} of ${total}`;
    const isFiltered = filter().size > 0 || search.value !== "";
    const empty = isFiltered ? "Nothing matches this filter." : list.none;
    replaceChildren(notice, found.length > 0 ? null : h("p.notice", { role: "status" }, empty));
    replaceChildren(footnote, list.footnote?.(found) ?? null);
    const words = filter();
    if (search.value !== "") words.set("search", search.value);
    if (shown.order() !== "") words.set("sort", shown.order());
    rememberPlace(`#${list.section}${words.size === 0 ? "" : `?${words}`}`, lines.length);
  }

  async function change(): Promise<void> {
    changes++;
    lines = [];
    next = null;
    await loadNext();
  }

  const labelOf = (i: number) => list.fields[i]?.label ?? "";
  const form = h(
    "form",
    { submit: (event: Event) => event.preventDefault(), change },
    ...inputs.map((input, i) => labelled(labelOf(i), input)),
  );
  const clear = () => {
    for (const input of inputs) input.value = "";
    void change();
  };
  form.append(h("div.clear", h("button", { click: clear }, "Clear the filter")));
  search.addEventListener("input", show);
  const linesBefore = rememberedLines();
  do await loadNext();
  while (next !== null && lines.length < linesBefore);
  page.append(
    h("h2", list.title),
    h("div.list-tools", search, list.tools ?? "", status),
    list.fields.length === 0 ? "" : h("details.filters", { open: filter().size > 0 }, h("summary", "Filter"), form),
    notice,
    shown.element,
    footnote,
    more,
  );
}

/** Returns the lines that contain every search word. */
function searchLines<Line extends object>(lines: readonly Line[], search: string): readonly Line[] {
  const words = search.toLowerCase().split(/\s+/);
  return lines.filter((line) => {
    const text = JSON.stringify(Object.values(line)).toLowerCase();
    return words.every((word) => text.includes(word));
  });
}

/** Stores the URL and the number of loaded lines in the current history entry. */
function rememberPlace(url: string, lines: number): void {
  history.replaceState({ ...history.state, lines }, "", url);
}

function rememberedLines(): number {
  return (history.state as { readonly lines?: number } | null)?.lines ?? 0;
}

/** A table whose lines can be sorted by its columns. `order` is a column title, after `-` if descending. */
function sortableTable<Line>(
  caption: string,
  columns: readonly Column<Line>[],
  order: string,
  onOrder: () => void,
): { readonly element: HTMLElement; setLines(lines: readonly Line[]): void; order(): string } {
  let sorted = order;
  const heads = columns.map(({ title, sort }) => {
    if (sort === undefined) return title;
    const click = () => {
      sorted = sorted === title ? `-${title}` : title;
      onOrder();
    };
    return h("button.sort", { click }, title);
  });
  const { element, setRows } = liveTable(
    caption,
    heads,
    columns.map(({ title }) => title),
  );
  return {
    element,
    order: () => sorted,
    setLines(lines) {
      const [title, sign] = sorted.startsWith("-") ? [sorted.slice(1), -1] : [sorted, 1];
      const column = columns.find((each) => each.title === title);
      for (const [i, head] of [...element.querySelectorAll("th")].entries()) {
        if (columns[i]?.sort === undefined) continue;
        head.setAttribute("aria-sort", columns[i] !== column ? "none" : sign === 1 ? "ascending" : "descending");
      }
      const read = column?.sort;
      const rows = read === undefined ? lines : lines.toSorted((a, b) => compareValues(read(a), read(b), sign));
      setRows(rows.map((line) => columns.map(({ sort, cell = sort }) => cell?.(line) ?? null)));
    },
  };
}

/** Missing values come last in both directions. */
function compareValues(a: string | number | null, b: string | number | null, sign: number): number {
  if (a === null || b === null) return Number(a === null) - Number(b === null);
  return sign * (typeof a === "string" ? a.localeCompare(String(b), "en", { numeric: true }) : a - Number(b));
}

/** Shows a field below its label. */
export function labelled(text: string, field: HTMLElement, className: string | null = null): HTMLElement {
  return h("div", { class: className }, h("label", { for: field.id }, text), field);
}

function inputOf({ name, kind }: FilterField, value: string): HTMLInputElement | HTMLSelectElement {
  const attributes = { id: `filter-${name}`, name };
  const input =
    typeof kind === "string"
      ? h("input", { ...attributes, type: kind, autocomplete: "off", spellcheck: "false" })
      : select(attributes, [["", "any"], ...kind]);
  // A link can filter by an id that is not in the list.
  if (value !== "" && typeof kind !== "string" && !kind.some(([option]) => option === value)) {
    input.append(h("option", { value }, value));
  }
  input.value = value;
  return input;
}

/** Loads a page of a list with offsets. `next` comes from the previous page, or is null for the first page. */
export async function offsetPage<Page extends OffsetPageJson, Line>(
  path: string,
  filter: URLSearchParams,
  next: string | null,
  linesOf: (page: Page) => readonly Line[],
): Promise<ListPage<Line>> {
  const offset = Number(next ?? 0);
  const page = await get<Page>(`${path}?${new URLSearchParams([...filter, ["offset", String(offset)]])}`);
  const lines = linesOf(page);
  return { lines, next: page.has_more ? String(offset + lines.length) : null, total: page.total_count };
}

export function table(caption: string, heads: readonly string[], rows: Rows): HTMLElement {
  const { element, setRows } = liveTable(caption, heads);
  setRows(rows);
  return element;
}

/**
 * A table with changing rows, which keeps its scroll position and focus. `titles` are the texts of the heads, which
 * narrow screens show in every cell.
 */
export function liveTable(
  caption: string,
  heads: readonly Child[],
  titles: readonly string[] = heads.map(String),
): LiveTable {
  const body = h("tbody");
  const element = h(
    "div.scroll",
    { role: "region", "aria-label": caption, tabindex: 0 },
    h(
      "table",
      h("caption.hidden", caption),
      h("thead", h("tr", ...heads.map((head) => h("th", { scope: "col" }, head)))),
      body,
    ),
  );
  return {
    element,
    setRows(rows) {
      const focused = body.contains(document.activeElement) ? document.activeElement?.getAttribute("href") : null;
      const row = (cells: Rows[number]) =>
        h("tr", ...cells.map((cell, i) => h("td", { "data-label": titles[i] ?? null }, cell)));
      replaceChildren(body, ...rows.map(row));
      if (focused === null) return;
      const links = [...body.querySelectorAll("a")];
      links.find((link) => link.getAttribute("href") === focused)?.focus({ preventScroll: true });
    },
  };
}

/** Shows two values in a cell, the second below the first. */
export function twoLines(first: Child, second: Child): HTMLElement {
  return h("span.pair", first, h("span.hint", second));
}

/** Shows two lines of untrusted text in a cell. */
export function clipped(text: string): HTMLElement {
  return untrustedText(text, "clip", "span");
}

export function factList(facts: readonly Fact[]): HTMLElement {
  const items = facts.flatMap(([name, value]) => {
    if (value === null) return [];
    return [h("dt", name), typeof value === "string" ? untrustedText(value, null, "dd") : h("dd", value)];
  });
  return h("dl.facts", items);
}

/** A link to a section of this page, labeled with the id that the section shows. */
export function idLink(section: string, id: string, text = id): HTMLElement {
  return h("a", { href: `#${section}/${encodeURIComponent(id)}` }, text);
}

/** Returns the link to a task in the report of its run. */
export function runTaskLink(runId: string, taskId: number | string, epoch: number): string {
  const id = encodeURIComponent(runId);
  return `#runs/${id}?task=${id}/${encodeURIComponent(taskId)}/${epoch}`;
}

/** A link to label one trace. The other traces of its run follow. */
export function labelLink(runId: string, traceId: string): HTMLElement {
  const query = new URLSearchParams({ trace: traceId });
  return h("a", { href: `#label/${encodeURIComponent(runId)}?${query}` }, "Label this trace");
}

/** A link to the playground with the agent, mailbox, date and question of a task or chat. */
export function askAgainLink({ agent, inbox, day, question }: Record<"agent" | "inbox" | "day" | "question", string>) {
  const query = new URLSearchParams({ agent, inbox, day: day.slice(0, 10), question });
  return h("a", { href: `#chat?${query}` }, "Ask again");
}

/** Links to emails. `wordsOf` returns the label for a Message-ID. */
export function mailLinks(messageIds: readonly string[], wordsOf: (messageId: string) => string): HTMLElement {
  const links = messageIds.flatMap((id, i) => compact([i !== 0 && "; ", mailLink(id, wordsOf(id))]));
  return h("span.links", ...links);
}

function mailLink(messageId: string, text: string): HTMLElement {
  return h("a", { href: `#mail/${encodeURIComponent(messageId)}` }, untrustedInline(text));
}

/** A line that shows the result of the last change. */
export function statusLine() {
  const element = h("p.hint", { role: "status" });
  return {
    element,
    say(text: string, isError = false): void {
      element.className = isError ? "bad" : "hint";
      element.textContent = text;
    },
  };
}

export function errorNotice(message: string): HTMLElement {
  return h("p.notice.bad", { role: "alert" }, message);
}
