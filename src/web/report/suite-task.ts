// What the dialog shows of a suite task: grade, effort, images, and results of machine tools.
import { firstLine } from "../../reports/figure-text.js";
import type { ReportHead } from "../../reports/report-data.js";
import type { MachineResultView } from "../../reports/trace-view.js";
import type { FinalState, Picture } from "../../tasks/suite-task.js";
import { count, counted, duration } from "../../text/format.js";
import { type Child, costText, factLine, h, scoreText, untrustedInline, untrustedText } from "../dom.js";
import { outcomeSection, stateWords } from "./header.js";
import { type SuiteTask, scoreOf, type Task } from "./load.js";
import { taskLink } from "./view-state.js";

/** Maximum characters of an instruction in a heading. A longer instruction follows in full. */
const HEADING_CHARS = 140;

/** Returns the start of an instruction as a heading. */
export function headingOf(instruction: string): string {
  return firstLine(instruction, HEADING_CHARS);
}

/** Returns the text after the heading, or the entire instruction if the heading ends within a line. */
function belowHeading(instruction: string): string {
  const [line = "", ...rest] = instruction.trim().split("\n");
  return line.length <= HEADING_CHARS ? rest.join("\n") : instruction;
}

/** Facts about a suite task: its effort, its grade and its counterpart. */
export function suiteSummary(task: Task, suite: SuiteTask, head: ReportHead, tasks: readonly Task[]): Child[] {
  const facts = factLine(
    stateWords(suite.state),
    task.turns === null ? null : counted(task.turns, "turn"),
    suite.toolCalls === null ? null : `${count(suite.toolCalls)} tool calls`,
    suite.actionNumber === null ? null : `${count(suite.actionNumber)} human actions`,
    duration(task.ms),
    task.costUsd === null ? null : costText(task.costUsd),
  );
  const gradeNote = task.outcome === "unscored" ? "not graded, not in any average" : "for its output files";
  const below = belowHeading(task.question);
  return [
    below.trim() === "" ? null : untrustedText(below, "text instruction"),
    h("p.facts", facts),
    h("ul.tags", ...[...new Set([...suite.tags, ...suite.apps])].map((tag) => h("li.badge", untrustedInline(tag)))),
    task.error === null || task.error === suite.reason ? null : h("p.error", untrustedInline(task.error)),
    h(
      "div.answers",
      outcomeSection(
        task,
        "Grade",
        h("p.grade", gradeText(task, head), " ", h("span.meta", gradeNote)),
        suite.reason !== "" && untrustedText(suite.reason),
      ),
      h(
        "section",
        h("h3", "The agent's answer"),
        task.answer === "" ? h("p.meta", "nothing") : untrustedText(task.answer),
      ),
    ),
    counterpartLine(task, suite, head, tasks),
  ];
}

/** A link to the same task in the other style, if it is in the same run. */
function counterpartLine(task: Task, { counterpart }: SuiteTask, head: ReportHead, tasks: readonly Task[]): Child {
  if (counterpart === null) return null;
  const other = tasks.find(
    ({ run, taskId, epoch }) => run === task.run && taskId === counterpart && epoch === task.epoch,
  );
  const label = counterpart.slice(0, 8);
  if (other === undefined) return h("p.facts", "Counterpart ", untrustedInline(label), ", not in this run");
  if (other === task) return h("p.facts", "The task is its own counterpart.");
  const link = h("a", { href: taskLink(other, head) }, untrustedInline(label));
  const rest = ` (${other.suite?.guidance ?? ""}), score ${gradeText(other, head)}`;
  return h("p.facts", "Counterpart ", link, rest);
}

function gradeText(task: Task, head: ReportHead): string {
  return scoreText(scoreOf(task, "taskScore", head));
}

/** The images that the agent created, or an empty list. */
export function pictureColumn({ pictures, omitted }: FinalState): Child[] {
  if (pictures.length + omitted === 0) return [];
  return [
    h("h3", "Images it created"),
    ...pictures.map(pictureFigure),
    omitted === 0 ? null : h("p.meta", `Left out because they are too many or too large: ${count(omitted)}`),
  ];
}

function pictureFigure({ path, cell, width, height, data }: Picture): HTMLElement {
  const name = cell === null ? path : `${path}, cell ${cell}`;
  return h(
    "figure.picture",
    h("img", { src: `data:image/png;base64,${data}`, alt: name, width, height, loading: "lazy" }),
    h("figcaption", untrustedInline(name), ` · ${width} × ${height}`),
  );
}

/** Characters above which an output is collapsed. */
const LONG = 1_500;

/** Shows the output of a command, the contents of a file or a notebook. */
export function machineResult(view: MachineResultView): HTMLElement {
  switch (view.kind) {
    case "command":
      return h("div.output", commandOutput(view));
    case "file":
      return h("div.output", outputText(view.content), h("p.meta", fileNote(view)));
    case "notebook":
      return h("div.output", notebookOutputs(view));
  }
}

function commandOutput({
  stdout,
  stderr,
  exitCode,
  stopped,
}: Extract<MachineResultView, { kind: "command" }>): Child[] {
  return [
    stdout.trim() === "" ? null : outputText(stdout),
    stderr.trim() === "" ? null : h("div.stderr", outputText(stderr)),
    exitCode === 0 ? null : h("p.exit", stopped ?? `exit code ${exitCode ?? "none"}`),
    stdout.trim() + stderr.trim() === "" && exitCode === 0 && h("p.meta", "no output"),
  ];
}

function fileNote({ firstLine, lastLine, totalLines }: Extract<MachineResultView, { kind: "file" }>): string {
  return totalLines === 0 ? "empty file" : `lines ${firstLine} to ${lastLine} of ${count(totalLines)}`;
}

function notebookOutputs({ outputs, stopped }: Extract<MachineResultView, { kind: "notebook" }>): Child[] {
  return [
    ...outputs.flatMap(({ cell, text, error }) => [
      h("p.meta", `cell ${cell}`),
      text.trim() === "" ? null : outputText(text),
      error === null ? null : h("p.exit", untrustedInline(error)),
    ]),
    outputs.length === 0 && h("p.meta", "no output"),
    stopped === null ? null : h("p.exit", untrustedInline(stopped)),
  ];
}

function outputText(text: string): HTMLElement {
  const shown = untrustedText(text.replace(/\n$/, ""), "text code");
  if (text.length <= LONG) return shown;
  return h("details", h("summary", counted(text.length, "character")), shown);
}
