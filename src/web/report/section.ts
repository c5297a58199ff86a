// A section of a report with a heading that links can refer to.
import { type Child, h } from "../dom.js";

/** A section of the page with a heading that links can refer to. */
export function section(title: string, note: string | null, ...children: readonly Child[]): HTMLElement {
  const id = title.toLowerCase().replaceAll(" ", "-");
  return h("section", { "aria-labelledby": id }, h("h2", { id }, title), note !== null && h("p.lead", note), children);
}
