import { h } from "../../../../reports/page/shared/dom.js";
import { liveTable, type Rows } from "../tables.js";
import type { RunProgressJson } from "./run-progress-json.js";

/** A part of a run's page, which is shown anew with every state. */
export interface RunPart {
  readonly element: HTMLElement;
  /** `isOpen`: news still come. */
  show(progress: RunProgressJson, isOpen: boolean): void;
}

/** A heading, a line and a table, which are hidden where there is nothing to list. */
export function tableSection(title: string, heads: readonly string[]) {
  const hint = h("p", { class: "hint" });
  const { element, setRows } = liveTable(title, heads);
  const section = h("section", { hidden: true }, h("h3", {}, title), hint, element);
  let shown = "";
  return {
    element: section,
    /** `key` tells whether anything has changed. */
    show(key: string, line: string, rows: () => Rows): void {
      if (hint.textContent !== line) hint.textContent = line;
      if (key === shown) return;
      shown = key;
      const lines = rows();
      element.hidden = lines.length === 0;
      section.hidden = lines.length === 0 && line === "";
      setRows(lines);
    },
  };
}
