import type { MetricComparison } from "../../../domain/scores/metric-comparison.js";
import { differenceText, pText } from "../../text/difference-text.js";
import { count } from "../../text/format-number.js";
import { metricFormat, significanceText, type TaskNoun } from "../../text/significance-text.js";
import { runDot } from "../header.js";
import type { ReportComparison } from "../report-comparison.js";
import type { RunFigures } from "../report-data.js";
import { filterLink } from "../route.js";
import { type Child, h } from "../shared/dom.js";
import { type PairOutcome, writeOutcome } from "./pair-outcomes.js";

/** Every metric of a run against the first: both means, the difference, how sure it is, and how many tasks changed. */
export function comparisonTable(
  { metrics, outcomes, candidate }: ReportComparison,
  runs: readonly RunFigures[],
  noun: TaskNoun,
): HTMLElement {
  const [before, after] = [runs[0]?.label ?? "", runs[candidate]?.label ?? ""];
  const heads: readonly Child[][] = [
    ["Metric"],
    ["Pairs"],
    [h("span", { title: before }, runDot(0), "before", h("span", { class: "hidden" }, `: ${before}`))],
    [h("span", { title: after }, runDot(candidate), "after", h("span", { class: "hidden" }, `: ${after}`))],
    ["Difference, 95 %"],
    ["p"],
    ["Won, lost, tied"],
    ["Verdict"],
  ];
  const runId = runs[candidate]?.runId ?? "";
  return h(
    "table",
    { class: "tools compared" },
    h("caption", { class: "hidden" }, `${after} against ${before}`),
    h("thead", {}, h("tr", {}, ...heads.map((children) => h("th", { scope: "col" }, ...children)))),
    h(
      "tbody",
      {},
      ...metrics.map((metric) => metricRow(metric, noun, outcomes[metric.metric] === undefined ? null : runId)),
    ),
  );
}

/** `runId`: numbers of tasks lead to these; null where they do not. */
function metricRow(metric: MetricComparison, noun: TaskNoun, runId: string | null): HTMLElement {
  const { label, baseline, candidate, difference, p, wins, losses, ties } = metric;
  const format = metricFormat(metric.metric);
  const text = (value: number | null) => (value === null ? "–" : format(value));
  const tasks = (outcome: PairOutcome, number: number): Child => {
    if (runId === null || number === 0) return count(number);
    const href = filterLink({ compared: writeOutcome({ outcome, runId, metric: metric.metric }) });
    return h("a", { href, "aria-label": `${count(number)} ${outcome}, ${label}; show them` }, count(number));
  };
  const cells: readonly (readonly [string, readonly Child[]])[] = [
    ["Pairs", [count(difference.n)]],
    ["Before", [text(baseline)]],
    ["After", [text(candidate)]],
    ["Difference, 95 %", [differenceText(difference, format)]],
    ["p", [pText(p)]],
    ["Won, lost, tied", [tasks("won", wins), ", ", tasks("lost", losses), ", ", tasks("tied", ties)]],
    ["Verdict", [h("span", { class: `verdict-${metric.verdict ?? "open"}` }, significanceText(metric, noun))]],
  ];
  return h(
    "tr",
    {},
    h("th", { scope: "row" }, label),
    ...cells.map(([name, children]) => h("td", { class: "figure", "data-label": name }, h("span", {}, ...children))),
  );
}
