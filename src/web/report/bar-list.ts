// Tables and bars of a report: scores, effort, evals, endings and outcomes.
import { compact } from "../../platform/optional-values.js";
import { failedAsWrong, runCostText } from "../../reports/figure-text.js";
import {
  type EvalFigures,
  type Figure,
  OUTCOMES,
  type Outcome,
  type ReportHead,
  type RunFigures,
} from "../../reports/report-data.js";
import { count, counted, duration } from "../../text/format.js";
import {
  axisEnd,
  type Child,
  costText,
  durationText,
  h,
  intervalText,
  scoreAxis,
  scoreText,
  untrustedInline,
} from "../dom.js";
import { figureTable, wide } from "./figure-table.js";
import {
  costOfThousand,
  OUTCOME_WORDS,
  outcomeColour,
  runColour,
  runName,
  STAGE_WORDS,
  spaceWords,
  stateWords,
} from "./header.js";
import { filterLink, type ViewState } from "./view-state.js";

interface Part {
  readonly tasks: number;
  readonly colour: string;
  readonly filters: ViewState["filters"];
  readonly words: string;
}

interface Bar {
  readonly label: Child;
  readonly filters: ViewState["filters"];
  readonly parts: readonly Part[];
}

/** Tasks of a run by the stage of a question or the state of a suite task, and by outcome. */
interface OutcomeCell {
  readonly by: Readonly<Partial<Record<"stage" | "state", string>>>;
  readonly label: string;
  readonly outcome: Outcome;
  readonly tasks: number;
}

/** The scores with intervals and number of tasks, one line per run. */
export function scoreTable(head: ReportHead): HTMLElement {
  const several = head.runs.length > 1;
  const hasFailed = head.runs.some(({ scores }) =>
    Object.values(scores).some((score) => failedAsWrong(score) !== null),
  );
  const columns = compact([
    "Score",
    several && "Run",
    "Value",
    "95% interval",
    AS_LINE,
    "Tasks",
    hasFailed && "With failed as wrong",
  ]);
  const caption = "Scores with 95% intervals, over the completed tasks";
  const table = h(
    "table.scores",
    h("caption.hidden", caption),
    h("thead", h("tr", ...columns.map(heading))),
    ...head.scores.map(({ name, label, meaning, better }) => {
      const figures = head.runs.map((run) => run.scores[name]);
      const axis = scoreAxis(figures.flatMap((figure) => figure ?? []));
      return h(
        "tbody",
        ...head.runs.map((run, i) => {
          const figure = run.scores[name] ?? { value: null, n: 0, low: null, high: null };
          return h(
            "tr",
            i === 0 &&
              h(
                "th",
                { scope: "rowgroup", rowspan: head.runs.length },
                h("span.label", label),
                better === "lower" && h("span.badge", "lower is better"),
                h("span.meta", meaning),
              ),
            several && h("td.run", runName(i, head)),
            h("td.figure.strong", scoreText(figure.value)),
            h("td.figure", intervalText(figure)),
            h(
              "td.track-cell",
              track(figure, axis, i),
              // One axis for all runs, below the last one. The head of a wide table shows the usual one.
              i >= head.runs.length - 1 && axisLine(axis),
            ),
            h("td.figure.muted", count(figure.n)),
            hasFailed && h("td.figure", scoreText(failedAsWrong(run.scores[name]))),
          );
        }),
      );
    }),
  );
  return wide(table, caption);
}

/** Time, tokens and cost of each run. */
export function effortTable(head: ReportHead): HTMLElement {
  const columns = [
    "Run",
    "Tasks",
    "Failed",
    "Cost",
    "Agent, per 1,000",
    "Time per task",
    "Median time",
    "95% within",
    "Waiting",
    "Input tokens",
    "Output tokens",
    "Retries",
  ];
  const rows = head.runs.map((run, i) => ({
    label: runName(i, head),
    cells: [
      count(run.tasks),
      count(run.failed),
      runCostText(run, costText),
      costText(costOfThousand(run)),
      durationText(run.latency.mean),
      durationText(run.latency.p50),
      durationText(run.latency.p95),
      durationText(run.latency.waiting),
      count(run.tokens.input),
      count(run.tokens.output),
      count(run.retries),
    ],
  }));
  return figureTable({ className: "effort", caption: "Time, tokens and cost of the runs", columns }, rows);
}

/** Screen readers read the numbers next to the line. */
const AS_LINE = "Interval as a line";

function heading(name: string): HTMLElement {
  return name === AS_LINE
    ? h("th.track-cell", { scope: "col" }, h("span.hidden", name), axisLine(UNIT))
    : h("th", { scope: "col" }, name);
}

/** The axis of most scores. */
const UNIT = [0, 1] as const;

function axisLine(axis: readonly [number, number]): HTMLElement {
  const isUnit = axis.every((end, i) => end === UNIT[i]);
  const ends = axis.map((end) => h("span", axisEnd(end)));
  return h("span", { class: isUnit ? "axis unit" : "axis", "aria-hidden": "true" }, ...ends);
}

/** The interval as a line and the value as a dot. Hidden from screen readers, because the numbers are next to it. */
export function track({ value, low, high }: Figure, [from, to]: readonly [number, number], run: number): HTMLElement {
  const share = (length: number) => `${((length / (to - from)) * 100).toFixed(2)}%`;
  const colour = `background: ${runColour(run)}`;
  return h(
    "span.track",
    { "aria-hidden": "true" },
    value === null || low === null || high === null
      ? null
      : h("span.span", { style: `left: ${share(low - from)}; width: ${share(high - low)}; ${colour}` }),
    value !== null && h("span.point", { style: `left: ${share(value - from)}; ${colour}` }),
  );
}

/** The results of each eval for each run, and how reliable the eval is. */
export function evalTable(head: ReportHead): HTMLElement {
  const { evals, runs } = head;
  const columns = ["Eval", "Tasks", "Passed", "Corrected", "False failure rate", "Tested on"];
  const caption = "Evals: pass rates with 95% intervals, corrected for the evals' errors";
  const rows = evals.map((one) => {
    const run = runs[one.run];
    return {
      label: [
        h("a", { href: filterLink({ eval: one.name, ...(run && { run: run.runId }) }) }, one.name),
        one.version === null ? null : ` @${one.version}`,
        one.reference && h("span.badge", "sees gold"),
        runs.length > 1 && h("span.meta", runName(one.run, head)),
      ],
      cells: [
        count(one.passRate.n),
        [estimate(one.passRate)],
        [estimate(one.corrected)],
        [estimate(one.falseFailureRate)],
        [testText(one)],
      ],
    };
  });
  return figureTable({ className: "evals", caption, columns }, rows);
}

function estimate(figure: Figure | null): HTMLElement {
  if (figure === null) return h("span.muted", "not tested");
  const interval = figure.low === null ? null : h("span.muted", ` ${intervalText(figure)}`);
  return h("span", h("b", scoreText(figure.value)), interval);
}

function testText({ test, otherAgents }: EvalFigures): HTMLElement {
  if (test === null) return h("span.muted", "–");
  const rejected = test.passed ? null : h("span.badge", `missed "${test.thresholds}"`);
  const others =
    otherAgents === null
      ? null
      : h("span.meta", `${otherAgents.text}. ${otherAgents.advice}: `, h("code", otherAgents.command));
  return h("span", `${test.good} good, ${test.bad} bad`, rejected, others);
}

/** Counts as bars. Each bar links to its tasks. */
function barList(bars: readonly Bar[], of: number): HTMLElement {
  const sum = (parts: readonly Part[]) => parts.reduce((tasks, part) => tasks + part.tasks, 0);
  const most = Math.max(1, ...bars.map(({ parts }) => sum(parts)));
  return h(
    "ul.bars",
    ...bars.map(({ label, filters, parts }) =>
      h(
        "li",
        h("a.name", { href: filterLink(filters) }, label),
        h("span.amount", `${count(sum(parts))} `, h("small", percent(sum(parts), of))),
        h(
          "span.whole",
          ...parts.map(({ tasks, colour, filters: partFilters, words }) => {
            const title = `${words}: ${counted(tasks, "task")}`;
            const style = `width: ${(tasks / most) * 100}%; background: ${colour}`;
            return h("a.part", { href: filterLink(partFilters), title, "aria-label": title, style });
          }),
        ),
      ),
    ),
  );
}

function percent(tasks: number, of: number): string {
  return of === 0 ? "" : `${((tasks / of) * 100).toFixed(1)}%`;
}

/** How the tasks of a run ended. */
export function endings(run: RunFigures, index: number): HTMLElement {
  const sorted = Object.entries(run.endings).sort(([, a], [, b]) => b - a);
  return barList(
    sorted.map(([ending, tasks]) => {
      const filters = { run: run.runId, ending };
      const words = spaceWords(ending);
      return { label: words, filters, parts: [{ tasks, colour: runColour(index), filters, words }] };
    }),
    run.tasks,
  );
}

function outcomeCells({ profile, suite }: RunFigures): OutcomeCell[] {
  if (suite !== null) {
    return suite.profile.map(({ state, band: outcome, tasks }) => {
      return { by: { state }, label: stateWords(state), outcome, tasks };
    });
  }
  return profile.map(({ stage, outcome, tasks }) => ({ by: { stage }, label: STAGE_WORDS[stage], outcome, tasks }));
}

/** Outcomes by stage or state, which shows where tasks are lost. */
export function outcomeBars(run: RunFigures): HTMLElement {
  const cells = outcomeCells(run);
  const labels = [...new Set(cells.map(({ label }) => label))];
  const bars = labels.map((label) => {
    const ofLabel = cells.filter((cell) => cell.label === label);
    const filters = { run: run.runId, ...ofLabel[0]?.by };
    const parts = ofLabel.map(({ outcome, tasks }) => ({
      tasks,
      colour: outcomeColour(outcome),
      filters: { ...filters, outcome },
      words: `${label}; ${OUTCOME_WORDS[outcome]}`,
    }));
    return { label, filters, parts };
  });
  return barList(bars, run.tasks);
}

/** The legend of the outcome colors. */
export function outcomeLegend({ runs, scores, leading }: ReportHead): HTMLElement {
  const found = new Set(runs.flatMap(outcomeCells).map(({ outcome }) => outcome));
  const label = scores.find(({ name }) => name === leading)?.label ?? leading;
  return h(
    "p.meta.legend",
    `${label}: `,
    ...OUTCOMES.filter((outcome) => found.has(outcome)).flatMap((outcome) => [
      h("span.swatch", { style: `background: ${outcomeColour(outcome)}` }),
      ` ${OUTCOME_WORDS[outcome]} `,
    ]),
  );
}

export function messageList(messages: RunFigures["errors"]): HTMLElement {
  return h(
    "ol.errors",
    ...messages.map(({ message, tasks }) => h("li", h("b", count(tasks)), " ", untrustedInline(message))),
  );
}

export function toolTable({ runs }: ReportHead): HTMLElement {
  const columns = ["Tool", "Calls", "per task", "Used by", "Errors", "Mean time"];
  const groups = runs.map((run) => ({
    label: runs.length > 1 ? run.label : null,
    rows: run.tools.map(({ name, calls, errors, tasks, meanMs }) => ({
      label: [untrustedInline(name)],
      cells: [
        count(calls),
        run.tasks === 0 ? "–" : (calls / run.tasks).toFixed(1),
        percent(tasks, run.tasks),
        errors === 0 ? "0" : `${count(errors)} (${percent(errors, calls)})`,
        duration(meanMs),
      ],
    })),
  }));
  return figureTable({ className: "tools", caption: "Tool calls", columns }, { groups });
}
