import { count, duration } from "../../text/format-number.js";
import { OUTCOME_WORDS, STAGE_WORDS, spaceWords } from "../display-texts.js";
import type { ReportHead, RunFigures } from "../report-data.js";
import { OUTCOMES, STAGES } from "../report-data.js";
import { filterLink, type ViewState } from "../route.js";
import { type Child, h, untrustedInline } from "../shared/dom.js";

interface Part {
  readonly tasks: number;
  readonly className: string;
  readonly filters: ViewState["filters"];
  readonly words: string;
}

interface Bar {
  readonly label: Child;
  readonly filters: ViewState["filters"];
  readonly parts: readonly Part[];
}

/** Counts as bars; each links to its tasks. */
export function barList(bars: readonly Bar[], of: number): HTMLElement {
  const sum = (parts: readonly Part[]) => parts.reduce((tasks, part) => tasks + part.tasks, 0);
  const most = Math.max(1, ...bars.map(({ parts }) => sum(parts)));
  return h(
    "ul",
    { class: "bars" },
    ...bars.map(({ label, filters, parts }) =>
      h(
        "li",
        {},
        h("a", { href: filterLink(filters), class: "name" }, label),
        h("span", { class: "amount" }, `${count(sum(parts))} `, h("small", {}, percent(sum(parts), of))),
        h(
          "span",
          { class: "whole" },
          ...parts.map(({ tasks, className, filters: partFilters, words }) => {
            const part = h("a", {
              ...{
                href: filterLink(partFilters),
                class: `part ${className}`,
                title: `${words}: ${count(tasks)} tasks`,
              },
              "aria-label": `${words}: ${count(tasks)} tasks`,
            });
            part.style.width = `${(tasks / most) * 100}%`;
            return part;
          }),
        ),
      ),
    ),
  );
}

function percent(tasks: number, of: number): string {
  return of === 0 ? "" : `${((tasks / of) * 100).toFixed(1)} %`;
}

/** How the tasks of a run ended. */
export function endings(run: RunFigures, index: number): HTMLElement {
  const sorted = Object.entries(run.endings).sort(([, a], [, b]) => b - a);
  return barList(
    sorted.map(([ending, tasks]) => {
      const filters = { run: run.runId, ending };
      return {
        ...{ label: spaceWords(ending), filters },
        parts: [{ tasks, className: `run-${index % 8}`, filters, words: spaceWords(ending) }],
      };
    }),
    run.tasks,
  );
}

/** Outcomes by how far the agent came, which shows where tasks are lost. */
export function profile(run: RunFigures): HTMLElement {
  const bars = STAGES.flatMap((stage) => {
    const cells = run.profile.filter((cell) => cell.stage === stage);
    if (cells.length === 0) return [];
    return [
      {
        label: STAGE_WORDS[stage],
        filters: { run: run.runId, stage },
        parts: cells.map(({ outcome, tasks }) => ({
          ...{ tasks, className: `outcome-${outcome}`, filters: { run: run.runId, stage, outcome } },
          words: `${STAGE_WORDS[stage]}; ${OUTCOME_WORDS[outcome]}`,
        })),
      },
    ];
  });
  return barList(bars, run.tasks);
}

/** The legend of the outcome colours. */
export function outcomeLegend({ runs, scores, leading }: ReportHead): HTMLElement {
  const there = OUTCOMES.filter((outcome) =>
    runs.some(({ profile, suite }) =>
      suite === null
        ? profile.some((cell) => cell.outcome === outcome)
        : suite.profile.some((cell) => cell.band === outcome),
    ),
  );
  const label = scores.find(({ name }) => name === leading)?.label ?? leading;
  return h(
    "p",
    { class: "legend" },
    `${label}: `,
    ...there.flatMap((outcome) => [h("span", { class: `swatch outcome-${outcome}` }), ` ${OUTCOME_WORDS[outcome]} `]),
  );
}

export function errorList(run: RunFigures): HTMLElement | null {
  if (run.errors.length === 0) return null;
  return h(
    "ol",
    { class: "errors" },
    ...run.errors.map(({ message, tasks }) => h("li", {}, h("b", {}, count(tasks)), " ", untrustedInline(message))),
  );
}

export function toolTable({ runs }: ReportHead): HTMLElement {
  const columns = ["Tool", "Calls", "per task", "Used by", "Errors", "Mean time"];
  return h(
    "table",
    { class: "tools" },
    h("caption", { class: "hidden" }, "Calls of tools"),
    h("thead", {}, h("tr", {}, ...columns.map((name) => h("th", { scope: "col" }, name)))),
    ...runs.map((run) =>
      h(
        "tbody",
        {},
        runs.length > 1
          ? h(
              "tr",
              { class: "group" },
              h("th", { scope: "rowgroup", colspan: columns.length }, untrustedInline(run.label)),
            )
          : null,
        ...run.tools.map(({ name, calls, errors, tasks, meanMs }) =>
          h(
            "tr",
            {},
            h("th", { scope: "row" }, untrustedInline(name)),
            ...[
              count(calls),
              run.tasks === 0 ? "–" : (calls / run.tasks).toFixed(1),
              percent(tasks, run.tasks),
              errors === 0 ? "0" : `${count(errors)} (${percent(errors, calls)})`,
              duration(meanMs),
            ].map((text) => h("td", { class: "figure" }, text)),
          ),
        ),
      ),
    ),
  );
}
