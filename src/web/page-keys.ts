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

/** Also uses the `aria-keyshortcuts` of the controls in the open dialog, or of those on the page. */
export function listenForPageKeys(): void {
  addEventListener("keydown", (event) => {
    const { key, target } = event;
    if (!(target instanceof Element) || event.defaultPrevented) return;
    if (key === "Escape" && target.matches("input[type=search], dialog.task input")) {
      event.preventDefault();
      (target as HTMLInputElement).blur();
    }
    // Some keyboards have brackets only with Alt or AltGr, which the browser reports as Ctrl and Alt.
    const isBracket = /^[[\]]$/.test(key);
    if (event.metaKey || ((event.ctrlKey || event.altKey) && !isBracket)) return;
    if (key === "Escape" || target.matches("input, textarea, select")) return;
    const dialog = [...document.querySelectorAll("dialog[open]")].at(-1);
    const control = controlOf(key, dialog ?? document);
    // The dialog of a task has its own keys, which the help lists.
    const isCovered = dialog !== undefined && !(key === "?" && dialog.matches(".task"));
    // A held key steps through rows and tasks, but does not press a button again.
    const press = control
      ? !(event.repeat && !STEPS.test(key)) && (() => use(control))
      : !isCovered && KEYS[key]?.press;
    if (!press) return;
    event.preventDefault();
    press();
  });
}

const STEPS = /^(j|k|Arrow\w+)$/;

/** Returns the visible control with a key. */
function controlOf(key: string, among: ParentNode): HTMLElement | undefined {
  return [...among.querySelectorAll<HTMLElement>("[aria-keyshortcuts]")].find(
    (control) =>
      (control.getAttribute("aria-keyshortcuts") ?? "").split(" ").includes(key) && control.checkVisibility(),
  );
}

/** Presses a button and follows a link. Other controls, such as fields, receive the focus. */
function use(control: HTMLElement): void {
  if (control.matches("a, button")) control.click();
  else {
    control.focus();
    control.scrollIntoView({ block: "nearest" });
  }
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
