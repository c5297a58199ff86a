import { h } from "../../../../reports/page/shared/dom.js";
import { keyButton } from "../decisions/keyboard-shortcuts.js";
import { reasonField } from "../decisions/reason-field.js";
import type { WordingJson } from "./review-types.js";
import type { UnsavedEdits } from "./unsaved-edits.js";

export interface ReviewActions {
  accept(): void;
  reject(): void;
  save(edited: WordingJson): void;
  undo(): void;
  previous(): void;
  next(): void;
  /** Something was written or given up. */
  changed(words: UnsavedEdits): void;
}

/** Buttons with their keys, a field for the reason, and fields for other words. */
export class ReviewForm {
  readonly element: HTMLElement;
  private readonly why = reasonField();
  readonly reason = this.why.input;
  readonly say = this.why.say;
  private readonly question = h("textarea", { id: "edited-question", rows: 3, maxlength: 4_000 });
  private readonly answer = h("textarea", { id: "edited-answer", rows: 3, maxlength: 20_000 });
  private readonly editor: HTMLElement;
  private wording: WordingJson = { question: "", answer: "" };

  constructor(private readonly actions: ReviewActions) {
    this.editor = this.createEditor();
    this.element = this.createElement();
    const tell = () => actions.changed(this.unsaved());
    for (const field of [this.reason, this.question, this.answer]) field.addEventListener("input", tell);
  }

  get isEditing(): boolean {
    return !this.editor.hidden;
  }

  /** Fills the fields for another question. */
  show(wording: WordingJson, unsaved: UnsavedEdits | null): void {
    this.wording = wording;
    this.reason.value = unsaved?.reason ?? "";
    this.fill(unsaved?.edited ?? wording);
    this.editor.hidden = (unsaved?.edited ?? null) === null;
  }

  edit(): void {
    this.editor.hidden = false;
    this.question.focus();
    this.actions.changed(this.unsaved());
  }

  setBusy(isBusy: boolean): void {
    this.element.setAttribute("aria-busy", String(isBusy));
  }

  private unsaved(): UnsavedEdits {
    const edited = { question: this.question.value, answer: this.answer.value };
    return { reason: this.reason.value, edited: this.isEditing ? edited : null };
  }

  private fill({ question, answer }: WordingJson): void {
    this.question.value = question;
    this.answer.value = answer;
  }

  private createElement(): HTMLElement {
    const { accept, reject, undo, previous, next } = this.actions;
    return h(
      "div",
      { class: "label-form", role: "group", "aria-label": "Decision" },
      h(
        "div",
        { class: "label-buttons" },
        keyButton("Accept", "a", "label-good", accept),
        keyButton("Edit", "e", "", () => this.edit()),
        keyButton("Reject", "r", "label-bad", reject),
        keyButton("Undo", "u", "", undo),
        keyButton("Previous", "k", "", previous),
        keyButton("Next", "j", "", next),
      ),
      this.editor,
      ...this.why.elements,
    );
  }

  private createEditor(): HTMLElement {
    const save = () => this.actions.save({ question: this.question.value, answer: this.answer.value });
    const cancel = () => {
      this.fill(this.wording);
      this.editor.hidden = true;
      this.question.blur();
      this.answer.blur();
      this.actions.changed(this.unsaved());
    };
    const editor = h(
      "div",
      { class: "editor", hidden: true },
      h("label", { for: "edited-question" }, "Question"),
      this.question,
      h("label", { for: "edited-answer" }, "Answer"),
      this.answer,
      h(
        "div",
        { class: "label-buttons" },
        h("button", { type: "button", class: "primary", click: save }, "Save ", h("kbd", {}, "Ctrl Enter")),
        h("button", { type: "button", click: cancel }, "Cancel ", h("kbd", {}, "Esc")),
      ),
    );
    editor.addEventListener("keydown", (event) => {
      if (event.isComposing) return;
      if (event.key === "Escape") cancel();
      else if (event.key === "Enter" && (event.ctrlKey || event.metaKey)) save();
      else return;
      event.preventDefault();
    });
    return editor;
  }
}
