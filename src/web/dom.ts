// Creates elements and formats values for both bundles. Text is set as text, never as markup.
import { stripControls } from "../platform/control-characters.js";
import type { Figure } from "../reports/report-data.js";
import { duration, share, usd } from "../text/format.js";
import type { TextSpan } from "../text/passages.js";

/** Null and `false` are left out, so that a condition can precede an element. */
export type Child = Node | string | number | null | false | readonly Child[];

type Props = Readonly<Record<string, string | number | boolean | null | ((event: never) => void)>>;

export type Tag = keyof HTMLElementTagNameMap;

/** A tag, optionally with classes, such as `p.hint.mono`. */
type Selector = Tag | `${Tag}.${string}`;

type TagOf<S extends Selector> = S extends Tag ? S : S extends `${infer T extends Tag}.${string}` ? T : never;

/** Formats a score with three digits and a typographic minus, or a dash if it is missing. */
export function scoreText(value: number | null | undefined): string {
  return share(value ?? null).replace("-", value === null || value === undefined ? "–" : "−");
}

export function intervalText({ low, high }: { readonly low: number | null; readonly high: number | null }): string {
  return low === null || high === null ? "–" : `${scoreText(low)} to ${scoreText(high)}`;
}

/** Returns the score axis: 0 to 1, extended if values or their intervals are outside. */
export function scoreAxis(figures: readonly Omit<Figure, "n">[]): [from: number, to: number] {
  const ends = figures.flatMap(({ value, low, high }) => [value ?? 0, low ?? 0, high ?? 0]);
  return [Math.min(0, ...ends), Math.max(1, ...ends)];
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

/**
 * Creates an element. Text becomes text nodes and never markup, because it can come from mail and models. Properties
 * can precede the children: functions become event listeners, and other values become attributes (`true` sets an empty
 * one, `null` and `false` leave it out).
 */
export function h<S extends Selector>(
  selector: S,
  ...content: readonly [Props, ...Child[]] | readonly Child[]
): HTMLElementTagNameMap[TagOf<S>] {
  const [tag = "", ...classes] = selector.split(".");
  const element = document.createElement(tag);
  // Otherwise, a button within a form would submit it.
  if (tag === "button") element.setAttribute("type", "button");
  if (classes.length > 0) element.className = classes.join(" ");
  const [first, ...rest] = content;
  const hasProps = isProps(first);
  for (const [name, value] of Object.entries(hasProps ? first : {})) {
    if (typeof value === "function") element.addEventListener(name, value as EventListener);
    // The content security policy of the served pages does not allow the attribute.
    else if (name === "style") element.style.cssText = String(value ?? "");
    else if (value !== null && value !== false) element.setAttribute(name, attribute(name, value));
  }
  append(element, (hasProps ? rest : content) as readonly Child[]);
  return element as HTMLElementTagNameMap[TagOf<S>];
}

function isProps(value: Props | Child | undefined): value is Props {
  return typeof value === "object" && value !== null && !(value instanceof Node) && !Array.isArray(value);
}

/** More marks on one letter than any language needs. */
const MARKS = /(\p{M}{8})\p{M}+/gu;

/** Removes control characters, and marks without end, which would cover other lines or widen the page. */
function shownText(text: string): string {
  return stripControls(text).replace(MARKS, "$1");
}

export function append(parent: Element, children: readonly Child[]): void {
  for (const child of children) {
    if (child === null || child === false) continue;
    if (child instanceof Node) parent.append(child);
    else if (typeof child === "object") append(parent, child);
    else parent.append(shownText(String(child)));
  }
}

/**
 * Replaces the content of an element. If it had the focus, the focus moves to the new control of the same name, if any,
 * to the first control, or to the element around it, because keys would reach nothing on the page.
 */
export function replaceChildren(parent: Element, ...children: readonly Child[]): void {
  const { activeElement } = document;
  const held = activeElement !== parent && parent.contains(activeElement) ? activeElement : null;
  parent.replaceChildren();
  append(parent, children);
  if (held === null || held.isConnected) return;
  const controls = [...parent.querySelectorAll<HTMLElement>("a, button, input, select, summary, textarea, [tabindex]")];
  const same = controls.find((control) => nameOf(control) === nameOf(held));
  const next = same ?? controls[0] ?? parent.closest<HTMLElement>("[tabindex], dialog");
  next?.focus({ preventScroll: true });
}

/** What tells a control apart from others next to it. */
function nameOf(control: Element): string {
  const { tagName, textContent } = control;
  return `${tagName} ${control.getAttribute("href") ?? control.getAttribute("aria-label") ?? textContent}`;
}

/** Shows another text. The same text is not set twice, because screen readers would read it again. */
export function setText(element: Element, text: string): void {
  const shown = shownText(text);
  if (element.textContent !== shown) element.textContent = shown;
}

/** Shows text from mail or models. `dir` isolates its direction from the surrounding text. */
export function untrustedText(text: string, className: string | null = "text", tag: Tag = "div"): HTMLElement {
  return h(tag, { class: className, dir: "auto" }, text);
}

/** Shows text from mail or models within a line of other text. */
export function untrustedInline(text: string, className: string | null = null): HTMLElement {
  return h("bdi", { class: className }, text);
}

/** Shows untrusted text, with the spans marked. */
export function highlightedText(
  text: string,
  spans: readonly TextSpan[],
  className: string | null,
  tag: Tag,
): HTMLElement {
  const element = h(tag, { class: className, dir: "auto" });
  let done = 0;
  for (const { start, end } of spans.toSorted((a, b) => a.start - b.start)) {
    if (start < done) continue;
    append(element, [text.slice(done, start), h("mark", text.slice(start, end))]);
    done = end;
  }
  append(element, [text.slice(done)]);
  return element;
}

/** Milliseconds for which a button shows the result of copying. */
const COPIED_MS = 2_000;

/** A button that copies a text and then says so. */
export function copyButton(label: string, text: string): HTMLElement {
  const button = h("button.quiet", label);
  button.addEventListener("click", async () => {
    try {
      await navigator.clipboard.writeText(text);
      setText(button, "Copied");
    } catch {
      setText(button, "The browser did not allow it");
    }
    setTimeout(() => {
      setText(button, label);
    }, COPIED_MS);
  });
  return button;
}

/** Creates a drop-down list. `options` are values, with their labels if these are different. */
export function select(
  props: Props,
  options: readonly (string | readonly [value: string, words: string])[],
): HTMLSelectElement {
  return h(
    "select",
    props,
    ...options.map((option) => {
      const [value, words] = typeof option === "string" ? [option, option] : option;
      return h("option", { value }, words);
    }),
  );
}

const SVG = "http://www.w3.org/2000/svg";

export function svg(
  name: string,
  attributes: Readonly<Record<string, string | number>>,
  ...children: readonly (SVGElement | string)[]
): SVGElement {
  const element = document.createElementNS(SVG, name);
  for (const [key, value] of Object.entries(attributes)) element.setAttribute(key, String(value));
  append(element, children);
  return element;
}

function attribute(name: string, value: string | number | true): string {
  if (value === true) return "";
  // Both pages link only to their own anchors.
  if (name === "href" && !String(value).startsWith("#")) throw new Error(`Not an anchor of this page: ${value}`);
  return stripControls(String(value));
}
