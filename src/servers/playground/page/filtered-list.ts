import { type Child, h, replaceChildren } from "../../../reports/page/shared/dom.js";
import { get } from "./request.js";
import { errorNotice } from "./tables.js";

/** A field that narrows a list; its name is that of the API's parameter. */
export interface FilterField {
  readonly name: string;
  readonly label: string;
  /** Options are values with their labels. */
  readonly kind: "text" | "date" | readonly (readonly [value: string, label: string])[];
}

export interface ListPage<Line> {
  readonly lines: readonly Line[];
  /** With which the next page is asked for; null: this was the last. */
  readonly next: string | null;
  readonly total: number;
}

export interface FilteredList<Line> {
  readonly title: string;
  /** The section's name in the address. */
  readonly section: string;
  readonly fields: readonly FilterField[];
  load(filter: URLSearchParams, next: string | null): Promise<ListPage<Line>>;
  table(lines: readonly Line[]): HTMLElement;
  /** Shown where there is nothing at all. */
  readonly none: string;
}

/** A list with filters, which stand in the address so that a reload has them again, and with pages. */
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
  /** Counts changes of the filter: an answer to an earlier one must not be shown. */
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

  const form = h("form", { submit: (event: Event) => event.preventDefault(), change }, ...inputs.map(labelled));
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

  function labelled(input: HTMLInputElement | HTMLSelectElement, i: number): HTMLElement {
    return h("div", {}, h("label", { for: input.id }, list.fields[i]?.label ?? ""), input);
  }
}

function inputOf({ name, kind }: FilterField, value: string): HTMLInputElement | HTMLSelectElement {
  const attributes = { id: `filter-${name}`, name };
  if (typeof kind === "string") {
    const input = h("input", { ...attributes, type: kind, autocomplete: "off", spellcheck: "false" });
    input.value = value;
    return input;
  }
  const options = kind.map(([option, label]) => h("option", { value: option }, label));
  const select = h("select", attributes, h("option", { value: "" }, "any"), ...options);
  select.value = value;
  return select;
}

/** What a list of the API that is paged by offsets says beside its lines. */
export interface OffsetPageJson {
  readonly has_more: boolean;
  readonly total_count: number;
}

/** A page of such a list. `next`: of the page before; null: the first. */
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
