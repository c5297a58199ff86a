// Keyboard shortcuts for a whole page, with their help.
import { h } from "./dom.js";

/** Keys that work on every page, unless a field or a dialog has the focus. */
const KEYS: Readonly<Record<string, { readonly words: string; press(): void }>> = {
  "/": {
    words: "search (Escape leaves it)",
    press: () => document.querySelector<HTMLElement>("main input[type=search]")?.focus(),
  },
  j: { words: "next row or task", press: () => focusRow(1) },
  k: { words: "previous row or task", press: () => focusRow(-1) },
  "?": { words: "this help", press: showHelp },
};

export function listenForPageKeys(): void {
  addEventListener("keydown", (event) => {
    if (event.key === "Escape" && event.target instanceof HTMLInputElement && event.target.type === "search") {
      event.preventDefault();
      event.target.blur();
    }
    const key = KEYS[event.key];
    const isTyping = event.target instanceof HTMLElement && event.target.matches("input, textarea, select");
    const isOther = event.ctrlKey || event.metaKey || event.altKey || event.defaultPrevented;
    const dialog = document.querySelector("dialog[open]");
    // The dialog of a task has its own keys, which the help lists.
    const isCovered = dialog !== null && !(event.key === "?" && dialog.matches(".task"));
    if (key === undefined || isTyping || isOther || isCovered) return;
    event.preventDefault();
    key.press();
  });
}

/** Moves the focus to the link of the next or previous table row. */
function focusRow(by: number): void {
  const tasks = [...document.querySelectorAll<HTMLElement>("main tr[data-index]")];
  const rows = tasks.length > 0 ? tasks : [...document.querySelectorAll<HTMLElement>("main tbody tr:has(a)")];
  const at = rows.findIndex((row) => row.contains(document.activeElement));
  const row = rows[at < 0 ? 0 : at + by];
  const target = row?.matches("[data-index]") ? row : row?.querySelector("a");
  target?.focus();
}

/** Lists the keys of every page, and those of the controls on this page. */
function showHelp(): void {
  const own = [...document.querySelectorAll<HTMLElement>("[aria-keyshortcuts]")].filter((each) =>
    each.checkVisibility(),
  );
  const keys = [
    ...own.map((each) => [each.getAttribute("aria-keyshortcuts") ?? "", controlLabel(each)] as const),
    ...Object.entries(KEYS).map(([key, { words }]) => [key, words] as const),
  ];
  const lines = keys.flatMap(([key, words]) => [
    h("dt", ...key.split(" ").map((each) => h("kbd", each))),
    h("dd", words),
  ]);
  const close = h("button.primary", { type: "submit" }, "Close");
  const dialog = h(
    "dialog.keys",
    { "aria-labelledby": "help-title", close: () => dialog.remove() },
    h("form", { method: "dialog" }, h("h2", { id: "help-title" }, "Keys"), h("dl", ...lines), close),
  );
  document.body.append(dialog);
  dialog.showModal();
}

function controlLabel(control: HTMLElement): string {
  return control.title || control.getAttribute("aria-label") || (control.firstChild?.textContent ?? "").trim();
}
