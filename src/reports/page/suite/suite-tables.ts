import type { GuidanceComparison } from "../../../domain/runs/suite-analysis.js";
import { differenceText, pText } from "../../text/difference-text.js";
import { count, duration } from "../../text/format-number.js";
import { leftOut, TEST_NAMES } from "../../text/suite/left-out.js";
import type { RunFigures } from "../report-data.js";
import type { SuiteFigures } from "../report-suite.js";
import { type Child, h } from "../shared/dom.js";
import { scoreText } from "../shared/format.js";

const PAIR_COLUMNS = ["Score", "Pairs", "Abstract", "Verbose", "Difference, 95 %", "p", "Better, worse, same"];

/** Abstract against verbose instructions, over pairs of a task and its counterpart. */
export function guidanceTable({ metrics, ...guidance }: GuidanceComparison): Child[] {
  const table = h(
    "table",
    { class: "tools pairs" },
    h("caption", { class: "hidden" }, "Verbose against abstract instructions"),
    head(PAIR_COLUMNS),
    h(
      "tbody",
      {},
      ...metrics.map(({ label, baseline, candidate, difference, p, test, wins, losses, ties }) =>
        row(label, [
          count(difference.n),
          scoreText(baseline),
          scoreText(candidate),
          differenceText(difference),
          p === null ? "–" : `${pText(p)} (${TEST_NAMES[test]})`,
          `${count(wins)}, ${count(losses)}, ${count(ties)}`,
        ]),
      ),
    ),
  );
  return [table, ...leftOut(guidance).map((text) => h("p", { class: "meta" }, text))];
}

/** Model and tool time by the suite's tools. */
export function durationTable(runs: readonly (RunFigures & { readonly suite: SuiteFigures })[]): HTMLElement {
  return h(
    "table",
    { class: "tools" },
    h("caption", { class: "hidden" }, "Model and tool time of tasks"),
    head(["Time of tasks", "Tasks", "Mean", "Median", "95 % within"]),
    ...runs.map(({ label, suite }) =>
      h(
        "tbody",
        {},
        runs.length > 1 ? h("tr", { class: "group" }, h("th", { scope: "rowgroup", colspan: 5 }, label)) : null,
        ...suite.durations.map(({ tool, tasks, mean, p50, p95 }) =>
          row(tool, [count(tasks), ...[mean, p50, p95].map(duration)]),
        ),
      ),
    ),
  );
}

function head(columns: readonly string[]): HTMLElement {
  return h("thead", {}, h("tr", {}, ...columns.map((name) => h("th", { scope: "col" }, name))));
}

function row(label: string, cells: readonly string[]): HTMLElement {
  return h("tr", {}, h("th", { scope: "row" }, label), ...cells.map((text) => h("td", { class: "figure" }, text)));
}
