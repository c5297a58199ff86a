import { count } from "../../text/format-number.js";
import { runDot } from "../header.js";
import type { EvalFigures, Figure, ReportHead } from "../report-data.js";
import { filterLink } from "../route.js";
import { h, untrustedInline } from "../shared/dom.js";
import { intervalText, scoreText } from "../shared/format.js";

/** What each eval says of each run, and how far it can be trusted. */
export function evalTable({ evals, runs }: ReportHead): HTMLElement {
  const columns = ["Eval", "Tasks", "Passed", "Corrected", "False alarms", "Tested on"];
  return h(
    "table",
    { class: "effort evals" },
    h("caption", { class: "hidden" }, "Evals: pass rates with their 95 % intervals, corrected for the evals' errors"),
    h("thead", {}, h("tr", {}, ...columns.map((name) => h("th", { scope: "col" }, name)))),
    h(
      "tbody",
      {},
      ...evals.map((one) => {
        const run = runs[one.run];
        const cells = [
          count(one.passRate.n),
          estimate(one.passRate),
          estimate(one.corrected),
          estimate(one.falseAlarms),
          testText(one),
        ];
        return h(
          "tr",
          {},
          h(
            "th",
            { scope: "row" },
            h("a", { href: filterLink({ eval: one.name, ...(run && { run: run.runId }) }) }, one.name),
            one.version === null ? null : ` @${one.version}`,
            one.reference ? h("span", { class: "tag" }, "sees gold") : null,
            runs.length > 1
              ? h("span", { class: "meaning" }, runDot(one.run), untrustedInline(run?.label ?? ""))
              : null,
          ),
          ...cells.map((cell, column) => h("td", { class: "figure", "data-label": columns[column + 1] ?? "" }, cell)),
        );
      }),
    ),
  );
}

function estimate(figure: Figure | null): HTMLElement {
  if (figure === null) return h("span", { class: "muted" }, "not tested");
  const interval = figure.low === null ? null : h("span", { class: "muted" }, ` ${intervalText(figure)}`);
  return h("span", {}, h("b", {}, scoreText(figure.value)), interval);
}

function testText({ test }: EvalFigures): HTMLElement {
  if (test === null) return h("span", { class: "muted" }, "–");
  const rejected = test.passed ? null : h("span", { class: "tag" }, `missed "${test.thresholds}"`);
  return h("span", {}, `${test.good} good, ${test.bad} bad`, rejected);
}
