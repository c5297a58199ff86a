// The page that labels, notes and reviews share: one item after another, decided with the keyboard.
import { type Child, h, replaceChildren } from "../dom.js";
import { statusLine } from "./lists.js";

/** An action with a keyboard shortcut. It has a button if it has a label. */
interface KeyAction {
  readonly label?: string;
  readonly className?: string;
  press(): unknown;
}

interface DecisionForm {
  /** The heading of the page. */
  readonly title: string;
  /** The accessible name of the form. */
  readonly name: string;
  /** Label of the text field, which `w` focuses. */
  readonly field: string;
  /** Called when Enter leaves the field. */
  enter?(): void;
  /** Actions by key. */
  readonly actions: Readonly<Record<string, KeyAction>>;
  /** Called after a refused change. */
  refused?(): Promise<void>;
}

/** A page that shows one item after another, with a form for decisions that also has keyboard shortcuts. */
export class DecisionPage {
  readonly source = h("p.hint.mono");
  readonly progress = h("p.hint", { role: "status" });
  readonly field = h("input", {
    id: "decision-note",
    type: "text",
    maxlength: 10_000,
    autocomplete: "off",
    "aria-keyshortcuts": "w",
  });
  readonly buttons: HTMLElement;
  readonly form: HTMLElement;
  readonly element: HTMLElement;
  private readonly body = h("div");
  private readonly status = statusLine();
  readonly say = this.status.say;
  readonly change: (make: () => Promise<void> | void) => Promise<void>;

  constructor(private readonly options: DecisionForm) {
    const { title, name, field, enter, actions, refused } = options;
    const buttons = Object.entries(actions).map(([key, { label, className = null, press }]) =>
      label === undefined ? null : keyButton(label, key, className, press),
    );
    this.buttons = h("div.label-buttons", buttons);
    const label = h(
      "label",
      { for: this.field.id },
      `${field} (`,
      h("kbd", "w"),
      ` to write, Enter to ${enter ? "save" : "leave the field"})`,
    );
    this.form = h(
      "div.label-form",
      { role: "group", "aria-label": name },
      this.buttons,
      label,
      this.field,
      this.status.element,
    );
    this.element = h("div", h("h2", title), this.source, this.progress, this.body);
    this.change = changeLock(this.form, this.say, refused);
    this.field.title = `write the ${field[0]?.toLowerCase()}${field.slice(1)}`;
    this.field.addEventListener("keydown", ({ key, isComposing }) => {
      if (isComposing || (key !== "Enter" && key !== "Escape")) return;
      // Returns to the keyboard shortcuts and keeps the text.
      this.field.blur();
      if (key === "Enter") enter?.();
    });
  }

  /** Calls the action of a pressed key until the signal aborts, except while the user is typing. */
  listen(signal: AbortSignal): void {
    const { actions } = this.options;
    const onKey = (event: KeyboardEvent) => {
      const { key, target, ctrlKey, metaKey, altKey } = event;
      const isWriting = target instanceof Element && target.matches("input, textarea, select, dialog *");
      const press = key === "w" ? () => this.field.focus() : Object.hasOwn(actions, key) && actions[key]?.press;
      if (isWriting || ctrlKey || metaKey || altKey || event.repeat || !press) return;
      event.preventDefault();
      press();
    };
    document.addEventListener("keydown", onKey, { signal });
  }

  /** Shows an item with the form below it, and details next to both. */
  show(item: HTMLElement, below: Child, details: HTMLElement): void {
    const beside = h("div.label-beside", item, below, this.form);
    replaceChildren(this.body, h("div.labeling", beside, details));
    item.focus({ preventScroll: true });
    scrollTo(0, 0);
  }

  /** Shows that there are no more items. */
  end(...content: readonly Child[]): void {
    replaceChildren(this.body, h("div.notice", { role: "status" }, content));
  }

  /** Enables the button of an action. */
  enable(key: string, isEnabled: boolean): void {
    const button = this.buttons.querySelector<HTMLButtonElement>(`[aria-keyshortcuts="${key}"]`);
    if (button !== null) button.disabled = !isEnabled;
  }
}

/** A button that shows its keyboard shortcut. */
export function keyButton(label: string, key: string, className: string | null, click: () => void): HTMLButtonElement {
  return h(
    "button",
    { class: className, "aria-keyshortcuts": key, click },
    `${label} `,
    h("kbd", { "aria-hidden": "true" }, key),
  );
}

/**
 * Makes one change at a time, while `busy` is marked as such. Otherwise, a key pressed in the meantime would decide
 * about an item that nobody has seen yet. Shows errors after calling `refused`.
 */
export function changeLock(
  busy: HTMLElement,
  say: (message: string, isError?: boolean) => void,
  refused: () => Promise<void> = async () => undefined,
): (make: () => Promise<void> | void) => Promise<void> {
  const setBusy = (isBusy: boolean) => busy.setAttribute("aria-busy", String(isBusy));
  return async (make) => {
    if (busy.getAttribute("aria-busy") === "true") return;
    setBusy(true);
    try {
      await make();
    } catch (error) {
      await refused();
      say((error as Error).message, true);
    }
    setBusy(false);
  };
}
