import { intervalText, scoreText } from "../../../../reports/page/shared/format.js";
import { type RunPanel, tableSection } from "./run-panel.js";
import type { ScoreJson } from "./run-progress-json.js";

/** Every score so far with its interval. */
export function scoreTable(): RunPanel {
  const { element, show } = tableSection("Scores so far", ["Score", "Value", "Interval", "Tasks", ""]);
  return {
    element,
    show({ scores }) {
      const line = scores.length === 0 ? "" : "Over the completed tasks, with 95 % intervals.";
      show(scores, line, (score) => [
        score.label,
        scoreText(score.value),
        intervalText(score),
        score.n,
        drawing(score),
      ]);
    },
  };
}

const SVG = "http://www.w3.org/2000/svg";

/** The interval and the value between 0 and 1; nothing for scores with other scales. */
function drawing({ value, low, high }: ScoreJson): SVGElement | null {
  if (value === null || low === null || high === null || low < 0 || high > 1) return null;
  const svg = svgElement("svg", { viewBox: "-4 0 108 12", class: "interval", "aria-hidden": "true" });
  svg.append(
    svgElement("line", { x1: 0, x2: 100, y1: 6, y2: 6, class: "scale" }),
    svgElement("line", { x1: 100 * low, x2: 100 * high, y1: 6, y2: 6, class: "range" }),
    svgElement("circle", { cx: 100 * value, cy: 6, r: 3.5 }),
  );
  return svg;
}

function svgElement(name: string, attributes: Readonly<Record<string, string | number>>): SVGElement {
  const element = document.createElementNS(SVG, name);
  for (const [key, value] of Object.entries(attributes)) element.setAttribute(key, String(value));
  return element;
}
