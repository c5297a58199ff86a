import type { Flip, MetricComparison, RunComparison, RunHead } from "../../domain/scores/comparison.js";
import { scorerOfMetric } from "../../domain/scores/metric-name.js";
import { PUBLISHED, PUBLISHED_PROTOCOL } from "../../evaluation/published-figures.js";
import { stripControls } from "../../platform/strip-controls.js";
import { estimate } from "./format-estimate.js";
import { count, share, usd } from "./format-number.js";
import { workTime } from "./task-time.js";
import { table } from "./text-table.js";

/** Runs side by side, then each against the first. */
export function comparisonText(runs: readonly RunHead[], comparisons: readonly RunComparison[]): string {
  return stripControls([sideBySide(runs), ...comparisons.map((comparison) => against(comparison))].join("\n\n"));
}

function sideBySide(runs: readonly RunHead[]): string {
  const perTask = (sum: number | null, tasks: number) => (sum === null || tasks === 0 ? null : sum / tasks);
  return table(
    ["run", "agent", "tasks", "failed", "cost", "cost of a task", "time of a task", "turns", "model"],
    runs.map((run) => [
      run.runId,
      run.agentId,
      count(run.totalTasks),
      count(run.failedTasks),
      usd(run.costUsd),
      usd(perTask(run.costUsd, run.totalTasks)),
      workTime(run),
      perTask(run.turns, run.totalTasks)?.toFixed(1) ?? "-",
      run.model,
    ]),
  );
}

function against({ baseline, candidate, questions, incomparable, settings, metrics, flips }: RunComparison): string {
  const { common, onlyBaseline, onlyCandidate } = questions;
  const others = [
    onlyBaseline > 0 && `${count(onlyBaseline)} only in the first`,
    onlyCandidate > 0 && `${count(onlyCandidate)} only in the second`,
  ].filter((part) => part !== false);
  const shown = flips.lost.length + flips.won.length;
  return [
    `${candidate} against ${baseline}: ${[`${count(common)} questions in both`, ...others].join(", ")}`,
    ...(incomparable.length === 0 ? [] : [`NOT COMPARABLE, they differ in ${incomparable.join("; ")}`]),
    ...(settings.length === 0 ? [] : [`Settings that differ: ${settings.join(", ")}`]),
    "",
    table(
      ["", "n", "before", "after", "difference, 95 %", "p", "won/lost/tied", "verdict"],
      metrics.map((metric) => metricRow(metric)),
    ),
    ...(shown === 0 ? [] : ["", `Questions that changed (${flips.metric}):`]),
    ...flips.lost.flatMap((flip) => flipLines("lost", flip)),
    ...flips.won.flatMap((flip) => flipLines("won", flip)),
  ].join("\n");
}

/** Cost, time and turns are no shares: they have digits of their own. */
const DIGITS: Readonly<Record<string, (value: number) => string>> = {
  costUsd: (value) => (value === 0 ? "0" : value.toPrecision(3)),
  modelAndToolTimeMs: (value) => value.toFixed(0),
  turns: (value) => value.toFixed(2),
};

function metricRow(metric: MetricComparison): string[] {
  const { label, baseline, candidate, difference, p, wins, losses, ties } = metric;
  const digits = DIGITS[metric.metric] ?? share;
  const figure = (value: number | null) => (value === null ? "-" : digits(value));
  const { value, low, high } = difference;
  const bounds = low === null || high === null ? "" : ` [${figure(low)}, ${figure(high)}]`;
  return [
    label,
    count(difference.n),
    figure(baseline),
    figure(candidate),
    value === null ? "-" : `${value > 0 ? "+" : ""}${figure(value)}${bounds}`,
    p === null ? "-" : p < 0.001 ? "<0.001" : p.toFixed(3),
    `${count(wins)}/${count(losses)}/${count(ties)}`,
    verdictText(metric),
  ];
}

function verdictText({ verdict, moreQuestions, difference }: MetricComparison): string {
  if (verdict !== null) return verdict;
  if (difference.n === 0) return "no question in common";
  if (moreQuestions === null) return "no difference";
  return moreQuestions === 0 ? "may be chance" : `may be chance; ~${count(moreQuestions)} more questions would tell`;
}

function flipLines(how: "lost" | "won", flip: Flip): string[] {
  const { taskId, question, baseline, candidate, baselineAnswer, candidateAnswer } = flip;
  return [
    `  ${how}  ${taskId}  ${oneLine(question, 100)}`,
    `        ${share(baseline)}  ${oneLine(baselineAnswer, 100) || "-"}`,
    `        ${share(candidate)}  ${oneLine(candidateAnswer, 100) || "-"}`,
  ];
}

/** The published figures, runs of ours among them by accuracy, and how each was made otherwise. */
export function publishedText(
  runs: readonly RunHead[],
  differences: Readonly<Record<string, readonly string[]>>,
): string {
  const ours = runs.map((run) => {
    const accuracy = run.scores[scorerOfMetric("accuracy", (name) => (run.scores[name]?.n ?? 0) > 0)];
    return {
      accuracy: accuracy?.value ?? null,
      row: [
        `${run.agentId} (${run.model})`,
        accuracy === undefined ? "-" : `${estimate(accuracy)} (${accuracy.label})`,
        workTime(run),
        run.costUsd === null || run.totalTasks === 0 ? "-" : usd((1_000 * run.costUsd) / run.totalTasks),
        run.runId,
      ],
    };
  });
  const theirs = PUBLISHED.map(({ model, accuracy, secondsPerTask, usdPerThousand }) => ({
    accuracy,
    row: [
      model,
      share(accuracy),
      secondsPerTask === null ? "-" : `${secondsPerTask} s`,
      usdPerThousand === null ? "-" : usd(usdPerThousand),
      "published",
    ],
  }));
  const rows = [...ours, ...theirs].toSorted((a, b) => (b.accuracy ?? -1) - (a.accuracy ?? -1));
  return stripControls(
    [
      table(
        ["model", "accuracy", "time", "cost of 1,000", "source"],
        rows.map(({ row }) => row),
      ),
      `Published: ${PUBLISHED_PROTOCOL}.`,
      ...runs.map(({ runId }) => differenceText(runId, differences[runId] ?? [])),
    ].join("\n"),
  );
}

function differenceText(runId: string, differences: readonly string[]): string {
  return differences.length === 0
    ? `${runId} was made under these conditions.`
    : `${runId} differs: ${differences.join("; ")}.`;
}

function oneLine(text: string, most: number): string {
  const line = text.replace(/\s+/g, " ").trim();
  return line.length <= most ? line : `${line.slice(0, most - 1)}…`;
}
