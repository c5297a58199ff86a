import { stripControls } from "../platform/strings.js";
import { duration, share, usd } from "../text/format.js";
import type { TextSpan } from "../text/passages.js";

/** Formats a score with three digits and a typographic minus, or a dash if it is missing. */
export function scoreText(value: number | null | undefined): string {
  return share(value ?? null).replace("-", value === null || value === undefined ? "–" : "−");
}

export function intervalText({ low, high }: { readonly low: number | null; readonly high: number | null }): string {
  return low === null || high === null ? "–" : `${scoreText(low)} to ${scoreText(high)}`;
}

/** Returns the score axis: 0 to 1, extended if values are outside. */
export function scoreAxis(values: readonly number[]): readonly [from: number, to: number] {
  return [Math.min(0, ...values), Math.max(1, ...values)];
}

/** Formats the end of the score axis with few digits. */
export function axisEnd(value: number): string {
  return String(Number(value.toFixed(1))).replace("-", "−");
}

export function costText(value: number | null): string {
  return value === null ? "–" : usd(value);
}

export function durationText(ms: number | null): string {
  return ms === null ? "–" : duration(ms);
}

/** Joins facts into one line and leaves out null. */
export function factLine(...facts: readonly (string | null)[]): string {
  return facts.filter((fact) => fact !== null).join(" · ");
}

/** Formats `2001-05-14T10:00:00Z` as `2001-05-14 10:00`. */
export function minuteText(date: string | null): string {
  return date === null || date === "" ? "no date" : date.slice(0, 16).replace("T", " ");
}

export type Child = Node | string | number | null;

type Props = Readonly<Record<string, string | number | boolean | null | ((event: never) => void)>>;

/**
 * Creates an element. Text becomes text nodes and never markup, because it can come from mail and models. Functions in
 * `props` become event listeners; other values become attributes (`true` sets an empty one, `null` and `false` leave it
 * out).
 */
export function h<K extends keyof HTMLElementTagNameMap>(
  tag: K,
  props: Props = {},
  ...children: readonly Child[]
): HTMLElementTagNameMap[K] {
  const element = document.createElement(tag);
  for (const [name, value] of Object.entries(props)) {
    if (typeof value === "function") element.addEventListener(name, value as EventListener);
    // The content security policy of the served pages does not allow the attribute.
    else if (name === "style") element.style.cssText = String(value ?? "");
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

/** Shows text from mail or models. `dir` isolates its direction from the surrounding text. */
export function untrustedText<K extends keyof HTMLElementTagNameMap = "div">(
  text: string,
  className: string | null = "text",
  tag: K = "div" as K,
): HTMLElementTagNameMap[K] {
  return h(tag, { class: className, dir: "auto" }, text);
}

/** Shows text from mail or models within a line of other text. */
export function untrustedInline(text: string, className: string | null = null): HTMLElement {
  return h("bdi", { class: className }, text);
}

/** Shows untrusted text, with the spans marked. */
export function highlightedText<K extends keyof HTMLElementTagNameMap>(
  text: string,
  spans: readonly TextSpan[],
  className: string | null,
  tag: K,
): HTMLElementTagNameMap[K] {
  const element = h(tag, { class: className, dir: "auto" });
  let done = 0;
  for (const { start, end } of [...spans].sort((a, b) => a.start - b.start)) {
    if (start < done) continue;
    element.append(...h("span", {}, text.slice(done, start)).childNodes, h("mark", {}, text.slice(start, end)));
    done = end;
  }
  element.append(...h("span", {}, text.slice(done)).childNodes);
  return element;
}

/** A button that copies a text and then says so. */
export function copyButton(label: string, text: string): HTMLElement {
  const button = h("button", { type: "button", class: "quiet" }, label);
  button.addEventListener("click", async () => {
    try {
      await navigator.clipboard.writeText(text);
      button.textContent = "Copied";
    } catch {
      button.textContent = "The browser did not allow it";
    }
  });
  return button;
}

/** Creates a drop-down list. `options` are values with their labels. */
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
  // Both pages link only to their own anchors.
  if (name === "href" && !String(value).startsWith("#")) throw new Error(`Not an anchor of this page: ${value}`);
  return stripControls(String(value));
}
