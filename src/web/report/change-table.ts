// The table of changes in the mailbox on the page of a task or a trace.
import type { MatchedChange } from "../../scoring/goal-match.js";
import { type Child, h, untrustedInline } from "../dom.js";
import { figureTable } from "./figure-table.js";

/**
 * The changes in the mailbox, side by side: what the task asked for, what the agent did, and what it did beyond that.
 * Null if there are none.
 * @param wordsOf describes an email by its subject, if the conversation contains it
 */
export function changeTable(
  changes: readonly MatchedChange[],
  wordsOf: (messageId: string) => string,
): HTMLElement | null {
  if (changes.length === 0) return null;
  const caption = "Changes in the mailbox";
  // Nothing says which changes a chat asked for.
  const isOfTask = changes.every(({ state }) => state !== "made");
  const rows = changes.map(({ state, change, messageId }) => ({
    label: [untrustedInline(change)],
    cells: [...(isOfTask ? asked(state) : []), messageId === null ? "" : [untrustedInline(wordsOf(messageId))]],
  }));
  const columns = ["Change", ...(isOfTask ? ["Asked for", "Done"] : []), "Email"];
  return h("section.changes", h("h3", caption), figureTable({ className: "of-words", caption, columns }, rows));
}

function asked(state: MatchedChange["state"]): readonly (readonly Child[] | string)[] {
  return [
    state === "collateral" ? "no" : "yes",
    state === "missing" ? "no" : state === "done" ? "yes" : [h("b", "yes, collateral")],
  ];
}
