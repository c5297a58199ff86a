import { SLICES, type SliceName } from "../../domain/runs/slice.js";
import type { Figure, ReportHead, RunFigures } from "../page/report-data.js";
import { count, duration, share, usd } from "../text/format-number.js";
import { statesText } from "../text/suite/task-states-text.js";
import { comparisonParts } from "./markdown-comparison.js";
import { suiteParts } from "./markdown-suite.js";
import { details, escapeMarkdown, table } from "./markdown-table.js";

/** Mailboxes listed, those with the most tasks first: a pull request comment should stay short. */
const MAX_INBOXES = 12;

const SLICE_TITLES: Readonly<Record<SliceName, string>> = {
  inbox: "Mailbox",
  realism: "Realism",
  sources: "Gold mails",
  year: "Year",
  tool: "Tool",
  difficulty: "Actions of a person",
  guidance: "Instruction",
  app: "Application",
  tag: "Tag",
};

/** A report as GitHub Markdown, for a pull request. */
export function markdownReport({ runs, scores, leading, comparisons }: ReportHead): string {
  const leader = scores.find(({ name }) => name === leading);
  return [
    `## ART-E: ${runs.map(({ label }) => escapeMarkdown(label)).join(", ")}`,
    table(["", ...runs.map(({ label }) => label)], headlines(runs)),
    `Scores over the ${runs.every(({ suite }) => suite === null) ? "completed" : "completed or graded"} tasks, with their 95 % intervals and the number of tasks they are taken over.`,
    table(
      ["Score", ...runs.map(({ label }) => label)],
      scores.map(({ name, label, better }) => [
        better === "lower" ? `${label} (lower is better)` : label,
        ...runs.map((run) => figureText(run.scores[name])),
      ]),
    ),
    ...comparisons.flatMap((comparison) => comparisonParts(comparison, runs)),
    ...runs.flatMap((run) => errorsAndTools(run, runs.length > 1)),
    ...runs.flatMap((run) => suiteParts(run, runs.length > 1)),
    ...(leader === undefined ? [] : SLICES.flatMap((by) => sliceTable(by, leader, runs))),
    "",
  ].join("\n\n");
}

function headlines(runs: readonly RunFigures[]): string[][] {
  const line = (label: string, read: (run: RunFigures) => string) => [label, ...runs.map(read)];
  const ms = (value: number | null) => (value === null ? "-" : duration(value));
  return [
    line("Run", ({ runId }) => `\`${runId}\``),
    // In the heading of a run without a name.
    ...(runs.every(({ name }) => name === null)
      ? []
      : [line("Agent", ({ agentId, model }) => `${agentId} · ${model}`)]),
    ...(runs.every(({ answeredBy }) => answeredBy.length === 0)
      ? []
      : [line("Answered by", ({ answeredBy, model }) => answeredBy.join(", ") || model)]),
    line("Tasks", ({ tasks, failed }) => `${count(tasks)}${failed === 0 ? "" : `, ${count(failed)} failed`}`),
    line("Cost", ({ costUsd }) => usd(costUsd)),
    line("Cost of 1,000 tasks", ({ costUsd, tasks }) =>
      costUsd === null || tasks === 0 ? "-" : usd((costUsd / tasks) * 1_000),
    ),
    line("Model and tool time per task, median and 95 %", ({ latency }) => `${ms(latency.p50)}, ${ms(latency.p95)}`),
    line("Waiting per task", ({ latency }) => ms(latency.waiting)),
    line("Endings", ({ endings }) => endingsText(endings)),
    ...(runs.every(({ suite }) => suite === null)
      ? []
      : [
          line("Graded", ({ suite, tasks }) => (suite === null ? "-" : `${count(suite.graded)} of ${count(tasks)}`)),
          line("States", ({ suite }) => (suite === null ? "-" : statesText(suite.states))),
        ]),
  ];
}

function endingsText(counts: Readonly<Record<string, number>>): string {
  const entries = Object.entries(counts).sort(([, a], [, b]) => b - a);
  return entries.map(([name, tasks]) => `${name} ${count(tasks)}`).join(", ") || "-";
}

function errorsAndTools({ label, errors, tools }: RunFigures, hasSeveralRuns: boolean): string[] {
  const of = hasSeveralRuns ? ` of ${label}` : "";
  const failed = errors.map(({ message, tasks }) => [count(tasks), message]);
  const used = tools.map(({ name, calls, errors: failures }) => [name, count(calls), count(failures)]);
  return [
    ...(failed.length === 0 ? [] : [details(`Errors${of}`, table(["Tasks", "Error"], failed))]),
    ...(used.length === 0 ? [] : [details(`Tools${of}`, table(["Tool", "Calls", "Refused or failed"], used))]),
  ];
}

function sliceTable(by: SliceName, leader: ReportHead["scores"][number], runs: readonly RunFigures[]): string[] {
  const title = SLICE_TITLES[by];
  const labels = [...new Set(runs.flatMap((run) => (run.slices[by] ?? []).map(({ label }) => label)))];
  if (labels.length === 0) return [];
  const shown = by === "inbox" ? labels.slice(0, MAX_INBOXES) : labels;
  const rows = shown.map((label) => [
    label,
    ...runs.map((run) => figureText(run.slices[by]?.find((slice) => slice.label === label)?.scores[leader.name])),
  ]);
  const hidden = labels.length - shown.length;
  const more = hidden === 0 ? "" : `\n\n${count(hidden)} further mailboxes are not shown.`;
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
