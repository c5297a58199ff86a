// A run or a report as GitHub Markdown, for step summaries and pull requests.
import type { Gate } from "../analysis/gate.js";
import type { RunHead } from "../analysis/paired-comparison.js";
import type { ReliabilityOfRun } from "../analysis/reliability.js";
import { stripControls } from "../platform/control-characters.js";
import { compact } from "../platform/optional-values.js";
import { count, counted, duration, share, usd } from "../text/format.js";
import { headlineFirst } from "../traces/headline-score.js";
import type { TaskResult } from "../traces/task-result.js";
import { SLICES, type SliceName } from "../traces/task-slices.js";
import {
  clustersText,
  endingsText,
  failedAsWrong,
  failedAsWrongText,
  metricCells,
  oneLine,
  onlyInLines,
  runCostText,
  runTitle,
  SLICE_TITLES,
  significanceText,
  stateName,
  type TaskNoun,
  untilText,
  verdictSentence,
  workTime,
} from "./figure-text.js";
import { definitionsOf, reliabilityTitle } from "./reliability-text.js";
import type { EvalFigures, Figure, ReportComparison, ReportHead, RunFigures, SuiteFigures } from "./report-data.js";
import { gateText } from "./run-text.js";
import { durationRows, leftOut, pairCells, statesText, stepRows } from "./suite-text.js";
import { type OutcomeScore, taskOutcome } from "./task-outcome.js";

type ReportFigures = Omit<ReportHead, "traces" | "comparisons"> & {
  readonly comparisons: readonly Omit<ReportComparison, "outcomes">[];
};

/** Maximum tasks, and characters of each text. GitHub limits a step summary to 1 MiB. */
const SHOWN_TASKS = 20;
const SHOWN_TEXT = 200;

/**
 * Formats a run as Markdown for a GitHub step summary: totals, gates, and the first tasks that are wrong by `scorer`.
 */
export function stepSummary(
  run: RunHead,
  gates: readonly Gate[],
  score: OutcomeScore,
  results: Iterable<TaskResult>,
): string {
  const cost = runCostText(run);
  const time = workTime(run);
  return `${compact([
    `### ART-E: ${escapeSummary(runTitle(run))}`,
    "",
    `Run ${escapeSummary(run.runId)}: ${count(run.completedTasks)} of ${counted(run.totalTasks, "task")} completed, ${count(run.failedTasks)} failed; cost ${escapeSummary(cost)}; ${escapeSummary(time)} per task.`,
    "",
    ...gates.map((gate) => `- ${gate.passed ? ":white_check_mark:" : ":x:"} ${escapeSummary(gateText(gate))}`),
    gates.length > 0 && "",
    "| score | value | 95% interval | n | with failed as wrong |",
    "| --- | ---: | --- | ---: | ---: |",
    ...headlineFirst(run.scores)
      .flatMap((name) => run.scores[name] ?? [])
      .flatMap((score) =>
        score.micro === undefined
          ? [score]
          : [score, { label: `${score.label} over the emails of all tasks`, ...score.micro, overAll: score.micro }],
      )
      .map((score) => {
        const { label, value, low, high, n } = score;
        const interval = low === null || high === null ? "-" : `${share(low)} to ${share(high)}`;
        return `| ${escapeSummary(label)} | ${share(value)} | ${interval} | ${count(n)} | ${share(failedAsWrong(score))} |`;
      }),
    ...wrongTasks(score, results),
  ]).join("\n")}\n\n`;
}

function wrongTasks(score: OutcomeScore, results: Iterable<TaskResult>): string[] {
  const rows: string[] = [];
  let wrong = 0;
  for (const task of results) {
    const outcome = taskOutcome(task, score);
    if (outcome !== "wrong" && outcome !== "failed") continue;
    wrong++;
    if (rows.length === SHOWN_TASKS) continue;
    const answer = outcome === "failed" ? `${task.ending}: ${task.error ?? ""}` : task.agentAnswer;
    const cells = [String(task.taskId), task.question, answer, task.groundTruth];
    rows.push(`| ${cells.map(escapeSummary).join(" | ")} |`);
  }
  if (wrong === 0) return [];
  const which = wrong > rows.length ? `, the first ${rows.length}` : "";
  return [
    "",
    `<details><summary>${count(wrong)} wrong or failed by ${escapeSummary(score.scorer)}${which}</summary>`,
    "",
    "| task | question | answer | gold |",
    "| ---: | --- | --- | --- |",
    ...rows,
    "",
    "</details>",
  ];
}

/** Makes untrusted text safe in Markdown tables and HTML: on one line, with punctuation as entities. */
function escapeSummary(value: string): string {
  const line = oneLine(stripControls(value.toWellFormed()), SHOWN_TEXT);
  return line.replace(/[!-+./:-@[-`{-~]/g, (mark) => `&#${mark.charCodeAt(0)};`);
}

/** Returns the figures of a report as JSON, without the data that only its page reads. */
export function reportFigures({ traces: _, comparisons, ...figures }: ReportHead): ReportFigures {
  return { ...figures, comparisons: comparisons.map(({ outcomes: __, ...comparison }) => comparison) };
}

function otherAgentsParts({ name, otherAgents }: EvalFigures): string[] {
  if (otherAgents === null) return [];
  const { text, advice, command } = otherAgents;
  return [`${escapeMarkdown(`${name} was ${text}. ${advice}:`)} \`${command}\``];
}

/** Maximum mailboxes, starting with those with the most tasks, because a pull request comment should be short. */
const MAX_INBOXES = 12;

/** The rates of a judge or an eval without its measured errors, if a test measured them. */
function correctedRows(score: string, label: string, runs: number, evals: ReportHead["evals"]): string[][] {
  const measured = evals.filter((one) => one.score === score && one.corrected !== null);
  if (measured.length === 0) return [];
  const figures = Array.from({ length: runs }, (_, run) => measured.find((one) => one.run === run)?.corrected);
  return [[`${label}, corrected by people's labels`, ...figures.map((figure) => (figure ? figureText(figure) : "-"))]];
}

/** Formats a report as GitHub Markdown for a pull request. */
export function markdownReport({ runs, scores, leading, evals, comparisons, reliability }: ReportHead): string {
  const leader = scores.find(({ name }) => name === leading);
  return [
    `## ART-E: ${runs.map(({ label }) => escapeMarkdown(label)).join(", ")}`,
    table(["", ...runs.map(({ label }) => label)], headlines(runs)),
    `Scores over the ${runs.every(({ suite }) => suite === null) ? "completed" : "completed or graded"} tasks, with 95% intervals and the number of tasks.`,
    table(
      ["Score", ...runs.map(({ label }) => label)],
      [...scores]
        .sort((a, b) => Number(b.name === leading) - Number(a.name === leading))
        .flatMap(({ name, label, better }) => [
          [
            better === "lower" ? `${label} (lower is better)` : label,
            ...runs.map(({ scores: figures }) => `${figureText(figures[name])}${failedAsWrongText(figures[name])}`),
          ],
          ...correctedRows(name, label, runs.length, evals),
        ]),
    ),
    ...evals.flatMap(otherAgentsParts),
    ...comparisons.flatMap((comparison) => comparisonParts(comparison, runs)),
    ...reliability.flatMap(reliabilityParts),
    ...runs.flatMap((run) => errorsAndTools(run, runs.length > 1)),
    ...runs.flatMap((run) => suiteParts(run, runs.length > 1)),
    ...(leader === undefined ? [] : SLICES.flatMap((by) => sliceTable(by, leader, runs))),
    "",
  ].join("\n\n");
}

function headlines(runs: readonly RunFigures[]): string[][] {
  const line = (label: string, read: (run: RunFigures) => string) => [label, ...runs.map(read)];
  const ms = (value: number | null) => (value === null ? "-" : duration(value));
  return compact([
    line("Run", ({ runId }) => `\`${runId}\``),
    // The heading already contains it for a run without a name.
    !runs.every(({ name }) => name === null) && line("Agent", ({ agentId, model }) => `${agentId} · ${model}`),
    !runs.every(({ answeredBy }) => answeredBy.length === 0) &&
      line("Answered by", ({ answeredBy, model }) => answeredBy.join(", ") || model),
    line("Tasks", ({ tasks, failed }) => `${count(tasks)}${failed === 0 ? "" : `, ${count(failed)} failed`}`),
    !runs.every(({ until }) => until === null) &&
      line("Until", ({ until }) => (until === null ? "-" : escapeMarkdown(untilText(until)))),
    line("Cost", (run) => runCostText(run)),
    line("Agent cost per 1,000 tasks", ({ costUsd, tasks }) =>
      costUsd === null || tasks === 0 ? "-" : usd((costUsd / tasks) * 1_000),
    ),
    line(
      "Time per task (model and tools)",
      ({ latency }) => `${ms(latency.mean)} (median ${ms(latency.p50)}, 95th percentile ${ms(latency.p95)})`,
    ),
    line("Waiting per task", ({ latency }) => ms(latency.waiting)),
    line("Endings", ({ endings }) => endingsText(endings)),
    ...(runs.every(({ suite }) => suite === null)
      ? []
      : [
          line("Graded", ({ suite, tasks }) => (suite === null ? "-" : `${count(suite.graded)} of ${count(tasks)}`)),
          line("States", ({ suite }) => (suite === null ? "-" : statesText(suite.states))),
        ]),
  ]);
}

function errorsAndTools({ label, errors, refusals, tools }: RunFigures, hasSeveralRuns: boolean): string[] {
  const of = hasSeveralRuns ? ` of ${label}` : "";
  const failed = errors.map(({ message, tasks }) => [count(tasks), message]);
  const rows = refusals.map(({ message, tasks }) => [count(tasks), message]);
  const used = tools.map(({ name, calls, errors: failures }) => [name, count(calls), count(failures)]);
  return compact([
    failed.length > 0 && details(`Errors${of}`, table(["Tasks", "Error"], failed)),
    rows.length > 0 && details(`Refusals${of}`, table(["Tasks", "Reason"], rows)),
    used.length > 0 && details(`Tools${of}`, table(["Tool", "Calls", "Refused or failed"], used)),
  ]);
}

function sliceTable(by: SliceName, leader: ReportHead["scores"][number], runs: readonly RunFigures[]): string[] {
  const title = SLICE_TITLES[by];
  const labels = [...new Set(runs.flatMap((run) => (run.slices[by] ?? []).map(({ label }) => label)))];
  if (labels.length === 0) return [];
  const listedLabels = by === "inbox" ? labels.slice(0, MAX_INBOXES) : labels;
  const rows = listedLabels.map((label) => [
    label,
    ...runs.map((run) => figureText(run.slices[by]?.find((slice) => slice.label === label)?.scores[leader.name])),
  ]);
  const hidden = labels.length - listedLabels.length;
  const more = hidden === 0 ? "" : `\n\n${count(hidden)} more mailboxes are not shown.`;
  return [
    details(`${leader.label} by ${title.toLowerCase()}`, table([title, ...runs.map((run) => run.label)], rows) + more),
  ];
}

function figureText(figure: Figure | undefined): string {
  if (figure === undefined || figure.value === null) return "-";
  const { value, low, high, n } = figure;
  const interval = low === null || high === null ? "" : `${share(low)} to ${share(high)}; `;
  return `${share(value)} (${interval}n ${count(n)})`;
}

/** Details of a suite run: failures, steps, and the comparison of abstract with verbose instructions. */
function suiteParts({ label, suite }: RunFigures, hasSeveralRuns: boolean): string[] {
  if (suite === null) return [];
  const of = hasSeveralRuns ? ` of ${label}` : "";
  const profile = suite.profile.map(({ state, band, tasks }) => [stateName(state), band, count(tasks)]);
  const [steps, times] = [stepRows(suite), durationRows(suite)];
  return [
    details(`Abstract and verbose instructions${of}`, pairTable(suite.guidance)),
    details(`States by score${of}`, table(["State", "Score", "Tasks"], profile)),
    details(`Steps${of}`, table(["Human actions", "Tasks", "Actions per task", "Turns", "Tool calls"], steps)),
    details(`Model and tool time${of}`, table(["Tool", "Tasks", "Mean", "Median", "95th percentile"], times)),
  ];
}

function pairTable({ metrics, ...guidance }: SuiteFigures["guidance"]): string {
  const rows = metrics.map((metric) => [
    ...pairCells(metric),
    [metric.wins, metric.losses, metric.ties].map(count).join(", "),
  ]);
  const columns = ["Score", "Pairs", "Abstract", "Verbose", "Difference (95%)", "p", "Verbose better, worse, same"];
  return [table(columns, rows), ...leftOut(guidance)].join("\n\n");
}

const COLUMNS = ["", "n", "Before", "After", "Difference (95%)", "p", "Won, lost, tied", "Verdict"];

/** Formats the comparison of a run with the first: the verdict in words, and every metric. */
function comparisonParts(comparison: ReportComparison, runs: readonly RunFigures[]): string[] {
  const { candidate, headline, incomparable, questions, clusters, metrics, onlyIn } = comparison;
  const noun: TaskNoun = comparison.ungraded === null ? "question" : "task";
  const title = `### ${[candidate, 0].map((run) => escapeMarkdown(runs[run]?.label ?? "")).join(" against ")}`;
  if (incomparable.length > 0) {
    return [title, `The runs cannot be compared because they differ in ${escapeMarkdown(incomparable.join("; "))}.`];
  }
  if (questions.common === 0) return [title, `The runs have no ${noun} in common.`];
  const rows = metrics.map((metric) => [
    ...metricCells(metric),
    [metric.wins, metric.losses, metric.ties].map(count).join(", "),
    significanceText(metric, noun),
  ]);
  const first = metrics.find(({ metric }) => metric === headline);
  const dependent = clustersText(clusters, questions.common);
  return compact([
    title,
    first !== undefined && escapeMarkdown(verdictSentence(first, noun)),
    dependent !== null && `${dependent}.`,
    table(COLUMNS, rows),
    ...onlyInLines(onlyIn).map(escapeMarkdown),
  ]);
}

function reliabilityParts(card: ReliabilityOfRun): string[] {
  const figures = card.rows.map(({ dimension, name, estimate }) => [`${dimension}: ${name}`, figureText(estimate)]);
  const definitions = definitionsOf(card).map(({ dimension, term, text }) => [`${dimension}: ${term}`, text]);
  return [
    `### ${escapeMarkdown(reliabilityTitle(card))}`,
    table(["", "Value"], figures),
    ...card.missing.map(escapeMarkdown),
    details("Definitions", table(["", "Definition"], definitions)),
  ];
}

/** A collapsed section. */
function details(summary: string, body: string): string {
  return `<details><summary>${escapeMarkdown(summary)}</summary>\n\n${body}\n\n</details>`;
}

function table(heading: readonly string[], rows: readonly (readonly string[])[]): string {
  const line = (cells: readonly string[]) => `| ${cells.map(cell).join(" | ")} |`;
  const rule = `| ${heading.map((_, i) => (i === 0 ? "---" : "---:")).join(" | ")} |`;
  return [line(heading), rule, ...rows.map(line)].join("\n");
}

/** Run ids remain code. Everything else is escaped. */
function cell(text: string): string {
  return /^`[\w-]+`$/.test(text) ? text : escapeMarkdown(text);
}

/** Puts untrusted text (model names, errors, addresses) on one line, without markup, links or mentions. */
function escapeMarkdown(text: string): string {
  return stripControls(text)
    .replace(/\s+/g, " ")
    .replace(/[\\`*~[\]|<>&#]|(?<![a-z0-9])_|_(?![a-z0-9])/gi, (character) => `&#${character.charCodeAt(0)};`)
    .replace(/@/g, "&#64;")
    .replace(/:\/\//g, "&#58;//");
}
