import { compact } from "../../platform/optional-values.js";
import type { OffsetPageJson } from "../../server/response-shapes.js";
import { type Child, h, replaceChildren, select, untrustedInline, untrustedText } from "../dom.js";
import { get } from "./api.js";

/** A range of UTF-16 code units. `end` is exclusive. */
export interface SpanJson {
  readonly start: number;
  readonly end: number;
}

/** Shows untrusted text, with the spans marked. */
export function highlightedText<K extends keyof HTMLElementTagNameMap>(
  text: string,
  spans: readonly SpanJson[],
  className: string | null,
  tag: K,
): HTMLElementTagNameMap[K] {
  const element = h(tag, { class: className, dir: "auto" });
  let done = 0;
  for (const { start, end } of [...spans].sort((a, b) => a.start - b.start)) {
    if (start < done) continue;
    element.append(...h("span", {}, text.slice(done, start)).childNodes, h("mark", {}, text.slice(start, end)));
    done = end;
  }
  element.append(...h("span", {}, text.slice(done)).childNodes);
  return element;
}

/** A filter of a list. `name` is the API's parameter name. */
export interface FilterField {
  readonly name: string;
  readonly label: string;
  /** Options are values with their labels. */
  readonly kind: "text" | "date" | readonly (readonly [value: string, label: string])[];
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
  table(lines: readonly Line[]): HTMLElement;
  /** Shown if the unfiltered list is empty. */
  readonly none: string;
}

/** Shows a list with filters and pages. The filters are in the URL fragment, so that a reload restores them. */
export async function filteredList<Line>(
  page: HTMLElement,
  query: URLSearchParams,
  list: FilteredList<Line>,
): Promise<void> {
  const inputs = list.fields.map((field) => inputOf(field, query.get(field.name) ?? ""));
  const body = h("div");
  const more = h("button", { type: "button", hidden: true, click: () => void loadNext() }, "Show more");
  let lines: Line[] = [];
  let next: string | null = null;
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
      next = loaded.next;
      more.hidden = next === null;
      replaceChildren(body, ...listElements(loaded.total));
    } catch (error) {
      if (change !== changes) return;
      more.hidden = true;
      replaceChildren(body, errorNotice((error as Error).message));
    }
  }

  function listElements(total: number): Child[] {
    const status = h("p", { class: "hint", role: "status" }, `${lines.length} of ${total}`);
    if (lines.length > 0) return [status, list.table(lines)];
    return [
      h("p", { class: "notice", role: "status" }, filter().size > 0 ? "Nothing matches this filter." : list.none),
    ];
  }

  async function change(): Promise<void> {
    changes++;
    lines = [];
    next = null;
    const text = filter().toString();
    history.replaceState(null, "", `#${list.section}${text === "" ? "" : `?${text}`}`);
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
  form.append(h("div", { class: "clear" }, h("button", { type: "button", click: clear }, "Clear the filter")));
  await loadNext();
  page.append(
    h("h2", {}, list.title),
    h("details", { class: "filters", open: filter().size > 0 }, h("summary", {}, "Filter"), form),
    body,
    more,
  );
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

type Rows = readonly (readonly Child[])[];

interface LiveTable {
  readonly element: HTMLElement;
  /** Replaces the rows. A focused link keeps the focus if it still exists. */
  setRows(rows: Rows): void;
}

export function table(caption: string, heads: readonly string[], rows: Rows): HTMLElement {
  const { element, setRows } = liveTable(caption, heads);
  setRows(rows);
  return element;
}

/** A table with changing rows, which keeps its scroll position and focus. */
export function liveTable(caption: string, heads: readonly string[]): LiveTable {
  const body = h("tbody");
  const element = h(
    "div",
    { class: "scroll", role: "region", "aria-label": caption, tabindex: 0 },
    h(
      "table",
      {},
      h("caption", { class: "hidden" }, caption),
      h("thead", {}, h("tr", {}, ...heads.map((head) => h("th", { scope: "col" }, head)))),
      body,
    ),
  );
  return {
    element,
    setRows(rows) {
      const focused = body.contains(document.activeElement) ? document.activeElement?.getAttribute("href") : null;
      const row = (cells: Rows[number]) =>
        h("tr", {}, ...cells.map((cell, i) => h("td", { "data-label": heads[i] ?? null }, cell)));
      replaceChildren(body, ...rows.map(row));
      if (focused === null) return;
      const links = [...body.querySelectorAll("a")];
      links.find((link) => link.getAttribute("href") === focused)?.focus({ preventScroll: true });
    },
  };
}

/** Shows two values in a cell, the second below the first. */
export function twoLines(first: string, second: string): HTMLElement {
  return h("span", { class: "pair" }, first, h("span", { class: "hint" }, second));
}

/** Shows two lines of untrusted text in a cell. */
export function clipped(text: string): HTMLElement {
  return untrustedText(text, "clip", "span");
}

/** A string is shown as untrusted text. Null is left out. */
export type Fact = readonly [name: string, value: string | Node | null];

export function factList(facts: readonly Fact[]): HTMLElement {
  return h("dl", { class: "facts" }, ...factItems(facts));
}

export function factItems(facts: readonly Fact[]): HTMLElement[] {
  return facts.flatMap(([name, value]) => {
    if (value === null) return [];
    return [h("dt", {}, name), typeof value === "string" ? untrustedText(value, null, "dd") : h("dd", {}, value)];
  });
}

/** A link to a section of this page, labeled with the id that the section shows. */
export function idLink(section: string, id: string, text = id): HTMLElement {
  return h("a", { href: `#${section}/${encodeURIComponent(id)}` }, text);
}

/** Links to emails. `wordsOf` returns the label for a Message-ID. */
export function mailLinks(messageIds: readonly string[], wordsOf: (messageId: string) => string): HTMLElement {
  const links = messageIds.flatMap((id, i) => compact([i !== 0 && "; ", mailLink(id, wordsOf(id))]));
  return h("span", { class: "links" }, ...links);
}

export function mailLink(messageId: string, text: string): HTMLElement {
  return h("a", { href: `#mail/${encodeURIComponent(messageId)}` }, untrustedInline(text));
}

/** A line that shows the result of the last change. */
export function statusLine() {
  const element = h("p", { class: "hint", role: "status" });
  return {
    element,
    say(text: string, isError = false): void {
      element.className = isError ? "bad" : "hint";
      element.textContent = text;
    },
  };
}

export function errorNotice(message: string): HTMLElement {
  return h("p", { class: "notice bad", role: "alert" }, message);
}
