import { stripControls } from "../../../platform/strip-controls.js";

export type Child = Node | string | number | null;

type Props = Readonly<Record<string, string | number | boolean | null | ((event: never) => void)>>;

/**
 * An element. Text becomes text nodes, whoever wrote it; markup is never read. Props are attributes (`true` is an empty one,
 * `null` and `false` are none) or, where they are functions, listeners.
 */
export function h<K extends keyof HTMLElementTagNameMap>(
  tag: K,
  props: Props = {},
  ...children: readonly Child[]
): HTMLElementTagNameMap[K] {
  const element = document.createElement(tag);
  for (const [name, value] of Object.entries(props)) {
    if (typeof value === "function") element.addEventListener(name, value as EventListener);
    else if (value !== null && value !== false) element.setAttribute(name, attribute(name, value));
  }
  append(element, children);
  return element;
}

export function append(parent: Element, children: readonly Child[]): void {
  for (const child of children) {
    if (child === null) continue;
    parent.append(child instanceof Node ? child : stripControls(String(child)));
  }
}

export function replaceChildren(parent: Element, ...children: readonly Child[]): void {
  parent.replaceChildren();
  append(parent, children);
}

/** Text of others: it keeps its lines, and its direction stays its own. */
export function foreign(text: string, className = "text"): HTMLElement {
  return h("div", { class: className, dir: "auto" }, text);
}

/** The same within a line. */
export function foreignInline(text: string, className = ""): HTMLElement {
  return h("bdi", { class: className === "" ? null : className }, text);
}

function attribute(name: string, value: string | number | true): string {
  if (value === true) return "";
  // Links of this page lead to places in it.
  if (name === "href" && !String(value).startsWith("#")) throw new Error(`a link to ${value}`);
  return stripControls(String(value));
}
