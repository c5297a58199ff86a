import { stripControls } from "../platform/strings.js";
import { duration, share, usd } from "../text/format.js";

/** A score with three digits; a dash where there is none, and a typographic minus. */
export function scoreText(value: number | null | undefined): string {
  return share(value ?? null).replace("-", value === null || value === undefined ? "–" : "−");
}

export function intervalText({ low, high }: { readonly low: number | null; readonly high: number | null }): string {
  return low === null || high === null ? "–" : `${scoreText(low)} to ${scoreText(high)}`;
}

/** The axis of scores: 0 to 1, extended where values lie outside. */
export function scoreAxis(values: readonly number[]): readonly [from: number, to: number] {
  return [Math.min(0, ...values), Math.max(1, ...values)];
}

/** The end of such an axis, in few digits. */
export function axisEnd(value: number): string {
  return String(Number(value.toFixed(1))).replace("-", "−");
}

export function costText(value: number | null): string {
  return value === null ? "–" : usd(value);
}

export function durationText(ms: number | null): string {
  return ms === null ? "–" : duration(ms);
}

/** Facts in one line; those that are null are left out. */
export function factLine(...facts: readonly (string | null)[]): string {
  return facts.filter((fact) => fact !== null).join(" · ");
}

/** `2001-05-14T10:00:00Z` as `2001-05-14 10:00`. */
export function minuteText(date: string | null): string {
  return date === null || date === "" ? "no date" : date.slice(0, 16).replace("T", " ");
}

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
  className: string | null = "text",
  tag: K = "div" as K,
): HTMLElementTagNameMap[K] {
  return h(tag, { class: className, dir: "auto" }, text);
}

/** The same within a line of other text. */
export function untrustedInline(text: string, className: string | null = null): HTMLElement {
  return h("bdi", { class: className }, text);
}

/** A list to choose from; `options` are values with their words. */
export function select(props: Props, options: readonly (readonly [value: string, words: string])[]): HTMLSelectElement {
  return h("select", props, ...options.map(([value, words]) => h("option", { value }, words)));
}

const SVG = "http://www.w3.org/2000/svg";

export function svg(
  name: string,
  attributes: Readonly<Record<string, string | number>>,
  ...children: readonly (SVGElement | string)[]
): SVGElement {
  const element = document.createElementNS(SVG, name);
  for (const [key, value] of Object.entries(attributes)) element.setAttribute(key, String(value));
  element.append(...children);
  return element;
}

function attribute(name: string, value: string | number | true): string {
  if (value === true) return "";
  // All links of the two pages are to anchors of their own.
  if (name === "href" && !String(value).startsWith("#")) throw new Error(`Not an anchor of this page: ${value}`);
  return stripControls(String(value));
}
