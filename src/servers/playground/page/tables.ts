import { type Child, h, replaceChildren, untrustedInline, untrustedText } from "../../../reports/page/shared/dom.js";

export type Rows = readonly (readonly Child[])[];

export interface LiveTable {
  readonly element: HTMLElement;
  /** Replaces the rows; a link that has the focus has it again where it is still there. */
  setRows(rows: Rows): void;
}

export function table(caption: string, heads: readonly string[], rows: Rows): HTMLElement {
  const { element, setRows } = liveTable(caption, heads);
  setRows(rows);
  return element;
}

/** A table whose rows change: where it is scrolled to, and the focus, stay. */
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
      replaceChildren(body, ...rows.map((cells) => h("tr", {}, ...cells.map((cell) => h("td", {}, cell)))));
      if (focused === null) return;
      const links = [...body.querySelectorAll("a")];
      links.find((link) => link.getAttribute("href") === focused)?.focus({ preventScroll: true });
    },
  };
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

/** Links to mails, named by their Message-IDs. */
export function mailLinks(messageIds: readonly string[]): HTMLElement {
  const links = messageIds.flatMap((id, i) => [...(i === 0 ? [] : [", "]), mailLink(id, id)]);
  return h("span", { class: "mono" }, ...links);
}

export function mailLink(messageId: string, text: string): HTMLElement {
  return h("a", { href: `#mail/${encodeURIComponent(messageId)}` }, untrustedInline(text));
}

export function errorNotice(message: string): HTMLElement {
  return h("p", { class: "notice bad", role: "alert" }, message);
}
