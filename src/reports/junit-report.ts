import type { RunHead } from "../analysis/compare.js";
import { type TaskOutcome, taskOutcome } from "../traces/score.js";
import type { TaskResult } from "../traces/task-result.js";
import { runTitle } from "./text.js";

/** Characters of a question in the name of its test case. */
const MAX_NAME_CHARS = 120;

/**
 * A run as JUnit XML, in chunks: a test case per task, wrong answers as failures, failed tasks as errors, tasks without
 * that score as skipped. Iterates the results twice, as the counts come first.
 */
export function* junit(run: RunHead, scorer: string, results: () => Iterable<TaskResult>): Generator<string> {
  const better = run.scores[scorer]?.better ?? "higher";
  const counts: Record<TaskOutcome, number> = { right: 0, wrong: 0, failed: 0, unscored: 0 };
  let ms = 0;
  for (const task of results()) {
    counts[taskOutcome(task, scorer, better)]++;
    ms += task.executionTimeMs;
  }
  const tests = counts.right + counts.wrong + counts.failed + counts.unscored;
  const sums = `tests="${tests}" failures="${counts.wrong}" errors="${counts.failed}" skipped="${counts.unscored}" time="${seconds(ms)}"`;
  const name = `${runTitle(run)}, ${scorer}`;
  yield '<?xml version="1.0" encoding="UTF-8"?>\n';
  yield `<testsuites name="art-e" ${sums}>\n  <testsuite name="${escapeAttribute(name)}" id="${escapeAttribute(run.runId)}" ${sums}>\n`;
  for (const task of results()) yield testCase(task, scorer, taskOutcome(task, scorer, better));
  yield "  </testsuite>\n</testsuites>\n";
}

function testCase(task: TaskResult, scorer: string, outcome: TaskOutcome): string {
  const { taskId, epoch, question } = task;
  const id = epoch === 1 ? `${taskId}` : `${taskId}/${epoch}`;
  const short = question.length <= MAX_NAME_CHARS ? question : `${question.slice(0, MAX_NAME_CHARS - 1)}…`;
  const head = `    <testcase classname="${escapeAttribute(task.inbox)}" name="${escapeAttribute(`${id} ${short}`)}" time="${seconds(task.executionTimeMs)}"`;
  if (outcome === "right") return `${head}/>\n`;
  return `${head}>\n      ${outcomeElement(task, scorer, outcome)}\n    </testcase>\n`;
}

function outcomeElement(task: TaskResult, scorer: string, outcome: Exclude<TaskOutcome, "right">): string {
  if (outcome === "unscored") return `<skipped message="${escapeAttribute(`no ${scorer}`)}"/>`;
  if (outcome === "failed") {
    return `<error type="${task.ending}" message="${escapeAttribute(task.error ?? task.ending)}">${escapeText(`Trace: ${task.traceId}`)}</error>`;
  }
  const lines = [
    `Question: ${task.question}`,
    `Answer:   ${task.agentAnswer || "-"}`,
    `Gold:     ${task.groundTruth}`,
    `Ending:   ${task.ending}`,
    `Trace:    ${task.traceId}`,
  ];
  const message = `${scorer} ${task.scores[scorer]}`;
  return `<failure type="${escapeAttribute(scorer)}" message="${escapeAttribute(message)}">${escapeText(lines.join("\n"))}</failure>`;
}

function seconds(ms: number): string {
  return (ms / 1_000).toFixed(3);
}

const ENTITIES: Readonly<Record<string, string>> = { "&": "&amp;", "<": "&lt;", ">": "&gt;", '"': "&quot;" };

/** Replaces what XML 1.0 cannot represent even escaped: control characters, lone surrogates, non-characters. */
function escapeText(value: string): string {
  return (
    value
      .toWellFormed()
      // biome-ignore lint/suspicious/noControlCharactersInRegex: these are the characters to replace.
      .replace(/[\x00-\x08\x0b\x0c\x0e-\x1f\ufffe\uffff]/g, "\ufffd")
      .replace(/[&<>"]/g, (character) => ENTITIES[character] ?? "")
      .replace(/\r/g, "&#13;")
  );
}

/** Parsers normalise unescaped white space in attributes to spaces. */
function escapeAttribute(value: string): string {
  return escapeText(value).replace(/[\t\n]/g, (space) => `&#${space.charCodeAt(0)};`);
}
