import { z } from "zod";
import type { ShownTask } from "../../app/suites/show-task.js";
import { EXIT } from "../../domain/errors.js";
import type { JsonObject } from "../../domain/json.js";
import type { FunctionCall, SuiteTask } from "../../domain/tasks/suite-task.js";
import type { Command } from "../cli/command.js";
import { readFlags, text } from "../cli/read-flags.js";
import { SUITE_DIR } from "../flags/suite-selection-flags.js";

const schema = z.object({ dir: text, id: text });

export const showTaskCommand: Command = {
  positionals: { dir: SUITE_DIR, id: { type: "string", describe: "The task's id, or the beginning of it" } },
  flags: {},
  async run(argv, { out }) {
    const { dir, id } = readFlags("suite show", schema, argv);
    const { showTask } = await import("../../app/suites/show-task.js");
    const shown = showTask(dir, id);
    out.result(shown, () => taskText(shown));
    return EXIT.done;
  },
};

function taskText({ task, runnable, pairedWith, findings }: ShownTask): string {
  const facts: [string, string][] = [
    ["Task", task.id],
    ["Tool", task.tool],
    ["Snapshot", task.snapshot],
    ["Tags", task.tags.join(", ")],
    ["Related apps", task.relatedApps.join(", ")],
    ["Actions", task.actionNumber === null ? "not said" : String(task.actionNumber)],
    ["Counterpart", pairedWith ?? "none"],
    ["Runnable", runnable],
    ["Source", task.source.join(", ")],
    ["Folder", task.folder],
  ];
  return [
    ...facts.map(([label, value]) => `${`${label}:`.padEnd(14)}${value}`),
    section("Instruction", [task.instruction]),
    section("Set-up", task.config.map(callText)),
    section("Evaluation", evaluationLines(task)),
    ...(findings.length === 0
      ? []
      : [
          section(
            "Found by check",
            findings.map(({ level, field, message }) => `${level}: ${field}: ${message}`),
          ),
        ]),
  ].join("\n");
}

function section(title: string, lines: readonly string[]): string {
  return [`\n${title}`, ...(lines.length === 0 ? ["none"] : lines).map(indent)].join("\n");
}

function evaluationLines({ evaluation }: SuiteTask): string[] {
  if (evaluation === null) return [];
  const { postconfig, metrics, conjunction } = evaluation;
  return [
    ...postconfig.map((call) => `first ${callText(call)}`),
    ...metrics.flatMap(({ func, result, expected, options }, i) => [
      `${i === 0 ? "" : `${conjunction} `}${callText({ func, arguments: options })}`,
      ...(result === null ? [] : [`  result: ${callText(result)}`]),
      ...(expected === null ? [] : [`  expected: ${callText(expected)}`]),
    ]),
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
