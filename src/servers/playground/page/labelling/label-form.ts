import { h } from "../../../../reports/page/shared/dom.js";
import { keyButton } from "../key-actions.js";
import type { GivenLabel } from "./label-types.js";

export interface LabelForm {
  readonly element: HTMLElement;
  /** Why, as it is written; empty: not said. */
  readonly note: HTMLInputElement;
  readonly undo: HTMLButtonElement;
  setBusy(isBusy: boolean): void;
  /** Says what became of the last label. */
  say(message: string, isError?: boolean): void;
}

interface LabelActions {
  give(label: GivenLabel): void;
  undo(): void;
}

/** Three buttons, a field for the reason, and their keys. */
export function labelForm({ give, undo }: LabelActions): LabelForm {
  const note = h("input", { id: "why", type: "text", maxlength: 10_000, autocomplete: "off" });
  const status = h("p", { class: "hint", role: "status" });
  const undoButton = keyButton("Undo", "u", "", undo);
  const buttons = [
    keyButton("Good", "g", "label-good", () => give("good")),
    keyButton("Bad", "b", "label-bad", () => give("bad")),
    keyButton("Skip", "s", "", () => give("skip")),
    undoButton,
  ];
  note.addEventListener("keydown", ({ key, isComposing }) => {
    // Back to the keys; what is written stays.
    if ((key === "Enter" || key === "Escape") && !isComposing) note.blur();
  });
  const element = h(
    "div",
    { class: "label-form", role: "group", "aria-label": "Label" },
    h("div", { class: "label-buttons" }, ...buttons),
    h("label", { for: "why" }, "Why (", h("kbd", {}, "w"), " writes, Enter leaves the field)"),
    note,
    status,
  );
  return {
    element,
    note,
    undo: undoButton,
    setBusy: (isBusy) => element.setAttribute("aria-busy", String(isBusy)),
    say(message, isError = false) {
      status.className = isError ? "bad" : "hint";
      status.textContent = message;
    },
  };
}
