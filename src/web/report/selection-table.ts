// The table of the emails that a task asks to select, on the page of a task or a trace.
import type { MatchedEmail } from "../../tasks/selection.js";
import { type Child, h } from "../dom.js";
import { figureTable } from "./figure-table.js";

export interface SelectionRow {
  readonly state: MatchedEmail["state"];
  readonly email: Child;
  /** The later emails that prove it, or an empty string. */
  readonly evidence: Child;
}

/** Each email as hit, miss or false alarm, with what happened later. Null if the task does not ask for emails. */
export function selectionTable(rows: readonly SelectionRow[]): HTMLElement | null {
  if (rows.length === 0) return null;
  const caption = "Selected emails";
  return h(
    "section.changes",
    h("h3", caption),
    figureTable(
      { className: "of-words", caption, columns: ["Email", "Result", "Later"] },
      rows.map(({ state, email, evidence }) => ({
        label: [email],
        cells: [state === "hit" ? state : [h("b", state)], [evidence]],
      })),
    ),
  );
}
