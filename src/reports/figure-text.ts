// Text of figures that several reports share: verdicts, estimates, costs, times and run titles.
import type { MetricComparison, RunComparison, RunHead, SequentialFigures } from "../analysis/paired-comparison.js";
import { type Clustering, MIN_MAILBOXES } from "../analysis/question-clusters.js";
import type { JsonValue } from "../platform/json.js";
import { compact } from "../platform/optional-values.js";
import type { Estimate } from "../statistics/estimate.js";
import { taskKindOf } from "../tasks/task-kind.js";
import { count, counted, duration, estimate, share, table, truncated, usd } from "../text/format.js";
import type { Headline } from "../traces/headline-score.js";
import type { RunTotals } from "../traces/run-totals.js";
import type { SliceName } from "../traces/task-slices.js";

type MeanTimes = Pick<RunHead, "avgModelTimeMs" | "avgToolTimeMs" | "avgWaitingTimeMs">;

/** The noun for the compared tasks: `task` for suites. */
export type TaskNoun = "question" | "task";

/** A score over the completed tasks, and with failed tasks as wrong. */
interface WithFailedTasks {
  readonly n: number;
  readonly overAll: Pick<Estimate, "value" | "n">;
}

interface LabeledRun {
  readonly runId: string;
  readonly agentId: string;
  readonly model: string;
  readonly name?: string;
}

/** Formats model and tool time of a task, without waiting. */
export function workTime({ avgModelTimeMs: model, avgToolTimeMs: tools }: MeanTimes): string {
  return model === null || tools === null ? "-" : duration(model + tools);
}

/**
 * Formats `1.2 s (model 1.1 s, tools 86 ms); waiting 3.9 s`. Waiting is rate limiting and failed calls, which are not a
 * property of the agent.
 */
export function timePerTask(times: MeanTimes): string {
  const { avgModelTimeMs: model, avgToolTimeMs: tools, avgWaitingTimeMs: waiting } = times;
  if (model === null || tools === null || waiting === null) return "-";
  return `${workTime(times)} (model ${duration(model)}, tools ${duration(tools)}); waiting ${duration(waiting)}`;
}

/** Returns a score with failed tasks as wrong, or null if no failed task counts as wrong. */
export function failedAsWrong(score: WithFailedTasks | undefined): number | null {
  return score === undefined || score.overAll.n === 0 || score.overAll.n === score.n ? null : score.overAll.value;
}

/** Formats `; 0.550 with failed tasks as wrong`, or nothing if no failed task counts as wrong. */
export function failedAsWrongText(score: WithFailedTasks | undefined): string {
  const value = failedAsWrong(score);
  return value === null ? "" : `; ${share(value)} with failed tasks as wrong`;
}

/** Formats the figures next to a headline score, such as `; 0.550 with failed tasks as wrong; pass^4 0.333`. */
export function besideHeadline(headline: WithFailedTasks & Pick<Headline, "passHatK">): string {
  const { passHatK } = headline;
  const repeated = passHatK === undefined ? "" : `; pass^${passHatK.k} ${share(passHatK.value)}`;
  return `${failedAsWrongText(headline)}${repeated}`;
}

/** Formats a run's agent, with the perturbation of its tasks, such as `email-search (hostile)`. */
export function agentText(agentId: string, perturbation: string | null): string {
  return perturbation === null ? agentId : `${agentId} (${perturbation})`;
}

/** Formats a run's cost: the agent's, the judge's if there is one, and their sum if both are known. */
export function runCostText(
  { costUsd, judgeCostUsd }: { readonly costUsd: number | null; readonly judgeCostUsd: number | null },
  format: (value: number | null) => string = usd,
): string {
  if (judgeCostUsd === 0 || (costUsd === null && judgeCostUsd === null)) return format(costUsd);
  if (judgeCostUsd === null) return `${format(costUsd)} agent, judge unknown`;
  if (costUsd === null) return `${format(judgeCostUsd)} judge, agent unknown`;
  return `${format(costUsd)} agent + ${format(judgeCostUsd)} judge = ${format(costUsd + judgeCostUsd)}`;
}

export function perTask(sum: number | null, tasks: number): number | null {
  return sum === null || tasks === 0 ? null : sum / tasks;
}

/** Formats one slice of a run: a row per part, and a column per metric with intervals and denominators. */
export function sliceTable(totals: RunTotals, slice: SliceName, metrics: readonly string[]): string {
  const labels = metrics.map((name) => totals.scores[name]?.label ?? name);
  const rows = (totals.slices[slice] ?? []).map(({ value, tasks, scores }) => [
    value,
    count(tasks),
    ...metrics.map((name) => (scores[name] === undefined ? "-" : estimate(scores[name]))),
  ]);
  return table([slice, "tasks", ...labels], rows);
}

/** Cost, time and turns are not fractions and need other formats. */
const EFFORT_FORMATS: Readonly<Record<string, (value: number) => string>> = {
  costUsd: (value) => (value === 0 ? "0" : value.toPrecision(3)),
  modelAndToolTimeMs: (value) => value.toFixed(0),
  turns: (value) => value.toFixed(2),
};

/** Returns the format for a metric's values. */
export function metricFormat(metric: string): (value: number) => string {
  return EFFORT_FORMATS[metric] ?? share;
}

/** The verdict that may be read: the always-valid one if there is one. Null if it is open. */
export function verdictOf({ verdict, sequential }: MetricComparison): MetricComparison["verdict"] {
  return sequential === undefined ? verdict : (sequential?.verdict ?? null);
}

/**
 * Formats which questions the figures of a comparison are about, and which of them count as dependent.
 * @param questions number of compared questions
 */
export function clustersText({ by, n, mailboxes }: Clustering, questions: number): string | null {
  if (by === "mailbox") {
    return `Intervals and p are about questions to other mailboxes too: questions to one mailbox count as dependent (${counted(n, "mailbox", "mailboxes")})`;
  }
  const dependent = n < questions ? `${count(n)} independent groups` : null;
  if (mailboxes === 0) return dependent === null ? null : `Two wordings of a task count as dependent (${dependent})`;
  const few = `Intervals and p are only about other questions to ${mailboxes === 1 ? "this mailbox" : `these ${count(mailboxes)} mailboxes`}, because a statement about other mailboxes takes ${MIN_MAILBOXES} of about the same size`;
  return dependent === null ? few : `${few}. Questions about one email count as dependent (${dependent})`;
}

/** Names the figures that only one of two runs has. */
export function onlyInLines({ baseline, candidate }: RunComparison["onlyIn"]): string[] {
  return compact([
    baseline.length > 0 && `Unknown in the second, so not compared: ${baseline.join("; ")}.`,
    candidate.length > 0 && `Unknown in the first, so not compared: ${candidate.join("; ")}.`,
  ]);
}

/** Formats a table cell: `better`, `worse`, or the reason for a missing verdict. */
export function significanceText(metric: MetricComparison, noun: TaskNoun): string {
  const { sequential, moreQuestions, difference, metric: name } = metric;
  const verdict = verdictOf(metric);
  if (verdict !== null) return verdict;
  if (difference.n === 0) return `no ${noun} with both values`;
  if (sequential !== undefined) return sequential === null ? "not tested" : "open";
  if (difference.value === 0) return `no difference seen${possibleText(difference, metricFormat(name))}`;
  if (moreQuestions === null || moreQuestions === 0) return "could be chance";
  return `could be chance; ~${count(moreQuestions)} more ${noun}s needed`;
}

/** Formats how large a difference can be that was not seen. */
function possibleText({ low, high }: Estimate, format: (value: number) => string): string {
  return low === null || high === null ? "" : `, up to ${format(Math.max(-low, high))} possible`;
}

/** Formats the verdict on one metric as a sentence, with the figures that it is based on. */
export function verdictSentence(metric: MetricComparison, noun: TaskNoun): string {
  const always = metric.sequential == null ? "" : ` ${alwaysValidSentence(metric.sequential, metric.metric)}`;
  return `${fixedNumberSentence(metric, noun)}${always}`;
}

/** Formats the figures of a run that could stop itself, and when they may be read. */
function alwaysValidSentence({ difference }: SequentialFigures, metric: string): string {
  return `The run could stop itself (--until), so read the always-valid interval: a difference of ${differenceText(difference, metricFormat(metric))}. The other interval and p may be read only if all planned tasks were answered.`;
}

function fixedNumberSentence(metric: MetricComparison, noun: TaskNoun): string {
  const { label, baseline, candidate, difference, p, moreQuestions, sequential } = metric;
  if (baseline === null || candidate === null) return `${label}: no ${noun} in common has a value.`;
  const verdict = verdictOf(metric);
  const format = metricFormat(metric.metric);
  const many = counted(difference.n, noun);
  const figures = `${format(candidate)} against ${format(baseline)}, a difference of ${differenceText(difference, format)} with p ${pText(p)}`;
  if (verdict !== null) return `${label} is ${verdict}: ${figures}, over ${many}.`;
  if (difference.value === 0) {
    return `${label} is the same: ${format(candidate)} on both sides, over ${many}${possibleText(difference, format)}.`;
  }
  if (sequential !== undefined) return `The verdict is open. ${label} is ${figures}, over ${many}.`;
  const more =
    moreQuestions === null || moreQuestions === 0
      ? ""
      : ` About ${count(moreQuestions)} more ${noun}s are needed to tell.`;
  return `No clear difference. ${label} is ${figures}, which could be chance over ${many}.${more}`;
}

/** Formats `0.912 (0.77 to 0.97)`, or a dash without a value. */
export function estimateText({ value, low, high }: Estimate): string {
  if (value === null) return "-";
  return low === null || high === null ? share(value) : `${share(value)} (${low.toFixed(2)} to ${high.toFixed(2)})`;
}

/**
 * Formats a tool call, such as `name(query: "gas", limit: 10)`. An argument with several lines, such as a program,
 * follows unchanged below.
 */
export function callLines(name: string, callArguments: JsonValue): string[] {
  if (typeof callArguments !== "object" || callArguments === null || Array.isArray(callArguments)) {
    return [`  -> ${name}(${JSON.stringify(callArguments)})`];
  }
  const entries = Object.entries(callArguments);
  const isBlock = (value: JsonValue): value is string => typeof value === "string" && value.includes("\n");
  const inLine = entries.map(([key, value]) => `${key}: ${isBlock(value) ? "…" : JSON.stringify(value)}`);
  const blocks = entries.flatMap(([key, value]) =>
    isBlock(value) ? [`     ${key}:`, ...value.split("\n").map((line) => `       ${line}`)] : [],
  );
  return [`  -> ${name}(${inLine.join(", ")})`, ...blocks];
}

/** Returns a run's name, otherwise its id. */
export function runNameOrId({ name, runId }: Pick<LabeledRun, "name" | "runId">): string {
  return name ?? runId;
}

/** Formats `nightly: email-search (openai/x)`, or without the name for a run without one. */
export function runTitle({ name, agentId, model }: Omit<LabeledRun, "runId">): string {
  return `${name === undefined ? "" : `${name}: `}${agentId} (${model})`;
}

/**
 * Returns labels that distinguish several runs: the name, otherwise agent and model. The end of the id is added to
 * labels that are equal.
 */
export function runLabels(runs: readonly LabeledRun[]): string[] {
  const labels = runs.map(({ name, agentId, model }) => name ?? `${agentId} · ${model}`);
  return labels.map((label, i) =>
    labels.indexOf(label) === labels.lastIndexOf(label) ? label : `${label} · ${runs[i]?.runId.slice(-6)}`,
  );
}

/** Formats a difference with its 95% interval, such as `+0.120 [0.010, 0.230]`. */
export function differenceText(
  { value, low, high }: { readonly value: number | null; readonly low: number | null; readonly high: number | null },
  format: (value: number) => string = share,
): string {
  if (value === null) return "-";
  const bounds = low === null || high === null ? "" : ` [${format(low)}, ${format(high)}]`;
  return `${value > 0 ? "+" : ""}${format(value)}${bounds}`;
}

/** Returns the table cells for one metric of a comparison, except won, lost and tied, and the verdict. */
export function metricCells({ metric, label, baseline, candidate, difference, p }: MetricComparison): string[] {
  const format = metricFormat(metric);
  const text = (value: number | null) => (value === null ? "-" : format(value));
  return [label, count(difference.n), text(baseline), text(candidate), differenceText(difference, format), pText(p)];
}

/** Formats `answered 12, timeout 3`, most frequent first. */
export function endingsText(endings: Readonly<Record<string, number>>): string {
  const sorted = Object.entries(endings).sort(([, a], [, b]) => b - a);
  return sorted.map(([ending, tasks]) => `${ending} ${count(tasks)}`).join(", ") || "-";
}

/** In suites, the state `success` means that the agent ended by itself, whatever its score. */
export function stateName(state: string): string {
  return state === "success" ? "ended" : state;
}

export function oneLine(text: string, limit: number): string {
  return truncated(text.replace(/\s+/g, " ").trim(), limit);
}

/** Returns the first line of a text, truncated to the limit. */
export function firstLine(text: string, limit: number): string {
  return truncated(text.trim().split("\n", 1)[0] ?? "", limit);
}

export function indented(text: string): string[] {
  return text.split("\n").map((line) => `  ${line}`);
}

/** Returns the lines of the first items, and the number of the others. */
export function listed<T>(items: readonly T[], limit: number, linesOf: (item: T) => string | string[]): string[] {
  const hidden = items.length - limit;
  return compact([
    ...items.slice(0, limit).flatMap(linesOf),
    hidden > 0 && `  ... and ${hidden} more; --json lists all`,
  ]);
}

export const SLICE_TITLES: Readonly<Record<SliceName, string>> = {
  inbox: "Mailbox",
  realism: "Realism",
  sources: "Gold emails",
  year: "Year",
  tool: "Tool",
  difficulty: "Human actions",
  guidance: "Instruction",
  app: "Application",
  tag: "Tag",
};

/** Formats the claim that could stop a run, with its effect on the run's intervals. */
export function untilText(claim: string): string {
  return `${claim}. If this stopped the run, the intervals of its scores do not hold`;
}

export function pText(p: number | null): string {
  if (p === null) return "-";
  return p < 0.001 ? "<0.001" : share(p);
}

/** Returns a dataset's name without its revision, or the last part of a path. */
export function datasetText(run: { readonly dataset: string; readonly split: string }): string {
  const { dataset, split } = run;
  const short = dataset.startsWith("/") ? (dataset.split("/").at(-1) ?? dataset) : dataset.replace(/@.*$/, "");
  return taskKindOf(run) === "suite" ? short : `${short} ${split}`;
}

/** Note below a list of runs with a star at unjudged headline scores. */
export const UNJUDGED =
  "* Not judged: the score is whether the answer cites a gold email (sourcesCorrect). Without gold emails, it is the word overlap with the gold answer (semanticScore).";
