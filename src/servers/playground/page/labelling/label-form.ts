import { h } from "../../../../reports/page/shared/dom.js";
import { keyButton } from "../decisions/keyboard-shortcuts.js";
import { reasonField } from "../decisions/reason-field.js";
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
  const reason = reasonField();
  const undoButton = keyButton("Undo", "u", "", undo);
  const buttons = [
    keyButton("Good", "g", "label-good", () => give("good")),
    keyButton("Bad", "b", "label-bad", () => give("bad")),
    keyButton("Skip", "s", "", () => give("skip")),
    undoButton,
  ];
  const element = h(
    "div",
    { class: "label-form", role: "group", "aria-label": "Label" },
    h("div", { class: "label-buttons" }, ...buttons),
    ...reason.elements,
  );
  return {
    element,
    note: reason.input,
    undo: undoButton,
    setBusy: (isBusy) => element.setAttribute("aria-busy", String(isBusy)),
    say: reason.say,
  };
}
