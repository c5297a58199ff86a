import { posix } from "node:path";
import { z } from "zod";
import type { JsonObject, JsonValue } from "../../domain/json.js";
import { HOME } from "../../domain/tasks/task-machine.js";
import { parseArguments } from "../definition/parse-arguments.js";
import { CannotGrade } from "../evaluation/cannot-grade.js";
import type { EvaluationContext } from "../evaluation/evaluation-context.js";
import { runFlowbookScript } from "../evaluation/flowbook-script.js";
import { readCollectedFile, resolveSuiteFile } from "../evaluation/suite-files.js";
import { decodeText } from "../formats/python/text.js";
import { isList, isTruthy } from "../formats/python/values.js";
import { collectResult, type FlowbookFunction } from "./flowbook-function.js";

const schema = z.looseObject({ eval_script: z.string(), vm_eval_logs: z.string() });

/**
 * Flowbook's `compare_script_logs`: runs a script of the task in the machine and looks for texts in the log that it
 * writes. The script lies at /home/user/NAME, as at the origin's commit 485a525; its newest one makes a folder of that
 * name. A script that fails is an error.
 */
export const compareScriptLogs: FlowbookFunction = async (args, context) => {
  const { eval_script, vm_eval_logs } = parseArguments(schema, args);
  await runScript(eval_script, context);
  const log = decodeText(await readCollectedFile(await collectResult(context, vm_eval_logs)));
  return scoreLog(log, args.rules);
};

async function runScript(script: string, context: EvaluationContext): Promise<void> {
  const source = await resolveSuiteFile(context.task.folder, script);
  if (source === null) throw new CannotGrade("unsupported", `the script ${script} is missing in the task's folder`);
  const { machine, signal } = context;
  if (!machine.canRun) {
    throw new CannotGrade("unsupported", `it runs ${script}, and this machine only holds files`);
  }
  const path = posix.join(HOME, posix.basename(script));
  const { exitCode } = await runFlowbookScript(source, path, machine, signal);
  if (exitCode !== 0) throw new Error(`${path} ended with ${exitCode ?? "its time limit"}`);
}

/** Every `include` in the log, no `exclude`. No rules at all score 0, unlike in Spider2-V. */
export function scoreLog(log: string, rules: JsonValue | undefined): number {
  if (!isTruthy(rules)) return 0;
  const { include, exclude } = rules as JsonObject;
  return Number(
    textsOf(include).every((text) => log.includes(text)) && !textsOf(exclude).some((text) => log.includes(text)),
  );
}

function textsOf(list: JsonValue | undefined): readonly string[] {
  if (list === undefined) return [];
  if (isList(list) && list.every((text) => typeof text === "string")) return list;
  throw new Error("include and exclude must be lists of texts");
}
