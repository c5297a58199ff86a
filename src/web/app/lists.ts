// Lists with a search, sorting and pages whose state is in the URL.
import { compact } from "../../platform/optional-values.js";
import type { OffsetPageJson } from "../../server/response-shapes.js";
import { exampleOf, type ListFields } from "../../store/list-query.js";
import { append, type Child, h, replaceChildren, setText, untrustedInline, untrustedText } from "../dom.js";
import { get } from "./api.js";

/** A column of a list, with at least one of the two functions. */
export interface Column<Line> {
  readonly title: string;
  /**
   * Value to sort by, or null if it is missing. In a list that the server sorts, the name of a field. Columns without
   * it cannot be sorted.
   */
  readonly sort?: string | ((line: Line) => string | number | null);
  /** Content of a cell, by default the value to sort by. */
  cell?(line: Line): Child;
  /** Whether its values are numbers, which are aligned to the right. */
  readonly isNumeric?: boolean;
  /**
   * For narrow screens, if a row is lines of values there: begins a line or leaves the column out. The values must
   * explain themselves. Otherwise, narrow screens show names and values.
   */
  readonly narrow?: "new line" | "left out";
  /** Whether it is shown only if the user chooses it. */
  readonly isExtra?: boolean;
}

interface ListPage<Line> {
  readonly lines: readonly Line[];
  /** Parameter for the next page, or null after the last page. */
  readonly next: string | null;
  readonly total: number;
}

interface SearchedList<Line> {
  readonly title: string;
  /** Name of the section in the URL fragment. */
  readonly section: string;
  /** Shown below the title. */
  readonly intro?: Child;
  /** Fields by which the server searches and sorts. Null for a list that is complete in the page. */
  readonly fields: ListFields | null;
  /** `query` has the parameters `q` and `sort`. `limit` is the number of lines, if it is not the usual one. */
  load(query: URLSearchParams, next: string | null): Promise<ListPage<Line>>;
  readonly columns: readonly Column<Line>[];
  /** Placeholder of the search field. */
  readonly search: string;
  /** Shown above the table, such as actions for the selected lines. */
  readonly tools?: HTMLElement;
  /** Shown above the table. It receives the found lines. */
  readonly chart?: { readonly element: HTMLElement; show(lines: readonly Line[]): void };
  /** Shown below the table. */
  footnote?(lines: readonly Line[]): Child;
  /** Shown if the list is empty without a search. It says what to do. */
  readonly none: Child;
}

type Rows = readonly (readonly Child[])[];

/** A column of a table. The title is the text of its head, and narrow screens show it in every cell. */
interface TableColumn {
  readonly title: string;
  /** Replaces the title in the head. */
  readonly head?: Child;
  readonly className?: string | null;
}

interface LiveTable {
  readonly element: HTMLElement;
  /** Replaces the rows. A focused link keeps the focus if it still exists. */
  setRows(rows: Rows): void;
}

/** A string is shown as untrusted text. Null is left out. */
export type Fact = readonly [name: string, value: string | Node | null];

/** Milliseconds after the last key press until the server searches. */
const TYPING_MS = 250;

/** Milliseconds between updates of a list. */
const REFRESH_MS = 3_000;

/** Maximum number of lines that are updated. The API returns no more at once. */
const MAX_LIVE = 200;

/**
 * Shows a list with one search field, sortable columns and pages. Their state is in the URL fragment and in the history
 * entry, so that a reload and the Back button restore it. New and changed lines appear by themselves.
 */
export async function searchedList<Line extends object>(
  page: HTMLElement,
  query: URLSearchParams,
  signal: AbortSignal,
  list: SearchedList<Line>,
): Promise<void> {
  const { fields } = list;
  const search = h("input", {
    type: "search",
    name: "search",
    "aria-label": list.search,
    placeholder: fields === null ? list.search : `${list.search}: words, ${examplesOf(fields)} …`,
    autocomplete: "off",
    spellcheck: "false",
  });
  search.value = query.get("q") ?? "";
  const status = h("p.hint", { role: "status" });
  const notice = h("div");
  const footnote = h("div");
  const more = h("button", { hidden: true, click: () => void loadNext() }, "Show more");
  const choice = columnChoice(list, () => {
    const { element } = shown;
    shown = tableOf(shown.order());
    element.replaceWith(shown.element);
    show();
  });
  const tableOf = (order: string) => sortableTable(list.title, choice.columns(), order, () => void reload());
  let shown = tableOf(query.get("sort") ?? "");
  let lines: readonly Line[] = [];
  let next: string | null = null;
  let total = 0;
  /** Number of changes of the search, so that responses for an earlier one are ignored. */
  let changes = 0;

  const state = () =>
    new URLSearchParams(
      [
        ["q", search.value.trim()],
        ["sort", shown.order()],
      ].filter(([, value]) => value !== ""),
    );

  async function loadNext(): Promise<void> {
    const change = changes;
    try {
      const loaded = await list.load(state(), next);
      if (change !== changes) return;
      lines = [...lines, ...loaded.lines];
      ({ next, total } = loaded);
      show();
    } catch (error) {
      if (change !== changes || signal.aborted) return;
      more.hidden = true;
      shown.element.hidden = lines.length === 0;
      replaceChildren(notice, errorNotice((error as Error).message));
    }
  }

  /** Loads the shown lines again and shows what has changed. */
  async function refresh(): Promise<void> {
    const change = changes;
    if (document.hidden || !shown.element.isConnected || lines.length > MAX_LIVE) return;
    const limit = String(Math.max(PAGE_LINES, lines.length));
    const loaded = await list.load(new URLSearchParams([...state(), ["limit", limit]]), null).catch(() => null);
    if (loaded === null || change !== changes || signal.aborted) return;
    const isSame = JSON.stringify(loaded.lines) === JSON.stringify(lines) && loaded.total === total;
    ({ lines, next, total } = loaded);
    if (!isSame) show();
  }

  function show(): void {
    const found = fields === null ? searchLines(lines, search.value) : lines;
    shown.setLines(found, fields !== null);
    shown.element.hidden = found.length === 0;
    const matching = found.length === lines.length ? "" : `${found.length} found in `;
    setText(status, `${matching}${lines.length} of ${total}`);
    more.hidden = next === null;
    const clear = () => {
      search.value = "";
      void reload();
    };
    const empty =
      search.value.trim() === ""
        ? list.none
        : ["Nothing matches. ", h("button.quiet", { click: clear }, "Clear the search")];
    replaceChildren(notice, found.length > 0 ? null : h("div.notice", { role: "status" }, empty));
    list.chart?.show(found);
    replaceChildren(footnote, list.footnote?.(found) ?? null);
    const place = state();
    rememberPlace(`#${list.section}${place.size === 0 ? "" : `?${place}`}`, lines.length);
  }

  async function reload(): Promise<void> {
    if (fields === null) return show();
    changes++;
    lines = [];
    next = null;
    await loadNext();
  }

  let typing: ReturnType<typeof setTimeout> | undefined;
  search.addEventListener("input", () => {
    clearTimeout(typing);
    if (fields === null) show();
    else typing = setTimeout(() => void reload(), TYPING_MS);
  });
  const linesBefore = rememberedLines();
  do await loadNext();
  while (next !== null && lines.length < linesBefore);
  if (fields !== null) {
    const timer = setInterval(() => void refresh(), REFRESH_MS);
    signal.addEventListener("abort", () => clearInterval(timer));
  }
  append(page, [
    h("h2", list.title),
    list.intro !== undefined && h("div", list.intro),
    h("div.list-tools", search, list.tools ?? "", status),
    fields !== null && h("div.disclosures", fieldHelp(fields, search), choice.element, list.chart?.element ?? null),
    notice,
    shown.element,
    footnote,
    more,
  ]);
}

/** Lines per page, as in the API. */
const PAGE_LINES = 50;

function examplesOf(fields: ListFields): string {
  const examples = Object.entries(fields).map(([name, field]) => exampleOf(name, field));
  return examples.slice(1, 4).join(", ");
}

/** Lists the fields of the search. A click adds a condition. */
function fieldHelp(fields: ListFields, search: HTMLInputElement): HTMLElement {
  const add = (name: string, kind: string) => () => {
    const condition = `${name}${kind === "number" ? ">" : kind === "date" ? ">=" : ":"}`;
    search.value = `${search.value.trimEnd()} ${condition}`.trimStart();
    search.focus();
  };
  const rows = Object.entries(fields).flatMap(([name, { kind, help }]) => [
    h("dt", h("button.quiet", { click: add(name, kind) }, name)),
    h("dd", help),
  ]);
  const rules = `All conditions must hold: words, "a phrase", tag:paper, score<0.5, failed>0, started>=2026-01-31. A minus
    sign excludes: -status:running. The same works with art-e runs list.`;
  return h("details.filters", h("summary", "Search by field"), h("p.hint", rules), h("dl.facts", rows));
}

/** Boxes that choose the columns of a list, which the browser remembers. The first column is always shown. */
function columnChoice<Line>(
  { section, columns }: Pick<SearchedList<Line>, "section" | "columns">,
  onChange: () => void,
): { readonly element: HTMLElement; columns(): readonly Column<Line>[] } {
  const key = `art-e-columns-${section}`;
  const usual = columns.filter(({ isExtra }) => !isExtra).map(({ title }) => title);
  const chosen = new Set<string>(JSON.parse(localStorage.getItem(key) ?? JSON.stringify(usual)));
  const boxes = columns.slice(1).map(({ title }) => {
    const box = h("input", { type: "checkbox" });
    box.checked = chosen.has(title);
    box.addEventListener("change", () => {
      if (box.checked) chosen.add(title);
      else chosen.delete(title);
      localStorage.setItem(key, JSON.stringify([...chosen]));
      onChange();
    });
    return h("label.check", box, title);
  });
  return {
    element: h("details.filters", h("summary", "Columns"), h("div.run-actions", boxes)),
    columns: () => columns.filter(({ title }, i) => i === 0 || chosen.has(title)),
  };
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

/** A table whose lines can be sorted by its columns. `order` is a field or a column title, after `-` if descending. */
function sortableTable<Line>(
  caption: string,
  columns: readonly Column<Line>[],
  order: string,
  onOrder: () => void,
): { readonly element: HTMLElement; setLines(lines: readonly Line[], isSorted: boolean): void; order(): string } {
  let sorted = order;
  const nameOf = ({ sort, title }: Column<Line>) => (typeof sort === "string" ? sort : title);
  const headOf = (column: Column<Line>) => {
    const name = nameOf(column);
    const click = () => {
      sorted = sorted === name ? `-${name}` : name;
      onOrder();
    };
    return column.sort === undefined ? column.title : h("button.sort", { click }, column.title);
  };
  const { element, setRows } = liveTable(
    caption,
    columns.map((column) => ({ title: column.title, head: headOf(column), className: classesOf(column) })),
  );
  return {
    element,
    order: () => sorted,
    setLines(lines, isSorted) {
      const [name, sign] = sorted.startsWith("-") ? [sorted.slice(1), -1] : [sorted, 1];
      const column = columns.find((each) => nameOf(each) === name);
      for (const [i, head] of [...element.querySelectorAll("th")].entries()) {
        if (columns[i]?.sort === undefined) continue;
        head.setAttribute("aria-sort", columns[i] !== column ? "none" : sign === 1 ? "ascending" : "descending");
      }
      const read = column?.sort;
      const rows =
        isSorted || typeof read !== "function"
          ? lines
          : lines.toSorted((a, b) => compareValues(read(a), read(b), sign));
      const content = (line: Line, { sort, cell }: Column<Line>) =>
        cell !== undefined ? cell(line) : typeof sort === "function" ? sort(line) : null;
      setRows(rows.map((line) => columns.map((column) => content(line, column))));
    },
  };
}

function classesOf<Line>({ isNumeric, narrow }: Column<Line>): string | null {
  const classes = compact([
    isNumeric && "number",
    narrow === "new line" && "starts-line",
    narrow === "left out" && "wide",
  ]);
  return classes.length === 0 ? null : classes.join(" ");
}

/** Missing values come last in both directions. */
function compareValues(a: string | number | null, b: string | number | null, sign: number): number {
  if (a === null || b === null) return Number(a === null) - Number(b === null);
  return sign * (typeof a === "string" ? a.localeCompare(String(b), "en", { numeric: true }) : a - Number(b));
}

/** Shows a field below its label. */
export function labeled(text: string, field: HTMLElement, className: string | null = null): HTMLElement {
  return h("div", { class: className }, h("label", { for: field.id }, text), field);
}

/** Loads a page of a list with offsets. `next` comes from the previous page, or is null for the first page. */
export async function offsetPage<Page extends OffsetPageJson, Line>(
  path: string,
  query: URLSearchParams,
  next: string | null,
  linesOf: (page: Page) => readonly Line[],
): Promise<ListPage<Line>> {
  const offset = Number(next ?? 0);
  const page = await get<Page>(`${path}?${new URLSearchParams([...query, ["offset", String(offset)]])}`);
  const lines = linesOf(page);
  return { lines, next: page.has_more ? String(offset + lines.length) : null, total: page.total_count };
}

export function table(caption: string, columns: readonly (string | TableColumn)[], rows: Rows): HTMLElement {
  const { element, setRows } = liveTable(caption, columns);
  setRows(rows);
  return element;
}

/** A column of numbers. */
export function numeric(title: string): TableColumn {
  return { title, className: "number" };
}

/** A table with changing rows, which keeps its scroll position and focus. */
export function liveTable(caption: string, columns: readonly (string | TableColumn)[]): LiveTable {
  const named = columns.map((column): TableColumn => (typeof column === "string" ? { title: column } : column));
  const body = h("tbody", { click: openRow });
  const element = h(
    "div.scroll",
    { role: "region", "aria-label": caption, tabindex: 0 },
    h(
      "table",
      h("caption.hidden", caption),
      h(
        "thead",
        h(
          "tr",
          ...named.map(({ title, head = title, className = null }) =>
            h("th", { scope: "col", class: className }, head),
          ),
        ),
      ),
      body,
    ),
  );
  return {
    element,
    setRows(rows) {
      const cellOf = (cell: Child, i: number) =>
        h("td", { "data-label": named[i]?.title ?? null, class: named[i]?.className ?? null }, cell);
      replaceChildren(body, ...rows.map((cells) => h("tr", ...cells.map(cellOf))));
    },
  };
}

/** Opens the first link of a row that is clicked anywhere, unless the user selects text. */
function openRow({ target }: MouseEvent): void {
  if (!(target instanceof Element) || target.closest("a, button, input, select, summary, label") !== null) return;
  if (getSelection()?.isCollapsed === false) return;
  target.closest("tr")?.querySelector("a")?.click();
}

/** Shows two values in a cell, the second below the first. In a list, it is shortened in the same line. */
export function twoLines(first: Child, second: Child): HTMLElement {
  return h("span.pair", h("span", first), titled(h("span.hint", second)));
}

/** Shows two lines of untrusted text in a cell, or one line in a list. */
export function clipped(text: string): HTMLElement {
  return titled(untrustedText(text, "clip", "span"));
}

/** Shows untrusted text in a cell, which a list shortens if its columns need the room. */
export function shortened(text: string): HTMLElement {
  return titled(untrustedInline(text));
}

/** Shows the entire text of a shortened element under the pointer. */
function titled(element: HTMLElement): HTMLElement {
  element.title = element.textContent;
  return element;
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
      replaceChildren(element, text);
    },
  };
}

export function errorNotice(message: string): HTMLElement {
  return h("p.notice.bad", { role: "alert" }, message);
}
