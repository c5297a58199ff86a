import {
  type EvalFigures,
  type Figure,
  OUTCOMES,
  type ReportHead,
  type RunFigures,
  STAGES,
} from "../../reports/report-data.js";
import { count, duration } from "../../text/format.js";
import { axisEnd, type Child, costText, h, intervalText, scoreAxis, scoreText, untrustedInline } from "../dom.js";
import { OUTCOME_WORDS, runDot, STAGE_WORDS, spaceWords } from "./header.js";
import { filterLink, type ViewState } from "./route.js";

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
      const figures = head.runs.map((run) => run.scores[name]);
      const axis = scoreAxis(figures.flatMap((figure) => [figure?.low ?? 0, figure?.high ?? 1, figure?.value ?? 0]));
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
            h(
              "td",
              { class: "track-cell" },
              track(figure, axis, i),
              // One axis for all runs, below the last.
              i < head.runs.length - 1 ? null : axisLine(axis),
            ),
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

function axisLine(axis: readonly [number, number]): HTMLElement {
  return h("span", { class: "axis", "aria-hidden": "true" }, ...axis.map((end) => h("span", {}, axisEnd(end))));
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
