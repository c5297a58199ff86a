import { h } from "../../../../reports/page/shared/dom.js";

/** A button that names its key. */
export function keyButton(label: string, key: string, className: string, click: () => void): HTMLButtonElement {
  return h(
    "button",
    { type: "button", class: className === "" ? null : className, "aria-keyshortcuts": key, click },
    `${label} `,
    h("kbd", { "aria-hidden": "true" }, key),
  );
}

/** Calls the action of a key until the signal aborts; not while something is written. */
export function listenForKeys(actions: Readonly<Record<string, () => void>>, signal: AbortSignal): void {
  const onKey = (event: KeyboardEvent) => {
    const { key, target, ctrlKey, metaKey, altKey } = event;
    const isWriting = target instanceof Element && target.matches("input, textarea, select, dialog *");
    const action = Object.hasOwn(actions, key) ? actions[key] : undefined;
    if (isWriting || ctrlKey || metaKey || altKey || event.repeat || action === undefined) return;
    event.preventDefault();
    action();
  };
  document.addEventListener("keydown", onKey, { signal });
}
