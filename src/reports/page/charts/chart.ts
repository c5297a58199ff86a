import type * as PlotLibrary from "@observablehq/plot";
import { h } from "../shared/dom.js";

declare global {
  /** Loaded by the page before this script. */
  const Plot: typeof PlotLibrary;
}

export interface Chart {
  readonly title: string;
  /** The title; also the name for screen readers. */
  readonly description: string;
  draw(width: number): SVGSVGElement | HTMLElement;
  /** The same figures as a table. */
  readonly heading: readonly string[];
  readonly rows: readonly (readonly string[])[];
}

/** A chart with its title and its data table; it is redrawn when the width changes. */
export function figureOf({ title, description, draw, heading, rows }: Chart): HTMLElement {
  const canvas = h("div", { class: "canvas" });
  let drawn = 0;
  new ResizeObserver(([entry]) => {
    const width = Math.floor(entry?.contentRect.width ?? 0);
    if (width === 0 || width === drawn) return;
    drawn = width;
    const picture = draw(width);
    const svg = picture instanceof SVGSVGElement ? picture : picture.querySelector("svg");
    svg?.setAttribute("role", "group");
    svg?.setAttribute("aria-label", `${title}. ${description}`);
    canvas.replaceChildren(picture);
  }).observe(canvas);
  return h(
    "figure",
    { class: "chart" },
    h("figcaption", {}, h("b", {}, title), description === "" ? null : h("span", {}, description)),
    canvas,
    h("details", { class: "as-table" }, h("summary", {}, "Figures"), plainTable(heading, rows)),
  );
}

function plainTable(heading: readonly string[], rows: readonly (readonly string[])[]): HTMLElement {
  return h(
    "table",
    {},
    h("thead", {}, h("tr", {}, ...heading.map((name) => h("th", { scope: "col" }, name)))),
    h(
      "tbody",
      {},
      ...rows.map(([first = "", ...rest]) =>
        h("tr", {}, h("th", { scope: "row" }, first), ...rest.map((text) => h("td", { class: "figure" }, text))),
      ),
    ),
  );
}

export function runColour(index: number): string {
  return `var(--run-${index % 8})`;
}

/** Common to all charts: a transparent background and the page's font. */
export const CHART_STYLE = {
  background: "none",
  fontFamily: "inherit",
  fontSize: "12px",
  overflow: "visible",
} as const;
