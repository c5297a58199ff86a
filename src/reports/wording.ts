import type { MetricComparison, RunHead } from "../analysis/paired-comparison.js";
import type { JsonValue } from "../platform/json.js";
import type { Estimate } from "../statistics/estimate.js";
import { count, duration, estimate, share, table } from "../text/format.js";
import type { RunTotals } from "../traces/run-totals.js";
import type { SliceName } from "../traces/task-slices.js";

type MeanTimes = Pick<RunHead, "avgExecutionTimeMs" | "avgModelTimeMs" | "avgToolTimeMs" | "avgWaitingTimeMs">;

/** Model and tool time of a task, without waiting; for runs that did not record these, the total time. */
export function workTime({
  avgModelTimeMs: model,
  avgToolTimeMs: tools,
  avgExecutionTimeMs: total,
}: MeanTimes): string {
  if (model == null || tools == null) return total === null ? "-" : `${duration(total)} with waiting`;
  return duration(model + tools);
}

/**
 * `1.2 s (model 1.1 s, tools 86 ms); waiting 3.9 s`: waiting is throttling and failed calls, no property of the agent.
 */
export function timePerTask(times: MeanTimes): string {
  const { avgModelTimeMs: model, avgToolTimeMs: tools, avgWaitingTimeMs: waiting } = times;
  if (model == null || tools == null || waiting == null) return workTime(times);
  return `${workTime(times)} (model ${duration(model)}, tools ${duration(tools)}); waiting ${duration(waiting)}`;
}

/** One slice of a run: a row per part, a column per metric with intervals and denominators. */
export function sliceTable(totals: RunTotals, slice: SliceName, metrics: readonly string[]): string {
  const labels = metrics.map((name) => totals.scores[name]?.label ?? name);
  const rows = (totals.slices[slice] ?? []).map(({ value, tasks, scores }) => [
    value,
    count(tasks),
    ...metrics.map((name) => (scores[name] === undefined ? "-" : estimate(scores[name]))),
  ]);
  return table([slice, "tasks", ...labels], rows);
}

/** What the compared tasks are called: `task` of suites. */
export type TaskNoun = "question" | "task";

/** Cost, time and turns are not shares and need other formats. */
const EFFORT_FORMATS: Readonly<Record<string, (value: number) => string>> = {
  costUsd: (value) => (value === 0 ? "0" : value.toPrecision(3)),
  modelAndToolTimeMs: (value) => value.toFixed(0),
  turns: (value) => value.toFixed(2),
};

/** A value of the metric. */
export function metricFormat(metric: string): (value: number) => string {
  return EFFORT_FORMATS[metric] ?? share;
}

/** In a table's cell: `better`, `worse`, or why there is no verdict. */
export function significanceText({ verdict, moreQuestions, difference }: MetricComparison, noun: TaskNoun): string {
  if (verdict !== null) return verdict;
  if (difference.n === 0) return `no ${noun} in common`;
  if (moreQuestions === null) return "no difference";
  return moreQuestions === 0 ? "may be chance" : `may be chance; ~${count(moreQuestions)} more ${noun}s would tell`;
}

/** The verdict of one metric as a sentence, with what it rests on. */
export function verdictSentence(metric: MetricComparison, noun: TaskNoun): string {
  const { label, verdict, baseline, candidate, difference, p, moreQuestions } = metric;
  if (baseline === null || candidate === null) return `${label}: no ${noun} in common has a value.`;
  const format = metricFormat(metric.metric);
  const many = counted(difference.n, noun);
  const figures = `${format(candidate)} against ${format(baseline)}, a difference of ${differenceText(difference, format)} with p ${pText(p)}`;
  if (verdict !== null) return `${label} is ${verdict}: ${figures}, over ${many}.`;
  if (moreQuestions === null) return `${label} is the same: ${format(candidate)} on both sides, over ${many}.`;
  const more = moreQuestions === 0 ? "" : ` About ${count(moreQuestions)} more ${noun}s would tell.`;
  return `No difference is shown. ${label} is ${figures}, which over ${many} may be chance.${more}`;
}

/** `0.912 (0.77 to 0.97)`; a dash where there is nothing to tell. */
export function estimateText({ value, low, high }: Estimate): string {
  if (value === null) return "-";
  return low === null || high === null ? share(value) : `${share(value)} (${low.toFixed(2)} to ${high.toFixed(2)})`;
}

/** A tool call: `name(query: "gas", limit: 10)`; what has several lines, as a program, stands below it as it is. */
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

interface LabelledRun {
  readonly runId: string;
  readonly agentId: string;
  readonly model: string;
  readonly name?: string;
}

/** What a run is called beside others: its name, else its id. */
export function runNameOrId({ name, runId }: Pick<LabelledRun, "name" | "runId">): string {
  return name ?? runId;
}

/** `nightly: email-search (openai/x)`, and without the name where it has none. */
export function runTitle({ name, agentId, model }: Omit<LabelledRun, "runId">): string {
  return `${name === undefined ? "" : `${name}: `}${agentId} (${model})`;
}

/** Labels of several runs: the name of each, else agent and model, with the end of the id where these are equal. */
export function runLabels(runs: readonly LabelledRun[]): string[] {
  const labels = runs.map(({ name, agentId, model }) => name ?? `${agentId} · ${model}`);
  return labels.map((label, i) =>
    labels.indexOf(label) === labels.lastIndexOf(label) ? label : `${label} · ${runs[i]?.runId.slice(-6)}`,
  );
}

/** `+0.120 [0.010, 0.230]`: a difference with its 95 % interval. */
export function differenceText(
  { value, low, high }: { readonly value: number | null; readonly low: number | null; readonly high: number | null },
  format: (value: number) => string = share,
): string {
  if (value === null) return "-";
  const bounds = low === null || high === null ? "" : ` [${format(low)}, ${format(high)}]`;
  return `${value > 0 ? "+" : ""}${format(value)}${bounds}`;
}

/** What a comparison says of one metric, but for won, lost and tied, and the verdict. */
export function metricCells({ metric, label, baseline, candidate, difference, p }: MetricComparison): string[] {
  const format = metricFormat(metric);
  const text = (value: number | null) => (value === null ? "-" : format(value));
  return [label, count(difference.n), text(baseline), text(candidate), differenceText(difference, format), pText(p)];
}

/** `answered 12, timeout 3`: the most frequent first. */
export function endingsText(endings: Readonly<Record<string, number>>): string {
  const sorted = Object.entries(endings).sort(([, a], [, b]) => b - a);
  return sorted.map(([ending, tasks]) => `${ending} ${count(tasks)}`).join(", ") || "-";
}

/** Suites call a state `success` if the agent ended by itself, whatever its score. */
export function stateName(state: string): string {
  return state === "success" ? "ended" : state;
}

export function oneLine(text: string, limit: number): string {
  const line = text.replace(/\s+/g, " ").trim();
  return line.length <= limit ? line : `${line.slice(0, limit - 1)}…`;
}

/** The first line of a text, its beginning where it is longer. */
export function firstLine(text: string, limit: number): string {
  const [line = ""] = text.trim().split("\n");
  return line.length > limit ? `${line.slice(0, limit - 1)}…` : line;
}

/** `1 mail`, `1,234 mails`. */
export function counted(n: number, noun: string): string {
  return `${count(n)} ${noun}${n === 1 ? "" : "s"}`;
}

export function pText(p: number | null): string {
  if (p === null) return "-";
  return p < 0.001 ? "<0.001" : share(p);
}

/** The name of a dataset without its revision; the last part of a path. */
export function datasetText({ dataset, split }: { readonly dataset: string; readonly split: string }): string {
  const short = dataset.startsWith("/") ? (dataset.split("/").at(-1) ?? dataset) : dataset.replace(/@.*$/, "");
  return split === "suite" ? short : `${short} ${split}`;
}

/** Below a list of runs with a star at headline scores that are no judge's. */
export const UNJUDGED =
  "* Nobody judged these answers: this is how far their words agree with the gold answers' (semanticScore).";
