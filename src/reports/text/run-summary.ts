import type { RunTotals, ScoreFigures } from "../../domain/runs/benchmark-result.js";
import { otherModels } from "../../models/middleware/watch-reply-model.js";
import { stripControls } from "../../platform/strip-controls.js";
import { runTitle } from "../run-label.js";
import { estimate } from "./format-estimate.js";
import { count, duration, oneDecimal, share, usd } from "./format-number.js";
import { statesText } from "./suite/task-states-text.js";
import { summaryBox } from "./summary-box.js";
import { timePerTask } from "./task-time.js";

/**
 * The totals of a run. Scores are over the completed tasks, each with its 95 % interval and denominator; if tasks
 * failed, also over all tasks with the failed ones as wrong.
 */
export function runSummary(totals: RunTotals): string {
  const { inputTokens, outputTokens, cachedInputTokens } = totals.usage;
  return summaryBox(`ART-E Benchmark Results: ${runTitle(totals)}`, [
    ["Run", totals.runId],
    ...(totals.status === "completed"
      ? []
      : [["Status", `${totals.status}: ${count(totals.totalTasks)} of ${count(totals.plannedTasks)} tasks`] as const]),
    [
      "Tasks",
      `${count(totals.totalTasks)} of ${sourceText(totals)}: ${count(totals.completedTasks)} completed, ${count(totals.failedTasks)} failed`,
    ],
    ...gradedRow(totals),
    ...scoreRows(totals),
    ...statesRow(totals),
    ["Endings", endingsText(totals)],
    ...answeredByRow(totals),
    ["Turns per task", oneDecimal(totals.totalTasks === 0 ? null : totals.turns / totals.totalTasks)],
    ["Time per task", timePerTask(totals)],
    ["Total time", duration(totals.totalTimeMs)],
    ["Tokens", `${count(inputTokens)} in (${count(cachedInputTokens)} cached), ${count(outputTokens)} out`],
    ["Cost", totals.costUsd === null ? "unknown (no price known for this model)" : usd(totals.costUsd)],
    ...cacheRow(totals),
    ["Retries", count(totals.retries)],
  ]);
}

function sourceText({ suite, split }: RunTotals): string {
  return suite === undefined ? `the ${split} split` : `the suite ${suite.name}`;
}

/** Of a suite, as its scores are over the graded tasks only. */
function gradedRow({ suite, totalTasks }: RunTotals): [string, string][] {
  if (suite === undefined) return [];
  const ungraded = totalTasks - suite.graded;
  const others = ungraded === 0 ? "" : `; not graded, and in no average: ${count(ungraded)}`;
  return [["Graded", `${count(suite.graded)} of ${count(totalTasks)}${others}`]];
}

function statesRow({ suite }: RunTotals): [string, string][] {
  return suite === undefined ? [] : [["States", statesText(suite.states)]];
}

/** Shown only if another model than the requested one replied. */
function answeredByRow({ model, answeredBy = {} }: RunTotals): [string, string][] {
  if (otherModels(model, answeredBy).length === 0) return [];
  const models = Object.entries(answeredBy).map(
    ([name, replies]) => `${stripControls(name)} (${count(replies)} replies)`,
  );
  return [["Answered by", models.join(", ")]];
}

/** The part of the cost that was spent in this run. Shown only if replies came from the cache. */
function cacheRow({ cachedReplies, turns, spent }: RunTotals): [string, string][] {
  if (cachedReplies === 0) return [];
  const now = spent.costUsd === null ? "an unknown sum" : usd(spent.costUsd);
  return [["From the cache", `${count(cachedReplies)} of ${count(turns)} replies; ${now} of the cost was spent now`]];
}

function scoreRows({ scores, failedTasks, completedTasks, suite }: RunTotals): [string, string][] {
  if (completedTasks === 0 && suite === undefined) return [["Scores", "- (no task was completed)"]];
  return Object.values(scores).flatMap((score): [string, string][] => [
    [score.label, `${estimate(score)}${failedTasks === 0 ? "" : withFailed(score)}`],
    ...(score.repeats ?? [])
      .filter(({ k }, i, { length }) => k > 1 && i === length - 1)
      .map(({ k, passAtK, passHatK }): [string, string] => [
        `  pass@${k}, pass^${k}`,
        `${share(passAtK.value)}, ${share(passHatK.value)} over ${count(passAtK.n)} questions`,
      ]),
  ]);
}

function withFailed({ overAll }: ScoreFigures): string {
  return overAll.n === 0 ? "" : `; ${share(overAll.value)} with failed tasks as wrong`;
}

function endingsText(totals: RunTotals): string {
  const sorted = Object.entries(totals.endings).sort(([, a], [, b]) => b - a);
  return sorted.map(([ending, tasks]) => `${ending} ${count(tasks)}`).join(", ") || "-";
}
