import { h } from "../../../../reports/page/shared/dom.js";

/** A field for the reason of a decision, its label, and a line that says what became of the last decision. */
export interface ReasonField {
  readonly input: HTMLInputElement;
  readonly elements: readonly HTMLElement[];
  say(message: string, isError?: boolean): void;
}

export function reasonField(): ReasonField {
  const input = h("input", { id: "why", type: "text", maxlength: 10_000, autocomplete: "off" });
  const status = h("p", { class: "hint", role: "status" });
  input.addEventListener("keydown", ({ key, isComposing }) => {
    // Back to the keys; what is written stays.
    if ((key === "Enter" || key === "Escape") && !isComposing) input.blur();
  });
  return {
    input,
    elements: [
      h("label", { for: "why" }, "Why (", h("kbd", {}, "w"), " writes, Enter leaves the field)"),
      input,
      status,
    ],
    say(message, isError = false) {
      status.className = isError ? "bad" : "hint";
      status.textContent = message;
    },
  };
}
