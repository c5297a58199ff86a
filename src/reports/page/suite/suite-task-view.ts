import { count, duration } from "../../text/format-number.js";
import { spaceWords } from "../display-texts.js";
import type { SuiteTask, Task } from "../load-report.js";
import type { ReportHead } from "../report-data.js";
import { EMPTY_VIEW, taskName, writeView } from "../route.js";
import { type Child, h, untrustedInline, untrustedText } from "../shared/dom.js";
import { costText, scoreText } from "../shared/format.js";

/** Characters of an instruction that stand as a heading; a longer one follows whole. */
const HEADING_CHARS = 140;

/** The beginning of an instruction, as a heading. */
export function headingOf(instruction: string): string {
  const [line = ""] = instruction.split("\n");
  return line.length <= HEADING_CHARS ? line : `${line.slice(0, HEADING_CHARS - 1)}…`;
}

/** What the heading leaves out; the whole instruction where it breaks off within a line. */
function belowHeading(instruction: string): string {
  const [line = "", ...rest] = instruction.split("\n");
  return line.length <= HEADING_CHARS ? rest.join("\n") : instruction;
}

/** What a task of a suite took, its grade, and its counterpart. */
export function suiteSummary(task: Task, suite: SuiteTask, head: ReportHead, tasks: readonly Task[]): Child[] {
  const facts = [
    spaceWords(suite.state),
    `${count(task.turns)} turns`,
    ...(suite.toolCalls === null ? [] : [`${count(suite.toolCalls)} tool calls`]),
    ...(suite.actionNumber === null ? [] : [`${count(suite.actionNumber)} actions of a person`]),
    duration(task.ms),
    ...(task.costUsd === null ? [] : [costText(task.costUsd)]),
  ];
  const below = belowHeading(task.question);
  return [
    below.trim() === "" ? null : untrustedText(below, "text instruction"),
    h("p", { class: "facts" }, facts.join(" · ")),
    h(
      "ul",
      { class: "tags" },
      ...[...new Set([...suite.tags, ...suite.apps])].map((tag) => h("li", {}, untrustedInline(tag))),
    ),
    task.error === null ? null : h("p", { class: "error" }, untrustedInline(task.error)),
    h(
      "div",
      { class: "answers" },
      h(
        "section",
        { class: `outcome-edge-${task.outcome}` },
        h("h3", {}, "Grade"),
        h(
          "p",
          { class: "grade" },
          scoreText(leadingScore(task, head)),
          " ",
          h("span", { class: "meta" }, gradeNote(task)),
        ),
        suite.reason === "" ? null : untrustedText(suite.reason),
      ),
      h(
        "section",
        {},
        h("h3", {}, "What the agent said"),
        task.answer === "" ? h("p", { class: "meta" }, "nothing") : untrustedText(task.answer),
      ),
    ),
    counterpartLine(task, suite, head, tasks),
  ];
}

function gradeNote(task: Task): string {
  return task.outcome === "unscored" ? "not graded, and in no average" : "of what it left behind";
}

/** A link to the task in the other style, where it is in the same run. */
function counterpartLine(task: Task, { counterpart }: SuiteTask, head: ReportHead, tasks: readonly Task[]): Child {
  if (counterpart === null) return null;
  const other = tasks.find(
    ({ run, taskId, epoch }) => run === task.run && taskId === counterpart && epoch === task.epoch,
  );
  const label = counterpart.slice(0, 8);
  if (other === undefined)
    return h("p", { class: "facts" }, "Counterpart ", untrustedInline(label), ", not in this run");
  if (other === task) return h("p", { class: "facts" }, "It is its own counterpart.");
  const link = h("a", { href: writeView({ ...EMPTY_VIEW, task: taskName(other, head) }) }, untrustedInline(label));
  const rest = ` (${other.suite?.guidance ?? ""}), score ${scoreText(leadingScore(other, head))}`;
  return h("p", { class: "facts" }, "Counterpart ", link, rest);
}

function leadingScore(task: Task, { scores }: ReportHead): number | null {
  return task.scores[scores.findIndex(({ name }) => name === "taskScore")] ?? null;
}
