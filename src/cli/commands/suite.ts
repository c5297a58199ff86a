// The commands `suite ...`: check, list, show and export task suites.
import { z } from "zod";
import { commandLine } from "../../platform/command-line.js";
import { EXIT } from "../../platform/errors.js";
import { file, folder, oneOf, shapeOf, text, wholeNumber, withTraits } from "../../platform/flag-values.js";
import type { JsonObject } from "../../platform/json.js";
import { compact } from "../../platform/optional-values.js";
import { FUNCTIONS_FLAG, QUESTION_FLAGS, SUITE_RESOURCE_FLAGS, SUITE_SELECTION_FLAGS } from "../../runs/run-flags.js";
import type { ListedSuiteTask, ShownTask } from "../../suites/show-tasks.js";
import type { FunctionCall, SuiteTask } from "../../tasks/suite-task.js";
import { counted, table } from "../../text/format.js";
import { defineCommand } from "../flags/define-command.js";

const suiteDir = folder.meta({
  description: "Suite folder with examples/<tool>/<id>/<id>.json, or with Harbor tasks",
});

export const writeImageCommand = defineCommand(
  z.object({
    name: text.meta({ description: "Snapshot, such as jupyter" }),
    suite: folder.optional().meta({ description: "Suite folder with its own snapshots.json" }),
  }),
  async ({ name, suite }, { out }) => {
    const { snapshotImage } = await import("../../suites/suite.js");
    const dockerfile = await snapshotImage(name, suite);
    out.result({ snapshot: name, dockerfile }, () => dockerfile.trimEnd());
  },
);

export const showTaskCommand = defineCommand(
  z.object({
    dir: suiteDir,
    id: withTraits(text, { completes: "suiteTasks" }).meta({ description: "Task id, or the start of an id" }),
    ...shapeOf(SUITE_RESOURCE_FLAGS),
  }),
  async ({ dir, id, ...sources }, context) => {
    const { showTask } = await import("../../suites/show-tasks.js");
    const taskFacts = await showTask(dir, id, sources, context);
    context.out.result(taskFacts, () => taskText(taskFacts));
  },
);

function taskText({ task, takes, obstacle, pairedWith, machineNote, findings }: ShownTask): string {
  const facts: [string, string][] = compact([
    ["Task", task.id],
    ["Tool", task.tool],
    ["Snapshot", task.snapshot],
    ["Tags", task.tags.join(", ")],
    ["Related apps", task.relatedApps.join(", ")],
    ["Actions", task.actionNumber === null ? "not said" : String(task.actionNumber)],
    ["Counterpart", counterpartText(task, pairedWith)],
    ["Takes", takes],
    ["Runs here", obstacle === null ? "yes" : `no, ${obstacle.state}: ${obstacle.reason}`],
    machineNote !== null && (["Machine", machineNote] as [string, string]),
    ["Source", task.source.join(", ")],
    ["Folder", task.folder],
  ]);
  return compact([
    ...facts.map(([label, value]) => `${`${label}:`.padEnd(14)}${value}`),
    section("Instruction", [task.instruction]),
    section("Set-up", task.config.map(callText)),
    section("Evaluation", evaluationLines(task)),
    findings.length > 0 &&
      section(
        "Found by check",
        findings.map(({ level, field, message }) => `${level}: ${field}: ${message}`),
      ),
  ]).join("\n");
}

/** Only one task of a pair has to name the other. If this one does not, the text says so. */
function counterpartText({ counterpart }: SuiteTask, pairedWith: string | null): string {
  if (pairedWith === counterpart) return pairedWith ?? "none";
  if (pairedWith === null) return `${counterpart} (not a pair: not in the suite, or it names another task)`;
  return `${pairedWith} (it names this task, which names ${counterpart ?? "none"})`;
}

function section(title: string, lines: readonly string[]): string {
  return [`\n${title}`, ...(lines.length === 0 ? ["none"] : lines).map(indent)].join("\n");
}

function evaluationLines({ evaluation }: SuiteTask): string[] {
  if (evaluation === null) return [];
  const { postconfig, metrics, conjunction } = evaluation;
  return [
    ...postconfig.map((call) => `first ${callText(call)}`),
    ...metrics.flatMap(({ func, result, expected, options }, i) =>
      compact([
        `${i === 0 ? "" : `${conjunction} `}${callText({ func, arguments: options })}`,
        result !== null && `  result: ${callText(result)}`,
        expected !== null && `  expected: ${callText(expected)}`,
      ]),
    ),
  ];
}

function callText({ func, arguments: args }: FunctionCall): string {
  return `${func}(${argumentText(args)})`;
}

function argumentText(args: JsonObject): string {
  return Object.entries(args)
    .map(([name, value]) => `${name}=${JSON.stringify(value)}`)
    .join(", ");
}

const indent = (text: string) => text.replace(/^/gm, "  ");

export const listTasksCommand = defineCommand(
  z.object({ dir: suiteDir, ...shapeOf(SUITE_SELECTION_FLAGS), ...shapeOf(SUITE_RESOURCE_FLAGS) }),
  async ({ dir, ...flags }, context) => {
    const { listTasks } = await import("../../suites/show-tasks.js");
    const list = await listTasks(dir, flags, context);
    const { out } = context;
    if (list.unreadable > 0)
      out.note(`${counted(list.unreadable, "task")} cannot be read. See why: ${commandLine`art-e suite check ${dir}`}`);
    out.result(list, () => [taskTable(list.tasks), "", ...countLines(list.tasks)].join("\n"));
  },
);

function taskTable(tasks: readonly ListedSuiteTask[]): string {
  return table(
    ["id", "tool", "tags", "actions", "evaluation", "takes", "runs here"],
    tasks.map(({ id, tool, tags, actionNumber, evaluation, takes, obstacle }) => [
      id,
      tool,
      tags.join(","),
      actionNumber === null ? "-" : String(actionNumber),
      evaluation,
      takes,
      obstacle === null ? "yes" : obstacle.state,
    ]),
  );
}

/**
 * Returns the number of tasks, such as `44 tasks: 40 files, 4 script`, the number that can run on this machine, and the
 * missing parts of snapshots that are not ready.
 */
function countLines(tasks: readonly ListedSuiteTask[]): string[] {
  const obstacles = tasks.flatMap(({ obstacle }) => (obstacle === null ? [] : [obstacle]));
  const missing = new Set(obstacles.filter(({ state }) => state === "not_ready").map(({ reason }) => reason));
  const others = obstacles.length === 0 ? "" : `; the others: ${countEach(obstacles.map(({ state }) => state))}`;
  return [
    `${counted(tasks.length, "task")}${tasks.length === 0 ? "" : ": "}${countEach(tasks.map(({ takes }) => takes))}`,
    `runnable on this machine: ${tasks.length - obstacles.length}${others}`,
    ...missing,
  ];
}

/** `40 files, 4 script` */
function countEach(words: readonly string[]): string {
  const counts = new Map<string, number>();
  for (const word of words) counts.set(word, (counts.get(word) ?? 0) + 1);
  return [...counts].map(([word, count]) => `${count} ${word}`).join(", ");
}

const SUITES = ["art-e"] as const;

export const exportSuiteCommand = defineCommand(
  z.object({
    ...shapeOf(QUESTION_FLAGS),
    suite: oneOf(SUITES).meta({ description: "art-e: the questions about mailboxes" }),
    limit: wholeNumber(0).default(10).meta({ description: "Maximum number of tasks (0 = all)", alias: "l" }),
    output: file.meta({ placeholder: "FOLDER", description: "New suite folder (must not exist)", alias: "o" }),
  }),
  async (flags, context) => {
    const { refuseContradictions } = await import("../../questions/dataset.js");
    refuseContradictions(flags);
    const { exportArtE } = await import("../../suites/export-art-e.js");
    const exported = await exportArtE("--output", flags.output, flags, context);
    context.out.result(exported, () =>
      [
        `${counted(exported.tasks, "task")} in ${flags.output}`,
        `Run an agent on them: ${commandLine`art-e run --suite ${flags.output} -a baseline`}`,
      ].join("\n"),
    );
  },
);

export const checkSuiteCommand = defineCommand(
  z.object({
    dir: suiteDir,
    oracle: file.optional().meta({ description: "Grade the lines of an oracle file, and compare with their scores" }),
    ...shapeOf(FUNCTIONS_FLAG),
  }),
  async ({ dir, oracle, functions }, context) => {
    const { checkText, oracleText } = await import("../../reports/suite-check-text.js");
    const { gradeOracle } = await import("../../suites/grade-oracle.js");
    if (oracle !== undefined) {
      const report = await gradeOracle(dir, oracle, functions, context);
      context.out.result(report, () => oracleText(report));
      return report.different === 0 ? EXIT.done : EXIT.failed;
    }
    const { checkSuiteFolder } = await import("../../suites/check-suite.js");
    const check = await checkSuiteFolder(dir, functions);
    context.out.result(check, () => checkText(check));
    return check.errors.length === 0 ? EXIT.done : EXIT.failed;
  },
);
