import { h } from "../../../reports/page/shared/dom.js";

/** UTF-16 units of a text, the end exclusive. */
export interface SpanJson {
  readonly start: number;
  readonly end: number;
}

/** Text that others wrote, as text whatever it holds, with the spans marked. */
export function highlightedText<K extends keyof HTMLElementTagNameMap>(
  text: string,
  spans: readonly SpanJson[],
  className: string,
  tag: K,
): HTMLElementTagNameMap[K] {
  const element = h(tag, { class: className === "" ? null : className, dir: "auto" });
  let done = 0;
  for (const { start, end } of [...spans].sort((a, b) => a.start - b.start)) {
    if (start < done) continue;
    element.append(...h("span", {}, text.slice(done, start)).childNodes, h("mark", {}, text.slice(start, end)));
    done = end;
  }
  element.append(...h("span", {}, text.slice(done)).childNodes);
  return element;
}
