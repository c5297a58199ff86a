import { count, duration } from "../../text/format-number.js";
import { runDot } from "../header.js";
import type { Figure, ReportHead } from "../report-data.js";
import { h, untrustedInline } from "../shared/dom.js";
import { costText, intervalText, scoreText } from "../shared/format.js";

/** Every score with its interval and number of tasks, one line a run. */
export function scoreTable(head: ReportHead): HTMLElement {
  const several = head.runs.length > 1;
  const columns = ["Score", ...(several ? ["Run"] : []), "Value", "95 % interval", "", "Tasks"];
  return h(
    "table",
    { class: several ? "scores several" : "scores" },
    h("caption", { class: "hidden" }, "Scores with their 95 % intervals, over the completed tasks"),
    h("thead", {}, h("tr", {}, ...columns.map((name) => heading(name)))),
    ...head.scores.map(({ name, label, meaning, better }) => {
      const span = axisOf(head.runs.map((run) => run.scores[name]));
      return h(
        "tbody",
        {},
        ...head.runs.map((run, i) => {
          const figure = run.scores[name] ?? { value: null, n: 0, low: null, high: null };
          return h(
            "tr",
            {},
            ...(i > 0
              ? []
              : [
                  h(
                    "th",
                    { scope: "rowgroup", rowspan: head.runs.length },
                    h("span", { class: "label" }, label),
                    better === "lower" ? h("span", { class: "tag" }, "lower is better") : null,
                    h("span", { class: "meaning" }, meaning),
                  ),
                ]),
            ...(several ? [h("td", { class: "run" }, runDot(i), untrustedInline(run.label))] : []),
            h("td", { class: "figure strong" }, scoreText(figure.value)),
            h("td", { class: "figure" }, intervalText(figure)),
            h("td", { class: "track-cell" }, track(figure, span, i)),
            h("td", { class: "figure muted" }, count(figure.n)),
          );
        }),
      );
    }),
  );
}

/** Time, tokens and cost of each run. */
export function effortTable({ runs }: ReportHead): HTMLElement {
  const ms = (value: number | null) => (value === null ? "–" : duration(value));
  const columns = [
    "Run",
    "Tasks",
    "Failed",
    "Cost",
    "per 1,000",
    "Median time",
    "95 % within",
    "Waiting",
    "Input tokens",
    "Output tokens",
    "Retries",
  ];
  return h(
    "table",
    { class: "effort" },
    h("caption", { class: "hidden" }, "What the runs took and cost"),
    h("thead", {}, h("tr", {}, ...columns.map((name) => heading(name)))),
    h(
      "tbody",
      {},
      ...runs.map((run, i) =>
        h(
          "tr",
          {},
          h("th", { scope: "row" }, runs.length > 1 ? runDot(i) : null, untrustedInline(run.label)),
          ...[
            count(run.tasks),
            count(run.failed),
            costText(run.costUsd),
            costText(run.costUsd === null || run.tasks === 0 ? null : (run.costUsd / run.tasks) * 1_000),
            ms(run.latency.p50),
            ms(run.latency.p95),
            ms(run.latency.waiting),
            count(run.tokens.input),
            count(run.tokens.output),
            count(run.retries),
          ].map((text, column) => h("td", { class: "figure", "data-label": columns[column + 1] ?? "" }, text)),
        ),
      ),
    ),
  );
}

function heading(name: string): HTMLElement {
  return name === "" ? h("td", {}) : h("th", { scope: "col" }, name);
}

/** 0 to 1, extended where values lie outside. */
function axisOf(figures: readonly (Figure | undefined)[]): readonly [number, number] {
  const ends = figures.flatMap((figure) => [figure?.low ?? 0, figure?.high ?? 1, figure?.value ?? 0]);
  return [Math.min(0, ...ends), Math.max(1, ...ends)];
}

/** The interval as a line with the value as a dot; hidden from screen readers, as the numbers stand beside it. */
function track({ value, low, high }: Figure, [from, to]: readonly [number, number], run: number): HTMLElement {
  const at = (x: number) => `${(((x - from) / (to - from)) * 100).toFixed(2)}%`;
  const line = h("span", { class: "track", "aria-hidden": "true" });
  if (value === null) return line;
  if (low !== null && high !== null) {
    const span = h("span", { class: `span run-${run % 8}` });
    span.style.left = at(low);
    span.style.width = `${(((high - low) / (to - from)) * 100).toFixed(2)}%`;
    line.append(span);
  }
  const dot = h("span", { class: `point run-${run % 8}` });
  dot.style.left = at(value);
  line.append(dot);
  return line;
}
