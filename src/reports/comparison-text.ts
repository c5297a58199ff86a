// A comparison of runs as terminal text, with published figures if asked.
import {
  type Flip,
  type MetricComparison,
  PUBLISHED,
  type RunComparison,
  type RunHead,
} from "../analysis/paired-comparison.js";
import { compact } from "../platform/optional-values.js";
import { count, counted, estimate, oneDecimal, share, table, usd } from "../text/format.js";
import { scorerOfMetric } from "../traces/headline-score.js";
import {
  clustersText,
  differenceText,
  metricCells,
  oneLine,
  onlyInLines,
  perTask,
  pText,
  runNameOrId,
  runTitle,
  significanceText,
  workTime,
} from "./figure-text.js";

/** Formats an overview of the runs, then the comparison of each run with the first. */
export function comparisonText(runs: readonly RunHead[], comparisons: readonly RunComparison[]): string {
  return [overviewTable(runs), ...comparisons.map((comparison) => pairText(comparison, runs, comparisons.length))].join(
    "\n\n",
  );
}

function overviewTable(runs: readonly RunHead[]): string {
  return table(
    ["run", "agent", "tasks", "failed", "agent cost", "agent cost per task", "time per task", "turns", "model"],
    runs.map((run) => [
      runNameOrId(run),
      run.agentId,
      count(run.totalTasks),
      count(run.failedTasks),
      usd(run.costUsd),
      usd(perTask(run.costUsd, run.totalTasks)),
      workTime(run),
      oneDecimal(perTask(run.turns, run.totalTasks)),
      run.model,
    ]),
  );
}

function pairText(comparison: RunComparison, runs: readonly RunHead[], comparisons: number): string {
  const [baseline, candidate] = [comparison.baseline, comparison.candidate].map((id) =>
    runNameOrId(runs.find(({ runId }) => runId === id) ?? { runId: id }),
  );
  const { questions, ungraded, incomparable, settings, metrics, flips } = comparison;
  const noun = ungraded === null ? "question" : "task";
  const { common, onlyBaseline, onlyCandidate } = questions;
  const numbers = compact([
    `${counted(common, noun)} in both`,
    onlyBaseline > 0 && `${count(onlyBaseline)} only in the first`,
    onlyCandidate > 0 && `${count(onlyCandidate)} only in the second`,
  ]);
  const flipCount = flips.lost.length + flips.won.length;
  return compact([
    `${candidate} against ${baseline}: ${numbers.join(", ")}`,
    ungraded !== null &&
      ungraded.baseline + ungraded.candidate > 0 &&
      `Not graded and not in any score: ${count(ungraded.baseline)} in the first, ${count(ungraded.candidate)} in the second`,
    incomparable.length > 0 && `NOT COMPARABLE: the runs differ in ${incomparable.join("; ")}`,
    settings.length > 0 && `Different settings: ${settings.join(", ")}`,
    "",
    table(
      ["", "n", "before", "after", "difference (95%)", "p", "won/lost/tied", "verdict"],
      metrics.map((metric) => [
        ...metricCells(metric),
        [metric.wins, metric.losses, metric.ties].map(count).join("/"),
        significanceText(metric, noun),
      ]),
    ),
    ...onlyInLines(comparison.onlyIn),
    ...compact([clustersText(comparison.clusters, common)]).map((line) => `${line}.`),
    ...failedLines(comparison),
    ...sequentialLines(metrics, comparisons > 1),
    ...(flipCount === 0
      ? []
      : ["", `${noun === "task" ? "Tasks" : "Questions"} with a different result (${flips.metric}):`]),
    ...flips.lost.flatMap((flip) => flipLines("lost", flip)),
    ...flips.won.flatMap((flip) => flipLines("won", flip)),
  ]).join("\n");
}

/** Says how failed tasks count, with the differences that change if they count the other way. */
function failedLines({ failed, metrics }: RunComparison): string[] {
  if (failed.baseline + failed.candidate === 0) return [];
  const isWrong = failed.counted === "wrong";
  const number = `${count(failed.baseline)} in the first, ${count(failed.candidate)} in the second`;
  const other = isWrong ? "Without them" : "With them as wrong";
  return [
    "",
    isWrong
      ? `Failed tasks count as wrong (${number}). --failed-tasks exclude leaves them out.`
      : `Failed tasks are left out (${number}).`,
    ...metrics.flatMap(({ label, otherwise }) =>
      otherwise === undefined || otherwise.n === 0
        ? []
        : [`  ${other}: ${label} ${differenceText(otherwise, share)} n=${count(otherwise.n)}`],
    ),
  ];
}

/** Which of the two intervals may be read when. */
const WHEN_TO_READ =
  "The always-valid interval may be read at any time. The fixed-n interval and p may be read only once, at the planned number of questions.";

/** Formats the always-valid figures, if there are any, and their correction for several candidates. */
function sequentialLines(metrics: readonly MetricComparison[], isCorrected: boolean): string[] {
  const tested = metrics.flatMap(({ sequential, ...metric }) =>
    sequential == null ? [] : [{ ...metric, sequential }],
  );
  if (tested.length === 0) return [];
  return [
    "",
    table(
      [
        "",
        "n",
        "always-valid (95%)",
        "fixed-n (95%)",
        "e-value",
        "verdict at any time",
        ...(isCorrected ? ["e-BH", "p (Holm)"] : []),
      ],
      tested.map(({ label, difference, sequential }) => [
        label,
        count(difference.n),
        differenceText(sequential.difference, share),
        differenceText(difference, share),
        eText(sequential.eValue),
        sequential.verdict ?? "open",
        ...(isCorrected ? [sequential.correctedVerdict ?? "open", pText(sequential.correctedP)] : []),
      ]),
    ),
    WHEN_TO_READ,
  ];
}

function eText(eValue: number): string {
  return eValue >= 1_000 ? ">1,000" : eValue.toFixed(2);
}

function flipLines(side: "lost" | "won", flip: Flip): string[] {
  const { taskId, question, baseline, candidate, baselineAnswer, candidateAnswer } = flip;
  return [
    `  ${side}  ${taskId}  ${oneLine(question, 100)}`,
    `        ${share(baseline)}  ${oneLine(baselineAnswer, 100) || "-"}`,
    `        ${share(candidate)}  ${oneLine(candidateAnswer, 100) || "-"}`,
  ];
}

/** Formats the published figures and our runs by accuracy, with the differences in how each run was made. */
export function publishedText(
  runs: readonly RunHead[],
  differences: Readonly<Record<string, readonly string[]>>,
): string {
  const ours = runs.map((run) => {
    const accuracy = run.scores[scorerOfMetric("accuracy", run.scores)];
    return {
      accuracy: accuracy?.value ?? null,
      row: [
        runTitle(run),
        accuracy === undefined ? "-" : `${estimate(accuracy)} (${accuracy.label})`,
        workTime(run),
        run.costUsd === null || run.totalTasks === 0 ? "-" : usd((1_000 * run.costUsd) / run.totalTasks),
        runNameOrId(run),
      ],
    };
  });
  const theirs = PUBLISHED.figures.map(({ model, accuracy, secondsPerTask, usdPerThousand }) => ({
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
  return [
    table(
      ["model", "accuracy", "time", "agent cost per 1,000", "source"],
      rows.map(({ row }) => row),
    ),
    `Published: ${PUBLISHED.protocol}.`,
    ...runs.map((run) => protocolText(runNameOrId(run), differences[run.runId] ?? [])),
  ].join("\n");
}

function protocolText(run: string, differences: readonly string[]): string {
  return differences.length === 0
    ? `${run} was run under these conditions.`
    : `${run} differs: ${differences.join("; ")}.`;
}
