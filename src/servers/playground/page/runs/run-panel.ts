import { type Child, h } from "../../../../reports/page/shared/dom.js";
import { liveTable } from "../tables.js";
import type { RunProgressJson } from "./run-progress-json.js";

/** A part of a run's page, which is shown anew with every state. */
export interface RunPanel {
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
    /** The rows are made anew only where `items`, which they show, have changed. */
    show<T>(items: readonly T[], line: string, cells: (item: T) => readonly Child[]): void {
      if (hint.textContent !== line) hint.textContent = line;
      element.hidden = items.length === 0;
      section.hidden = items.length === 0 && line === "";
      const key = JSON.stringify(items);
      if (key === shown) return;
      shown = key;
      setRows(items.map(cells));
    },
  };
}
