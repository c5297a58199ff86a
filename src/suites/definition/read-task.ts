import { lstatSync, readFileSync } from "node:fs";
import { jsonDepth, MAX_JSON_DEPTH } from "../../domain/json-depth.js";
import type { FunctionCall, SuiteDialect, SuiteTask } from "../../domain/tasks/suite-task.js";
import type { TaskFilePath } from "./find-task-files.js";
import { fieldPath, type SuiteFinding } from "./finding.js";
import { locateCall, locateEvaluation } from "./locate-calls.js";
import type { LocatedCall } from "./located-call.js";
import { readFlowbookEvaluation, readSpiderEvaluation } from "./read-evaluation.js";
import { pathInSuite, type SuiteFolder } from "./suite-folder.js";
import { type TaskFile, taskFileSchema } from "./task-schema.js";

/** No task's file comes near it: the largest known has 30 KB. */
const MAX_BYTES = 2_000_000;

/** A task that could be read. */
export interface ReadTask {
  readonly task: SuiteTask;
  readonly path: TaskFilePath;
  /** Every function that its file names and that is run. */
  readonly calls: readonly LocatedCall[];
  /** Fields of its file that the schema does not know. */
  readonly unknownFields: readonly string[];
  /** Set-up functions that the origin passes over, as they are in the other dialect's spelling. */
  readonly skipped: readonly LocatedCall[];
}

export type TaskReading =
  | ({ readonly ok: true } & ReadTask)
  | { readonly ok: false; readonly problems: readonly SuiteFinding[] };

/** Reads a task's file, in either spelling, or says by field what is wrong with it. */
export function readTask(path: TaskFilePath, suite: SuiteFolder): TaskReading {
  const at = { level: "error", task: null, file: pathInSuite(suite, path.file) } as const;
  const failed = (code: string, problems: readonly { field: string; message: string }[]): TaskReading => ({
    ok: false,
    problems: problems.map(({ field, message }) => ({ ...at, code, field, message })),
  });
  let written: unknown;
  try {
    written = parseFile(path.file);
  } catch (cause) {
    return failed("task_unreadable", [{ field: "", message: (cause as Error).message }]);
  }
  const parsed = taskFileSchema.safeParse(written);
  if (!parsed.success) {
    const problems = parsed.error.issues.map((issue) => ({ field: fieldPath(issue.path), message: issue.message }));
    return failed("task_invalid", problems);
  }
  const file = parsed.data;
  if (file.evaluation && file.evaluator) {
    const message = "stands beside evaluation: a task is graded by one of them";
    return failed("task_invalid", [{ field: "evaluator", message }]);
  }
  const dialect = dialectOf(file);
  const config = (file.config ?? []).map((call, i) => locateCall(call, "config", `config[${i}]`));
  const run = config.filter((call) => !isPassedOver(call, dialect));
  const postconfig = (file.evaluator?.postconfig ?? []).map((call, i) =>
    locateCall(call, "postconfig", `evaluator.postconfig[${i}]`),
  );
  const read = file.evaluator
    ? readSpiderEvaluation(file.evaluator, postconfig.map(toCall))
    : readFlowbookEvaluation(file.evaluation);
  if (!read.ok) return failed("task_invalid", [read]);
  const { evaluation } = read;
  const task: SuiteTask = {
    id: file.id,
    dialect,
    tool: path.tool,
    folder: path.folder,
    instruction: file.instruction,
    snapshot: file.snapshot,
    source: [file.source ?? []].flat(),
    relatedApps: file.related_apps ?? [],
    tags: file.tags ?? [],
    actionNumber: file.action_number ?? null,
    counterpart: file.counterpart || null,
    config: run.map(toCall),
    evaluation,
  };
  return {
    ok: true,
    task,
    path,
    calls: [...run, ...postconfig, ...(evaluation === null ? [] : locateEvaluation(file, evaluation))],
    unknownFields: Object.keys(file).filter((name) => !Object.hasOwn(taskFileSchema.shape, name)),
    skipped: config.filter((call) => isPassedOver(call, dialect)),
  };
}

const toCall = ({ func, arguments: args }: LocatedCall): FunctionCall => ({ func, arguments: args });

/** Flowbook runs what has a `func`, and passes over what is left of the other spelling. */
function isPassedOver({ funcField }: LocatedCall, dialect: SuiteDialect): boolean {
  return dialect === "flowbook" && funcField.endsWith(".type");
}

function dialectOf({ evaluation, evaluator, config }: TaskFile): SuiteDialect {
  if (evaluation) return "flowbook";
  if (evaluator) return "spider2v";
  const calls = config ?? [];
  return calls.length > 0 && calls.every((call) => typeof call.type === "string") ? "spider2v" : "flowbook";
}

function parseFile(file: string): unknown {
  const stats = lstatSync(file);
  if (!stats.isFile()) throw new Error("is no regular file");
  const { size } = stats;
  if (size > MAX_BYTES) throw new Error(`has ${size} bytes; at most ${MAX_BYTES} are read`);
  const text = decode(readFileSync(file));
  if (jsonDepth(text) > MAX_JSON_DEPTH) throw new Error(`is nested more than ${MAX_JSON_DEPTH} levels deep`);
  try {
    return JSON.parse(text);
  } catch (cause) {
    throw new Error(`is not JSON: ${(cause as Error).message}`);
  }
}

function decode(bytes: Uint8Array): string {
  try {
    return new TextDecoder("utf-8", { fatal: true }).decode(bytes);
  } catch {
    throw new Error("is not UTF-8");
  }
}
