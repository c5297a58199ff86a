import { type Child, h, untrustedText } from "../../../reports/page/shared/dom.js";

export function table(caption: string, heads: readonly string[], rows: readonly (readonly Child[])[]): HTMLElement {
  return h(
    "div",
    { class: "scroll", role: "region", "aria-label": caption, tabindex: 0 },
    h(
      "table",
      {},
      h("caption", { class: "hidden" }, caption),
      h("thead", {}, h("tr", {}, ...heads.map((head) => h("th", { scope: "col" }, head)))),
      h("tbody", {}, ...rows.map((cells) => h("tr", {}, ...cells.map((cell) => h("td", {}, cell))))),
    ),
  );
}

/** Names and values; a text is shown as one that others wrote. */
export function factList(facts: readonly (readonly [name: string, value: string | Node])[]): HTMLElement {
  return h("dl", { class: "facts" }, ...factItems(facts));
}

export function factItems(facts: readonly (readonly [name: string, value: string | Node])[]): HTMLElement[] {
  return facts.flatMap(([name, value]) => [
    h("dt", {}, name),
    typeof value === "string" ? untrustedText(value, "", "dd") : h("dd", {}, value),
  ]);
}

/** A link to a section of this page, named by the id that it shows. */
export function idLink(section: string, id: string, text = id): HTMLElement {
  return h("a", { href: `#${section}/${encodeURIComponent(id)}` }, text);
}

export function errorNotice(message: string): HTMLElement {
  return h("p", { class: "notice bad", role: "alert" }, message);
}
