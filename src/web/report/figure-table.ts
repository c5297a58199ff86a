// A table of figures that fits phones and print.
import { type Child, h, untrustedInline } from "../dom.js";

interface Column {
  readonly name: string;
  /** Replaces the column name in the table head. */
  readonly head?: readonly Child[];
}

interface Row {
  readonly label: readonly Child[];
  /** Cells of all columns except the first. */
  readonly cells: readonly (readonly Child[] | string)[];
}

interface Group {
  /** Heading above the group's rows, or null for the only group. */
  readonly label: string | null;
  readonly rows: readonly Row[];
}

/**
 * A table of figures, possibly in groups. It scrolls sideways if it is wider than the page. On a phone, each row is a
 * block of names and values.
 */
export function figureTable(
  { className, caption, columns }: { className: string; caption: string; columns: readonly (string | Column)[] },
  content: readonly Row[] | { readonly groups: readonly Group[] },
): HTMLElement {
  const groups = "groups" in content ? content.groups : [{ label: null, rows: content }];
  const named = columns.map((column) => (typeof column === "string" ? { name: column } : column));
  const rowOf = ({ label, cells }: Row) =>
    h(
      "tr",
      h("th", { scope: "row" }, label),
      ...cells.map((cell, i) => h("td.figure", { "data-label": named[i + 1]?.name ?? "" }, h("span", [cell].flat()))),
    );
  const table = h(
    "table",
    { class: `figure-table ${className}` },
    h("caption.hidden", caption),
    h("thead", h("tr", ...named.map(({ name, head = [name] }: Column) => h("th", { scope: "col" }, head)))),
    ...groups.map(({ label, rows }) =>
      h(
        "tbody",
        label !== null &&
          h("tr.group", h("th", { scope: "rowgroup", colspan: columns.length }, untrustedInline(label))),
        rows.map(rowOf),
      ),
    ),
  );
  return wide(table, caption);
}

/** A table that scrolls sideways if it is wider than the page. */
export function wide(table: HTMLElement, caption: string): HTMLElement {
  return h("div.sideways", { tabindex: 0, role: "region", "aria-label": caption }, table);
}
