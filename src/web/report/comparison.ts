import type * as DiffLibrary from "diff";
import type { MetricComparison } from "../../analysis/paired-comparison.js";
import type { ReportComparison, ReportHead, RunFigures } from "../../reports/report-data.js";
import {
  differenceText,
  metricFormat,
  pText,
  significanceText,
  type TaskNoun,
  verdictSentence,
} from "../../reports/wording.js";
import { count } from "../../text/format.js";
import { type Child, factLine, h, scoreText, untrustedInline, untrustedText } from "../dom.js";
import { COST, figureOf, LATENCY, scoreChooser, tradeOffChart } from "./charts.js";
import { figureTable } from "./figure-table.js";
import { outcomeColour, runDot, runName, stateWords } from "./header.js";
import { scoreOf, type Task } from "./load.js";
import { type PairOutcome, type PairOutcomes, readOutcome, writeOutcome } from "./pair-outcomes.js";
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

/** Describes a filter value, such as `where they disagree (Semantic score)` or `won by LABEL (Semantic score)`. */
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
export function comparisonSection(head: ReportHead, outcomes: PairOutcomes): HTMLElement {
  return section(
    "Comparison",
    "Each run compared with the first, over the tasks with a value in both. A difference counts if its 95% interval excludes 0 and p is below 0.05.",
    ...head.comparisons.map((comparison) => comparedRun(comparison, head, outcomes)),
    ...tradeOffs(head),
  );
}

/** The selected score against cost and time. */
function tradeOffs(head: ReportHead): HTMLElement[] {
  const first = head.comparisons.find(({ headline }) => headline !== null)?.headline ?? head.leading;
  const chooser = scoreChooser(head, { name: "Score against cost", first }, (score) => [
    h("div", { class: "pair" }, ...[COST, LATENCY].map((price) => figureOf(tradeOffChart(head, score, price)))),
  ]);
  return [h("h3", {}, "Score against cost and time"), ...chooser];
}

function comparedRun(comparison: ReportComparison, head: ReportHead, outcomes: PairOutcomes): HTMLElement {
  const against = h("span", { class: "meta" }, " against ");
  return h(
    "div",
    { class: "run-block" },
    h("h3", {}, ...runName(comparison.candidate, head), against, ...runName(0, head)),
    ...findings(comparison, head, outcomes),
  );
}

function findings(comparison: ReportComparison, head: ReportHead, outcomes: PairOutcomes): Child[] {
  const { candidate, metrics, headline, incomparable, questions } = comparison;
  if (incomparable.length > 0) {
    const differences = untrustedInline(incomparable.join("; "));
    return [h("p", { class: "finding" }, "The runs cannot be compared because they differ in ", differences, ".")];
  }
  const noun: TaskNoun = comparison.ungraded === null ? "question" : "task";
  if (questions.common === 0) return [h("p", { class: "finding" }, `The runs have no ${noun} in common.`)];
  const metric = metrics.find((each) => each.metric === headline);
  return [
    metric === undefined
      ? null
      : h("p", { class: `finding verdict-${metric.verdict ?? "open"}` }, verdictSentence(metric, noun)),
    h("p", { class: "meta" }, untrustedInline(coverageText(comparison, noun))),
    comparisonTable(comparison, head.runs, noun),
    settingsTable(comparison, head.runs),
    ...(headline === null ? [] : disagreements(candidate, headline, head, outcomes)),
  ];
}

function coverageText({ questions, ungraded }: ReportComparison, noun: TaskNoun): string {
  const { common, onlyBaseline, onlyCandidate } = questions;
  const many = (number: number) => `${count(number)} ${noun}${number === 1 ? "" : "s"}`;
  return factLine(
    `${many(common)} in both`,
    onlyBaseline === 0 ? null : `${count(onlyBaseline)} only in the first`,
    onlyCandidate === 0 ? null : `${count(onlyCandidate)} only in the second`,
    ungraded === null || ungraded.baseline + ungraded.candidate === 0
      ? null
      : `not graded: ${count(ungraded.baseline)} in the first, ${count(ungraded.candidate)} in the second`,
  );
}

/** Maximum number of lost and of won tasks to show. */
const SHOWN = 3;

/** Tasks with different scores in the run and the first run, largest differences first, with both answers. */
function disagreements(candidate: number, metric: string, head: ReportHead, outcomes: PairOutcomes): Child[] {
  const runId = head.runs[candidate]?.runId ?? null;
  const scoreIn = (task: Task) => scoreOf(task, metric, head) ?? 0;
  const sides = (["lost", "won"] as const).map((outcome) => {
    const pairs = outcomes.taskIds(outcome, candidate, metric).flatMap((taskId) => {
      const [first, second] = outcomes.sameTask(taskId, 1, [0, candidate]);
      if (first === undefined || second === undefined) return [];
      return [{ first, second, gap: Math.abs(scoreIn(second) - scoreIn(first)) }];
    });
    return { outcome, pairs: pairs.toSorted((a, b) => b.gap - a.gap) };
  });
  const total = sides.reduce((sum, { pairs }) => sum + pairs.length, 0);
  if (total === 0) return [];
  const all = filterLink({ compared: writeOutcome({ outcome: "differs", runId, metric }) });
  return [
    h("h4", {}, "Disagreements"),
    ...sides.flatMap(({ outcome, pairs }) =>
      pairs.slice(0, SHOWN).map(({ first, second }) => disagreement(outcome, [first, second], metric, head)),
    ),
    h("p", {}, h("a", { href: all }, `All ${count(total)} in the table`)),
  ];
}

function disagreement(outcome: "lost" | "won", pair: readonly [Task, Task], metric: string, head: ReportHead): Child {
  const [first, second] = pair;
  return h(
    "article",
    { class: "disagreement" },
    h(
      "p",
      {},
      h("span", { class: `badge badge-${outcome}` }, outcome),
      " ",
      h("a", { href: taskLink(second, head) }, untrustedInline(questionOf(first))),
    ),
    h("div", { class: "answers" }, ...answerColumns(pair, null, metric, head)),
    first.suite === null ? h("p", { class: "meta" }, "Gold answer: ", untrustedInline(first.gold)) : null,
  );
}

/** Returns the first line, which is enough to recognize a long instruction. */
function questionOf({ question }: Task): string {
  const [line = ""] = question.split("\n");
  return line.length <= 200 ? line : `${line.slice(0, 199)}…`;
}

/**
 * The runs' answers to a task, side by side. Words that differ from the first answer are marked (with two answers, in
 * both). `tasks` contains one task per run. `shown` is the task whose conversation is shown, and the others are links.
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
    return h(
      "section",
      { class: "outcome-edge", style: `border-left-color: ${outcomeColour(task.outcome)}` },
      h(
        "h3",
        {},
        runDot(task.run),
        task === shown ? label : h("a", { href: taskLink(task, head) }, label),
        " ",
        h("span", { class: "figure" }, scoreText(scoreOf(task, metric, head))),
      ),
      outcomeBody(task, other),
    );
  });
}

function outcomeBody(task: Task, other: Task | undefined): HTMLElement {
  const text = outcomeText(task);
  if (text === "") return h("p", { class: "meta" }, "no answer");
  return other === undefined ? untrustedText(text) : markDifferences(text, outcomeText(other));
}

/** Returns the answer to a question, or the state of a suite task and the reason why it is not solved. */
function outcomeText({ answer, error, suite }: Task): string {
  if (suite === null) return answer === "" ? (error ?? "") : answer;
  return [stateWords(suite.state), suite.reason].filter((part) => part !== "").join(": ");
}

declare global {
  /** The page loads this library before this script. */
  const Diff: Pick<typeof DiffLibrary, "diffWords">;
}

/** Maximum number of different words. Texts with more differences have little in common and are shown without marks. */
const MAX_DIFFERENT_WORDS = 300;

/** Shows a text and marks the words that the other text does not contain. */
function markDifferences(text: string, other: string): HTMLElement {
  const parts = Diff.diffWords(other, text, { maxEditLength: MAX_DIFFERENT_WORDS });
  const isAlike = parts?.some(({ added, removed, value }) => !added && !removed && value.trim() !== "") ?? false;
  if (parts === undefined || !isAlike) return untrustedText(text);
  const marked = untrustedText("");
  for (const { value, added, removed } of parts) {
    if (!removed) marked.append(added && value.trim() !== "" ? h("mark", {}, value) : h("span", {}, value));
  }
  return marked;
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
  const [before, after] = [runs[0]?.label ?? "", runs[candidate]?.label ?? ""];
  const [baselineName, candidateName] = sideNames(runs, candidate);
  const side = (name: string, run: number, label: string) => ({
    name,
    head: [h("span", { title: label }, runDot(run), name, h("span", { class: "hidden" }, `: ${label}`))],
  });
  const columns = [
    "Metric",
    "Pairs",
    side(baselineName, 0, before),
    side(candidateName, candidate, after),
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
  return figureTable({ className: "compared", caption: `${after} against ${before}`, columns }, [
    { label: null, rows },
  ]);
}

/** Two runs of one agent are compared before and after a change. Other runs have no order. */
function sideNames(runs: readonly RunFigures[], candidate: number): readonly [string, string] {
  return runs[0]?.agentId === runs[candidate]?.agentId ? ["Before", "After"] : ["A", "B"];
}

/** The settings that differ, with both values, or null if all are equal. */
function settingsTable({ settings, candidate }: ReportComparison, runs: readonly RunFigures[]): HTMLElement | null {
  if (settings.length === 0) return null;
  const rows = settings.map(({ name, baseline, candidate: other }) => ({
    label: [name],
    cells: [[untrustedInline(baseline)], [untrustedInline(other)]],
  }));
  const columns = ["Setting", ...sideNames(runs, candidate)];
  return figureTable({ className: "settings", caption: "Settings that differ", columns }, [{ label: null, rows }]);
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
    [h("span", { class: `verdict-${metric.verdict ?? "open"}` }, significanceText(metric, noun))],
  ];
}
