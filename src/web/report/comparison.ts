// Compares runs with the first one: verdicts, figures, and answers next to one another.
import type { MetricComparison } from "../../analysis/paired-comparison.js";
import {
  clustersText,
  differenceText,
  metricFormat,
  onlyInLines,
  pText,
  significanceText,
  type TaskNoun,
  verdictOf,
  verdictSentence,
} from "../../reports/figure-text.js";
import type { ReportComparison, ReportHead, RunFigures } from "../../reports/report-data.js";
import { count, counted } from "../../text/format.js";
import { type Child, factLine, h, scoreText, untrustedInline, untrustedText } from "../dom.js";
import { COST, figureOf, LATENCY, scoreChooser, tradeOffChart } from "./charts.js";
import { markDifferences } from "./differences.js";
import { figureTable } from "./figure-table.js";
import { outcomeSection, runDot, runName, stateWords } from "./header.js";
import { scoreOf, type Task } from "./load.js";
import { type PairOutcome, readOutcome, writeOutcome } from "./pair-outcomes.js";
import { section } from "./section.js";
import { filterLink, taskLink } from "./view-state.js";

/** Returns the options of the outcome filter: the verdicts on each run, and tasks that differ between any two runs. */
export function outcomeOptions({ comparisons, runs }: ReportHead): string[] {
  const compared = comparisons.flatMap(({ candidate, headline }) => {
    const runId = runs[candidate]?.runId;
    return headline === null || runId === undefined ? [] : [{ runId, metric: headline }];
  });
  const metrics = [...new Set(compared.map(({ metric }) => metric))];
  return [
    ...metrics.map((metric) => writeOutcome({ outcome: "differs", runId: null, metric })),
    ...compared.flatMap(({ runId, metric }) =>
      (["won", "lost", "tied"] as const).map((outcome) => writeOutcome({ outcome, runId, metric })),
    ),
  ];
}

/** Describes a filter value, such as `where they disagree (Word overlap)` or `won by LABEL (Word overlap)`. */
export function outcomeWords(value: string, { runs, scores }: ReportHead): string {
  const filter = readOutcome(value);
  if (filter === null) return value;
  const label = scores.find(({ name }) => name === filter.metric)?.label ?? filter.metric;
  const run = runs.find(({ runId }) => runId === filter.runId)?.label ?? filter.runId;
  if (filter.outcome === "differs") {
    const who = runs.length === 2 ? "they disagree" : run === null ? "any of them disagree" : `${run} disagrees`;
    return `where ${who} (${label})`;
  }
  return `${filter.outcome} by ${run ?? "any"} (${label})`;
}

/** Compares each run with the first: the verdict in words, the figures, and the tasks with different scores. */
export function comparisonSection(head: ReportHead): HTMLElement {
  return section(
    "Comparison",
    "Each run compared with the first, over the tasks with a value in both. A difference counts if its 95% interval excludes 0 and p is below 0.05.",
    ...head.comparisons.map((comparison) => comparedRun(comparison, head)),
    ...tradeOffs(head),
  );
}

/** The selected score against cost and time. */
function tradeOffs(head: ReportHead): HTMLElement[] {
  const first = head.comparisons.find(({ headline }) => headline !== null)?.headline ?? head.leading;
  const chooser = scoreChooser(head, { name: "Score against cost", first }, (score) => [
    h("div.pair", ...[COST, LATENCY].map((price) => figureOf(tradeOffChart(head, score, price)))),
  ]);
  return [h("h3", "Score against cost and time"), ...chooser];
}

function comparedRun(comparison: ReportComparison, head: ReportHead): HTMLElement {
  const against = h("span.meta", " against ");
  return h(
    "div.run-block",
    h("h3", ...runName(comparison.candidate, head), against, ...runName(0, head)),
    ...findings(comparison, head),
  );
}

function findings(comparison: ReportComparison, head: ReportHead): Child[] {
  const { candidate, metrics, headline, incomparable, questions } = comparison;
  if (incomparable.length > 0) {
    const differences = untrustedInline(incomparable.join("; "));
    return [h("p.finding", "The runs cannot be compared because they differ in ", differences, ".")];
  }
  const noun: TaskNoun = comparison.ungraded === null ? "question" : "task";
  if (questions.common === 0) return [h("p.finding", `The runs have no ${noun} in common.`)];
  const metric = metrics.find((each) => each.metric === headline);
  return [
    metric === undefined
      ? null
      : h("p", { class: `finding verdict-${verdictOf(metric) ?? "open"}` }, verdictSentence(metric, noun)),
    h("p.meta", untrustedInline(coverageText(comparison, head.runs, noun))),
    comparisonTable(comparison, head.runs, noun),
    ...onlyInLines(comparison.onlyIn).map((line) => h("p.meta", untrustedInline(line))),
    settingsTable(comparison, head.runs),
    metric === undefined ? null : differencesLink(metric, head.runs[candidate]?.runId ?? null, noun),
  ];
}

/** A link to the tasks with different scores, which the matrix shows side by side. Null if there are none. */
function differencesLink({ metric, wins, losses }: MetricComparison, runId: string | null, noun: TaskNoun): Child {
  const href = filterLink({ compared: writeOutcome({ outcome: "differs", runId, metric }) });
  const many = wins + losses;
  return many === 0 ? null : h("p", h("a", { href }, `${counted(many, noun)} with different scores`));
}

function coverageText(
  { questions, clusters, ungraded, candidate }: ReportComparison,
  runs: readonly RunFigures[],
  noun: TaskNoun,
): string {
  const [before, after] = sideNames(runs, candidate);
  const { common, onlyBaseline, onlyCandidate } = questions;
  return factLine(
    `${counted(common, noun)} in both`,
    onlyBaseline === 0 ? null : `${count(onlyBaseline)} only in ${before}`,
    onlyCandidate === 0 ? null : `${count(onlyCandidate)} only in ${after}`,
    ungraded === null || ungraded.baseline + ungraded.candidate === 0
      ? null
      : `not graded: ${count(ungraded.baseline)} in ${before}, ${count(ungraded.candidate)} in ${after}`,
    clustersText(clusters, common),
  );
}

/**
 * The runs' answers to a task, side by side. Words that differ from the first answer are marked (with two answers, in
 * both), except in a good answer. `tasks` contains one task per run. `shown` is the task whose conversation is shown,
 * and the others are links.
 */
export function answerColumns(
  tasks: readonly Task[],
  shown: Task | null,
  metric: string,
  head: ReportHead,
): HTMLElement[] {
  return tasks.map((task, i) => {
    const label = untrustedInline(head.runs[task.run]?.label ?? "");
    const other = i > 0 ? tasks[0] : tasks.length === 2 ? tasks[1] : undefined;
    const link = task === shown ? label : h("a", { href: taskLink(task, head) }, label);
    const score = h("span.figure", scoreText(scoreOf(task, metric, head)));
    return outcomeSection(task, [runDot(task.run), link, " ", score], outcomeBody(task, other));
  });
}

export function outcomeBody(task: Task, other: Task | undefined): HTMLElement {
  const text = outcomeText(task);
  if (text === "") return h("p.meta", "no answer");
  const otherText = other === undefined || task.outcome === "high" ? text : outcomeText(other);
  if (otherText === text) return untrustedText(text);
  return markDifferences(text, otherText) ?? h("div.text", { dir: "auto" }, h("mark", text));
}

/** Returns the answer to a question, or the state of a suite task and the reason why it is not solved. */
function outcomeText({ answer, error, suite }: Task): string {
  if (suite === null) return answer === "" ? (error ?? "") : answer;
  return [stateWords(suite.state), suite.reason].filter((part) => part !== "").join(": ");
}

/**
 * The metrics of a run compared with the first run: both means, the difference, its p-value, and the number of changed
 * tasks.
 */
function comparisonTable(
  { metrics, outcomes, candidate }: ReportComparison,
  runs: readonly RunFigures[],
  noun: TaskNoun,
): HTMLElement {
  const [before, after] = sideNames(runs, candidate);
  const side = (run: number, name: string) => ({ name, head: [h("span.side", runDot(run), untrustedInline(name))] });
  const columns = [
    "Metric",
    "Pairs",
    side(0, before),
    side(candidate, after),
    "Difference (95%)",
    "p",
    "Won, lost, tied",
    "Verdict",
  ];
  const runId = runs[candidate]?.runId ?? "";
  const rows = metrics.map((metric) => ({
    label: [metric.label],
    cells: metricCells(metric, noun, outcomes[metric.metric] === undefined ? null : runId),
  }));
  return figureTable({ className: "compared", caption: `${after} against ${before}`, columns }, rows);
}

function sideNames(runs: readonly RunFigures[], candidate: number): readonly [string, string] {
  return [runs[0]?.label ?? "", runs[candidate]?.label ?? ""];
}

/** The settings that differ, with both values, or null if all are equal. */
function settingsTable({ settings, candidate }: ReportComparison, runs: readonly RunFigures[]): HTMLElement | null {
  if (settings.length === 0) return null;
  const hasTools = settings.some(({ name }) => name === "tools");
  // The digest explains a difference only if the names of the tools are the same.
  const shown = settings.filter(({ name }) => name !== "toolsDigest" || !hasTools);
  const rows = shown.map(({ name, baseline, candidate: other }) => ({
    label: [name.replace(/[A-Z]/g, (letter) => ` ${letter.toLowerCase()}`)],
    cells: [[untrustedInline(baseline)], [untrustedInline(other)]],
  }));
  const columns = ["Setting", ...sideNames(runs, candidate)];
  return figureTable({ className: "of-words", caption: "Settings that differ", columns }, rows);
}

/** The numbers of tasks link to the tasks of `runId`, unless it is null. */
function metricCells(metric: MetricComparison, noun: TaskNoun, runId: string | null): (readonly Child[])[] {
  const { label, baseline, candidate, difference, p, wins, losses, ties } = metric;
  const format = metricFormat(metric.metric);
  const text = (value: number | null) => (value === null ? "–" : format(value));
  const tasks = (outcome: PairOutcome, number: number): Child => {
    if (runId === null || number === 0) return count(number);
    const href = filterLink({ compared: writeOutcome({ outcome, runId, metric: metric.metric }) });
    return h("a", { href, "aria-label": `${count(number)} ${outcome}, ${label}; show them` }, count(number));
  };
  return [
    [count(difference.n)],
    [text(baseline)],
    [text(candidate)],
    [differenceText(difference, format)],
    [pText(p)],
    [tasks("won", wins), ", ", tasks("lost", losses), ", ", tasks("tied", ties)],
    [h("span", { class: `verdict-${verdictOf(metric) ?? "open"}` }, significanceText(metric, noun))],
  ];
}
