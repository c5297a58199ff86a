import { count } from "../../text/format-number.js";
import { type TaskNoun, verdictSentence } from "../../text/significance-text.js";
import { figureOf } from "../charts/chart.js";
import { COST, LATENCY, tradeOffChart } from "../charts/trade-off-chart.js";
import { runDot } from "../header.js";
import type { ReportComparison } from "../report-comparison.js";
import type { ReportHead } from "../report-data.js";
import { section, wide } from "../section.js";
import { type Child, h, untrustedInline } from "../shared/dom.js";
import { comparisonTable } from "./comparison-table.js";
import { disagreements } from "./disagreements.js";
import type { PairOutcomes } from "./pair-outcomes.js";

/** Each run against the first: the verdict in words, the figures, and the tasks that they disagree on. */
export function comparisonSection(head: ReportHead, outcomes: PairOutcomes): HTMLElement {
  return section(
    "Comparison",
    "Each run against the first, over the tasks that both have a value for. A difference counts where its 95 % interval excludes 0 and p is below 0.05.",
    ...head.comparisons.map((comparison) => comparedRun(comparison, head, outcomes)),
    ...tradeOffs(head),
  );
}

/** Score against cost and time, of the score that is chosen. */
function tradeOffs(head: ReportHead): HTMLElement[] {
  const charts = h("div", { class: "pair" });
  const list = h(
    "select",
    { "aria-label": "Score against cost" },
    ...head.scores.map(({ name, label }) => h("option", { value: name }, label)),
  );
  list.value = head.comparisons.find(({ headline }) => headline !== null)?.headline ?? head.leading;
  const draw = () => {
    const score = head.scores[Math.max(0, list.selectedIndex)];
    if (score === undefined) return;
    charts.replaceChildren(...[COST, LATENCY].map((price) => figureOf(tradeOffChart(head, score, price))));
  };
  list.addEventListener("change", draw);
  draw();
  return [h("h3", {}, "What the score costs"), h("p", { class: "choose" }, "Score ", list), charts];
}

function comparedRun(comparison: ReportComparison, head: ReportHead, outcomes: PairOutcomes): HTMLElement {
  const { candidate, headline, incomparable, questions } = comparison;
  const noun: TaskNoun = comparison.ungraded === null ? "question" : "task";
  return h(
    "div",
    { class: "run-block" },
    h("h3", {}, ...runName(candidate, head), h("span", { class: "meta" }, " against "), ...runName(0, head)),
    ...(incomparable.length > 0
      ? [
          h(
            "p",
            { class: "finding" },
            "They cannot be compared. They differ in ",
            untrustedInline(incomparable.join("; ")),
            ".",
          ),
        ]
      : questions.common === 0
        ? [h("p", { class: "finding" }, `They have no ${noun} in common.`)]
        : [
            ...finding(comparison, noun),
            h("p", { class: "meta" }, untrustedInline(coverageText(comparison, noun))),
            wide(comparisonTable(comparison, head.runs, noun)),
            ...(headline === null ? [] : disagreements(candidate, headline, head, outcomes)),
          ]),
  );
}

function runName(run: number, { runs }: ReportHead): Child[] {
  return [runDot(run), untrustedInline(runs[run]?.label ?? "")];
}

function finding({ metrics, headline }: ReportComparison, noun: TaskNoun): HTMLElement[] {
  const metric = metrics.find((each) => each.metric === headline);
  if (metric === undefined) return [];
  return [h("p", { class: `finding verdict-${metric.verdict ?? "open"}` }, verdictSentence(metric, noun))];
}

function coverageText({ questions, ungraded, settings }: ReportComparison, noun: TaskNoun): string {
  const { common, onlyBaseline, onlyCandidate } = questions;
  const many = (number: number) => `${count(number)} ${noun}${number === 1 ? "" : "s"}`;
  return [
    `${many(common)} in both`,
    ...(onlyBaseline === 0 ? [] : [`${count(onlyBaseline)} only in the first`]),
    ...(onlyCandidate === 0 ? [] : [`${count(onlyCandidate)} only in the second`]),
    ...(ungraded === null || ungraded.baseline + ungraded.candidate === 0
      ? []
      : [`not graded: ${count(ungraded.baseline)} of the first, ${count(ungraded.candidate)} of the second`]),
    ...(settings.length === 0 ? [] : [`settings that differ: ${settings.join(", ")}`]),
  ].join(" · ");
}
