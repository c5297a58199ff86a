import { stripControls } from "../../../platform/strip-controls.js";

export type Child = Node | string | number | null;

type Props = Readonly<Record<string, string | number | boolean | null | ((event: never) => void)>>;

/**
 * Creates an element. Text becomes text nodes, never markup, as it may come from mail and models. Props are attributes
 * (`true` sets an empty one, `null` and `false` leave it out) or, where they are functions, event listeners.
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

/** Text from mail or models: `dir` isolates its direction from the text around it. */
export function untrustedText<K extends keyof HTMLElementTagNameMap = "div">(
  text: string,
  className = "text",
  tag: K = "div" as K,
): HTMLElementTagNameMap[K] {
  return h(tag, { class: className === "" ? null : className, dir: "auto" }, text);
}

/** The same within a line of other text. */
export function untrustedInline(text: string, className = ""): HTMLElement {
  return h("bdi", { class: className === "" ? null : className }, text);
}

function attribute(name: string, value: string | number | true): string {
  if (value === true) return "";
  // All links of the two pages are to anchors of their own.
  if (name === "href" && !String(value).startsWith("#")) throw new Error(`Not an anchor of this page: ${value}`);
  return stripControls(String(value));
}
