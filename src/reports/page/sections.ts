import { endings, errorList, outcomeLegend, profile, toolTable } from "./charts/bar-list.js";
import { figureOf } from "./charts/chart.js";
import { distributionChart } from "./charts/distribution-chart.js";
import { effortTable, scoreTable } from "./charts/score-table.js";
import { sliceChart } from "./charts/slice-chart.js";
import { COST, LATENCY, tradeOffChart } from "./charts/trade-off-chart.js";
import { turnsChart } from "./charts/turns-chart.js";
import { runDot, tiles } from "./header.js";
import type { ReportHead, RunFigures } from "./report-data.js";
import { SLICINGS } from "./report-data.js";
import { type Child, h, replaceChildren, untrustedInline } from "./shared/dom.js";

export function section(title: string, note: string | null, ...children: readonly Child[]): HTMLElement {
  const id = title.toLowerCase().replaceAll(" ", "-");
  return h(
    "section",
    { "aria-labelledby": id },
    h("h2", { id }, title),
    note === null ? null : h("p", { class: "lead" }, note),
    ...children,
  );
}

/** The sections above the task table, from the headline scores to the tools. */
export function figureSections(head: ReportHead): HTMLElement[] {
  return [
    section(
      "Scores",
      "Over the completed tasks; a failed task is never graded. The interval holds the true value in 95 of 100 such runs.",
      tiles(head),
      wide(scoreTable(head)),
      ...(head.runs.length > 1 ? [wide(effortTable(head))] : []),
    ),
    section(
      "Where tasks are lost",
      "How far the agent came on the way to a mail that holds the answer, and how good its answer was then. A bar leads to its tasks.",
      outcomeLegend(head),
      perRun(
        head,
        (run) => [h("h3", {}, "Gold mail"), profile(run)],
        (run, i) => [...[h("h3", {}, "Endings"), endings(run, i)], ...errors(run)],
      ),
    ),
    section(
      "How agents work",
      null,
      h("div", { class: "pair uneven" }, figureOf(turnsChart(head)), wide(toolTable(head))),
    ),
  ];
}

function errors(run: RunFigures): Child[] {
  const list = errorList(run);
  return list === null ? [] : [h("h3", {}, "Errors of failed tasks"), list];
}

function perRun(
  head: ReportHead,
  ...halves: readonly ((run: RunFigures, index: number) => readonly Child[])[]
): HTMLElement {
  return h(
    "div",
    {},
    ...head.runs.map((run, i) =>
      h(
        "div",
        { class: "run-block" },
        head.runs.length > 1 ? h("p", { class: "run-name" }, runDot(i), untrustedInline(run.label)) : null,
        h("div", { class: "pair" }, ...halves.map((half) => h("div", {}, ...half(run, i)))),
      ),
    ),
  );
}

function wide(table: HTMLElement): HTMLElement {
  return h(
    "div",
    { class: "sideways", tabindex: 0, role: "group", "aria-label": table.querySelector("caption")?.textContent ?? "" },
    table,
  );
}

/** The charts of one score, and the list that chooses the score. */
export function scoreSection(head: ReportHead, onScore: (index: number) => void): HTMLElement {
  const charts = h("div", {});
  const list = h(
    "select",
    { "aria-label": "Score" },
    ...head.scores.map(({ name, label }) => h("option", { value: name }, label)),
  );
  const draw = () => {
    const index = Math.max(0, list.selectedIndex);
    const score = head.scores[index];
    if (score === undefined) return;
    const tradeOffs = head.runs.length > 1 ? [COST, LATENCY] : [];
    replaceChildren(
      charts,
      tradeOffs.length === 0
        ? null
        : h("div", { class: "pair" }, ...tradeOffs.map((price) => figureOf(tradeOffChart(head, score, price)))),
      figureOf(distributionChart(head, score)),
      h(
        "p",
        { class: "lead" },
        `${score.label} with its 95 % interval by what tasks have in common, and their number. A bar leads to its tasks.`,
      ),
      h("div", { class: "pair" }, ...SLICINGS.map((by) => figureOf(sliceChart(head, by, score)))),
    );
    onScore(index);
  };
  list.value = head.leading;
  list.addEventListener("change", draw);
  draw();
  return section("One score in detail", null, h("p", { class: "choose" }, "Score ", list), charts);
}
