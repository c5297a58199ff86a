import type { MetricComparison } from "../../domain/scores/metric-comparison.js";
import { differenceText, pText } from "./difference-text.js";
import { count, share } from "./format-number.js";

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
  const many = `${count(difference.n)} ${noun}${difference.n === 1 ? "" : "s"}`;
  const figures = `${format(candidate)} against ${format(baseline)}, a difference of ${differenceText(difference, format)} with p ${pText(p)}`;
  if (verdict !== null) return `${label} is ${verdict}: ${figures}, over ${many}.`;
  if (moreQuestions === null) return `${label} is the same: ${format(candidate)} on both sides, over ${many}.`;
  const more = moreQuestions === 0 ? "" : ` About ${count(moreQuestions)} more ${noun}s would tell.`;
  return `No difference is shown. ${label} is ${figures}, which over ${many} may be chance.${more}`;
}
