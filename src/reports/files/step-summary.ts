import type { TaskResult } from "../../domain/runs/benchmark-result.js";
import type { RunHead } from "../../domain/scores/comparison.js";
import type { Gate } from "../../domain/scores/gate.js";
import { taskOutcome } from "../../domain/scores/task-outcome.js";
import { stripControls } from "../../platform/strip-controls.js";
import { count, share, usd } from "../text/format-number.js";
import { gateText } from "../text/gate-text.js";
import { runTitle } from "../text/run-label.js";
import { workTime } from "../text/task-time.js";

/** Tasks shown, and characters of each text: GitHub limits a step summary to 1 MiB. */
const SHOWN_TASKS = 20;
const SHOWN_TEXT = 200;

/** A run as Markdown for a GitHub step summary: totals, gates, and the first tasks that are wrong by `scorer`. */
export function stepSummary(
  run: RunHead,
  gates: readonly Gate[],
  scorer: string,
  results: Iterable<TaskResult>,
): string {
  const cost = run.costUsd === null ? "unknown" : usd(run.costUsd);
  const time = workTime(run);
  return `${[
    `### ART-E: ${escapeMarkdown(runTitle(run))}`,
    "",
    `Run ${escapeMarkdown(run.runId)}: ${count(run.completedTasks)} of ${count(run.totalTasks)} tasks completed, ${count(run.failedTasks)} failed; cost ${escapeMarkdown(cost)}; ${escapeMarkdown(time)} a task.`,
    "",
    ...gates.map((gate) => `- ${gate.passed ? ":white_check_mark:" : ":x:"} ${escapeMarkdown(gateText(gate))}`),
    ...(gates.length === 0 ? [] : [""]),
    "| score | value | 95 % interval | n |",
    "| --- | ---: | --- | ---: |",
    ...Object.values(run.scores).map(
      ({ label, value, low, high, n }) =>
        `| ${escapeMarkdown(label)} | ${share(value)} | ${low === null || high === null ? "-" : `${share(low)} to ${share(high)}`} | ${count(n)} |`,
    ),
    ...wrongTasks(run, scorer, results),
  ].join("\n")}\n\n`;
}

function wrongTasks(run: RunHead, scorer: string, results: Iterable<TaskResult>): string[] {
  const better = run.scores[scorer]?.better ?? "higher";
  const rows: string[] = [];
  let wrong = 0;
  for (const task of results) {
    const outcome = taskOutcome(task, scorer, better);
    if (outcome !== "wrong" && outcome !== "failed") continue;
    wrong++;
    if (rows.length === SHOWN_TASKS) continue;
    const answer = outcome === "failed" ? `${task.ending}: ${task.error ?? ""}` : task.agentAnswer;
    const cells = [String(task.taskId), task.question, answer, task.groundTruth];
    rows.push(`| ${cells.map(escapeMarkdown).join(" | ")} |`);
  }
  if (wrong === 0) return [];
  const which = wrong > rows.length ? `, the first ${rows.length}` : "";
  return [
    "",
    `<details><summary>${count(wrong)} wrong or failed by ${escapeMarkdown(scorer)}${which}</summary>`,
    "",
    "| task | question | answer | gold |",
    "| ---: | --- | --- | --- |",
    ...rows,
    "",
    "</details>",
  ];
}

/** Untrusted text, safe in Markdown tables and HTML: on one line, with punctuation as entities. */
function escapeMarkdown(value: string): string {
  const line = stripControls(value.toWellFormed()).replace(/\s+/g, " ").trim();
  const short = line.length <= SHOWN_TEXT ? line : `${line.slice(0, SHOWN_TEXT - 1).toWellFormed()}…`;
  return short.replace(/[!-+./:-@[-`{-~]/g, (mark) => `&#${mark.charCodeAt(0)};`);
}
