// A run as JUnit XML for CI: gates and tasks as test cases.
import type { Gate } from "../analysis/gate.js";
import type { RunHead } from "../analysis/paired-comparison.js";
import { stripControls } from "../platform/control-characters.js";
import { truncated } from "../text/format.js";
import type { TaskResult } from "../traces/task-result.js";
import { runTitle } from "./figure-text.js";
import { gateText } from "./run-text.js";
import { type OutcomeScore, type TaskOutcome, taskOutcome } from "./task-outcome.js";

/** Maximum characters of a question in the name of its test case. */
const MAX_NAME_CHARS = 120;

/**
 * Writes a run as JUnit XML, in chunks: a test suite with one test case per gate, and one with one test case per task.
 * Missed gates are failures. If `isStrict`, wrong answers are failures too and failed tasks are errors. Otherwise both
 * are skipped with the reason, because a run can pass its gates with wrong answers. Tasks without the score are
 * skipped. Iterates the results twice, because the counts come first.
 */
export function* junit(
  run: RunHead,
  score: OutcomeScore,
  gates: readonly Gate[],
  results: () => Iterable<TaskResult>,
  isStrict: boolean,
): Generator<string> {
  const counts = { right: 0, wrong: 0, failed: 0, unscored: 0 };
  const gateCounts = { right: 0, wrong: 0, failed: 0, unscored: 0 };
  for (const { passed } of gates) gateCounts[passed ? "right" : "wrong"]++;
  let ms = 0;
  for (const task of results()) {
    const outcome = taskOutcome(task, score);
    counts[isStrict || outcome === "right" ? outcome : "unscored"]++;
    ms += task.executionTimeMs;
  }
  yield '<?xml version="1.0" encoding="UTF-8"?>\n';
  yield `<testsuites name="art-e" ${sumsOf([gateCounts, counts], ms)}>\n`;
  if (gates.length > 0) {
    const name = escapeAttribute(`${runTitle(run)}, gates`);
    yield `  <testsuite name="${name}" id="${escapeAttribute(`${run.runId} gates`)}" ${sumsOf([gateCounts], 0)}>\n`;
    for (const gate of gates) yield gateCase(gate);
    yield "  </testsuite>\n";
  }
  const { scorer } = score;
  const name = escapeAttribute(`${runTitle(run)}, ${scorer}`);
  yield `  <testsuite name="${name}" id="${escapeAttribute(run.runId)}" ${sumsOf([counts], ms)}>\n`;
  for (const task of results()) yield testCase(task, scorer, taskOutcome(task, score), isStrict);
  yield "  </testsuite>\n";
  yield "</testsuites>\n";
}

function sumsOf(counts: readonly Readonly<Record<TaskOutcome, number>>[], ms: number): string {
  const sum = (...outcomes: TaskOutcome[]) =>
    counts.reduce((all, one) => all + outcomes.reduce((n, outcome) => n + one[outcome], 0), 0);
  const tests = sum("right", "wrong", "failed", "unscored");
  return `tests="${tests}" failures="${sum("wrong")}" errors="${sum("failed")}" skipped="${sum("unscored")}" time="${seconds(ms)}"`;
}

function gateCase(gate: Gate): string {
  const text = escapeAttribute(gateText(gate));
  const head = `    <testcase classname="gates" name="${escapeAttribute(gate.metric)}" time="0.000"`;
  return gate.passed ? `${head}/>\n` : `${head}>\n      <failure type="gate" message="${text}"/>\n    </testcase>\n`;
}

function testCase(task: TaskResult, scorer: string, outcome: TaskOutcome, isStrict: boolean): string {
  const { taskId, epoch, question } = task;
  const id = epoch === 1 ? `${taskId}` : `${taskId}/${epoch}`;
  const head = `    <testcase classname="${escapeAttribute(groupOf(task))}" name="${escapeAttribute(`${id} ${truncated(question, MAX_NAME_CHARS)}`)}" time="${seconds(task.executionTimeMs)}"`;
  if (outcome === "right") return `${head}/>\n`;
  return `${head}>\n      ${outcomeElement(task, scorer, outcome, isStrict)}\n    </testcase>\n`;
}

/** Viewers group test cases by this name: the mailbox, or the suite and the folder of its task. */
function groupOf({ inbox, suite }: TaskResult): string {
  return suite === undefined ? inbox : [suite.name, suite.tool].filter((part) => part !== "").join("/");
}

function outcomeElement(
  task: TaskResult,
  scorer: string,
  outcome: Exclude<TaskOutcome, "right">,
  isStrict: boolean,
): string {
  if (outcome === "unscored") return `<skipped message="${escapeAttribute(`no ${scorer}`)}"/>`;
  if (outcome === "failed") {
    const message = escapeAttribute(task.error ?? task.ending);
    const text = escapeText(`Trace: ${task.traceId}`);
    return isStrict
      ? `<error type="${task.ending}" message="${message}">${text}</error>`
      : `<skipped message="${escapeAttribute(`failed (${task.ending}): `)}${message}">${text}</skipped>`;
  }
  const lines = [
    `Question: ${task.question}`,
    `Answer:   ${task.agentAnswer || "-"}`,
    `Gold:     ${task.groundTruth}`,
    `Ending:   ${task.ending}`,
    `Trace:    ${task.traceId}`,
  ];
  const message = escapeAttribute(`${scorer} ${task.scores[scorer]}`);
  const text = escapeText(lines.join("\n"));
  return isStrict
    ? `<failure type="${escapeAttribute(scorer)}" message="${message}">${text}</failure>`
    : `<skipped message="wrong: ${message}">${text}</skipped>`;
}

function seconds(ms: number): string {
  return (ms / 1_000).toFixed(3);
}

const ENTITIES: Readonly<Record<string, string>> = { "&": "&amp;", "<": "&lt;", ">": "&gt;", '"': "&quot;" };

/** Makes control characters and bidi marks visible, and replaces noncharacters, which XML 1.0 does not allow either. */
function escapeText(value: string): string {
  return stripControls(value.toWellFormed().replace(/\r\n?/g, "\n"))
    .replace(/[\ufffe\uffff]/g, "\ufffd")
    .replace(/[&<>"]/g, (character) => ENTITIES[character] ?? "");
}

/** Parsers normalize unescaped white space in attributes to spaces. */
function escapeAttribute(value: string): string {
  return escapeText(value).replace(/[\t\n]/g, (space) => `&#${space.charCodeAt(0)};`);
}
