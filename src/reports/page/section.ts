import { type Child, h } from "./shared/dom.js";

/** A part of the page under a heading, which links can name. */
export function section(title: string, note: string | null, ...children: readonly Child[]): HTMLElement {
  const id = title.toLowerCase().replaceAll(" ", "-");
  return h(
    "section",
    { "aria-labelledby": id },
    h("h2", { id }, title),
    note === null ? null : h("p", { class: "lead" }, note),
    ...children,
  );
}

/** A table that scrolls sideways where it is wider than the page. */
export function wide(table: HTMLElement): HTMLElement {
  return h(
    "div",
    { class: "sideways", tabindex: 0, role: "group", "aria-label": table.querySelector("caption")?.textContent ?? "" },
    table,
  );
}
