import type { ReportComparison } from "../page/report-comparison.js";
import type { RunFigures } from "../page/report-data.js";
import { differenceText, pText } from "../text/difference-text.js";
import { count } from "../text/format-number.js";
import { metricFormat, significanceText, type TaskNoun, verdictSentence } from "../text/significance-text.js";
import { escapeMarkdown, table } from "./markdown-table.js";

const COLUMNS = ["", "n", "Before", "After", "Difference, 95 %", "p", "Won, lost, tied", "Verdict"];

/** A run against the first: the verdict in words, and every metric. */
export function comparisonParts(comparison: ReportComparison, runs: readonly RunFigures[]): string[] {
  const { candidate, headline, incomparable, questions, metrics } = comparison;
  const noun: TaskNoun = comparison.ungraded === null ? "question" : "task";
  const title = `### ${[candidate, 0].map((run) => escapeMarkdown(runs[run]?.label ?? "")).join(" against ")}`;
  if (incomparable.length > 0) {
    return [title, `They cannot be compared. They differ in ${escapeMarkdown(incomparable.join("; "))}.`];
  }
  if (questions.common === 0) return [title, `They have no ${noun} in common.`];
  const rows = metrics.map((metric) => {
    const { label, baseline, candidate: after, difference, p, wins, losses, ties } = metric;
    const format = metricFormat(metric.metric);
    const text = (value: number | null) => (value === null ? "-" : format(value));
    return [
      ...[label, count(difference.n), text(baseline), text(after), differenceText(difference, format), pText(p)],
      [wins, losses, ties].map(count).join(", "),
      significanceText(metric, noun),
    ];
  });
  const first = metrics.find(({ metric }) => metric === headline);
  return [title, ...(first === undefined ? [] : [escapeMarkdown(verdictSentence(first, noun))]), table(COLUMNS, rows)];
}
