import { lstatSync, readFileSync } from "node:fs";
import { z } from "zod";
import { type JsonObject, jsonDepth, jsonObjectSchema, MAX_JSON_DEPTH } from "../platform/json.js";
import type { FunctionCall, Metric, SuiteDialect, SuiteTask, TaskEvaluation } from "../tasks/suite-task.js";
import { readHarborTask } from "./harbor-task.js";
import {
  fieldPath,
  findHarborTasks,
  findTaskFiles,
  isJsonObject,
  pathInSuite,
  type SuiteFinding,
  type SuiteFolder,
  type TaskFilePath,
} from "./suite-folder.js";

export interface ReadSuite {
  readonly suite: SuiteFolder;
  /** In the order of their paths. */
  readonly tasks: readonly ReadTask[];
  /** Why others could not be read. */
  readonly problems: readonly SuiteFinding[];
}

export function readSuite(suite: SuiteFolder): ReadSuite {
  if (suite.form === "harbor") return readHarborSuite(suite);
  const { files, findings } = findTaskFiles(suite);
  const tasks: ReadTask[] = [];
  const problems = [...findings];
  for (const path of files) {
    const reading = readTask(path, suite);
    if (reading.ok) tasks.push(reading);
    else problems.push(...reading.problems);
  }
  return { suite, tasks, problems };
}

function readHarborSuite(suite: SuiteFolder): ReadSuite {
  const readings = findHarborTasks(suite).map((path) => readHarborTask(path, suite));
  const tasks = readings
    .filter((reading) => reading.ok)
    .map(({ task, path, findings }): ReadTask => {
      const config = task.config.map(
        (call): LocatedCall => ({ role: "config", ...call, ...IN_SETTINGS, metric: null }),
      );
      const metrics = (task.evaluation?.metrics ?? []).map(
        ({ func, options }): LocatedCall => ({ role: "metric", func, arguments: options, ...IN_SETTINGS, metric: 0 }),
      );
      return { task, path, calls: [...config, ...metrics], unknownFields: [], skipped: [], findings };
    });
  return { suite, tasks, problems: readings.flatMap((reading) => (reading.ok ? [] : reading.problems)) };
}

/** Functions of Harbor tasks have no names in a file of theirs. */
const IN_SETTINGS = { funcField: "", argumentsField: "" };

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
  /** What reading it has found already. */
  readonly findings: readonly SuiteFinding[];
}

type TaskReading =
  | ({ readonly ok: true } & ReadTask)
  | { readonly ok: false; readonly problems: readonly SuiteFinding[] };

/** Reads a task's file, in either spelling, or says by field what is wrong with it. */
function readTask(path: TaskFilePath, suite: SuiteFolder): TaskReading {
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
    ? readSpiderEvaluation(file.evaluator, postconfig.map(toTaskCall))
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
    config: run.map(toTaskCall),
    evaluation,
  };
  return {
    ok: true,
    task,
    path,
    calls: [...run, ...postconfig, ...(evaluation === null ? [] : locateEvaluation(file, evaluation))],
    unknownFields: Object.keys(file).filter((name) => !Object.hasOwn(taskFileSchema.shape, name)),
    skipped: config.filter((call) => isPassedOver(call, dialect)),
    findings: [],
  };
}

const toTaskCall = ({ func, arguments: args }: LocatedCall): FunctionCall => ({ func, arguments: args });

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

/** The evaluation in one form, or what is wrong with it and where. */
type ReadEvaluation =
  | { readonly ok: true; readonly evaluation: TaskEvaluation | null }
  | { readonly ok: false; readonly field: string; readonly message: string };

/** Flowbook: one function, whose arguments name the files themselves. */
function readFlowbookEvaluation(evaluation: TaskFile["evaluation"]): ReadEvaluation {
  const func = evaluation?.func;
  if (typeof func !== "string") return { ok: true, evaluation: null };
  const metric: Metric = { func, result: null, expected: null, options: evaluation?.arguments ?? {} };
  return { ok: true, evaluation: { postconfig: [], metrics: [metric], conjunction: "and" } };
}

/** Spider2-V: a function with its getters, or parallel lists of them. */
function readSpiderEvaluation(evaluator: WrittenEvaluator, postconfig: readonly FunctionCall[]): ReadEvaluation {
  const isList = Array.isArray(evaluator.func);
  const funcs = [evaluator.func].flat();
  for (const name of ["result", "expected", "options"] as const) {
    if (isParallel(evaluator[name], isList, funcs.length)) continue;
    const message = isList ? `expected a list of ${funcs.length}, as func is one` : "expected no list, as func is none";
    return { ok: false, field: `evaluator.${name}`, message };
  }
  const metrics = funcs.map((func, i): Metric => {
    const options = itemAt(evaluator.options, i);
    const result = toCall(itemAt(evaluator.result, i));
    return { func, result, expected: toCall(itemAt(evaluator.expected, i)), options: options ?? {} };
  });
  return { ok: true, evaluation: { postconfig, metrics, conjunction: evaluator.conj ?? "and" } };
}

/** Absent, null, `{}` and `[]` stand for none. */
function isParallel(value: unknown, isList: boolean, length: number): boolean {
  if (Array.isArray(value)) return value.length === 0 || (isList && value.length === length);
  return !isList || !isJsonObject(value) || Object.keys(value).length === 0;
}

function itemAt(value: unknown, index: number): JsonObject | null {
  const item: unknown = Array.isArray(value) ? value[index] : value;
  return isJsonObject(item) ? item : null;
}

/** A getter's fields beside `type` are its arguments. */
function toCall(getter: JsonObject | null): FunctionCall | null {
  if (typeof getter?.type !== "string") return null;
  const { type, ...rest } = getter;
  return { func: type, arguments: rest };
}

/** A written function in one form, with its fields. */
function locateCall(call: WrittenCall, role: CallRole, field: string): LocatedCall {
  const isFunc = typeof call.func === "string";
  return {
    role,
    func: String(isFunc ? call.func : call.type),
    arguments: ((isFunc ? call.arguments : call.parameters) as LocatedCall["arguments"]) ?? {},
    funcField: `${field}.${isFunc ? "func" : "type"}`,
    argumentsField: `${field}.${isFunc ? "arguments" : "parameters"}`,
    metric: null,
  };
}

/** The functions of an evaluation: comparisons, also those within a comparison, and getters. */
function locateEvaluation(file: TaskFile, { metrics }: TaskEvaluation): LocatedCall[] {
  if (typeof file.evaluator !== "object" || file.evaluator === null) {
    return metrics.flatMap(({ func, options }) => locateComparisons(func, options, "evaluation"));
  }
  const isList = Array.isArray(file.evaluator.func);
  return metrics.flatMap((metric, i) => {
    const field = (name: string, listed: boolean) => `evaluator.${name}${listed ? `[${i}]` : ""}`;
    const compare: LocatedCall = {
      role: "metric",
      func: metric.func,
      arguments: metric.options,
      funcField: field("func", isList),
      argumentsField: field("options", isList && Array.isArray(file.evaluator?.options)),
      metric: i,
    };
    const getters = (["result", "expected"] as const).flatMap((role): LocatedCall[] => {
      const getter = metric[role];
      if (getter === null) return [];
      const argumentsField = field(role, isList);
      return [{ role, ...getter, funcField: `${argumentsField}.type`, argumentsField, metric: i }];
    });
    return [compare, ...getters];
  });
}

/** A Flowbook comparison and, of one that joins several, these. */
export function locateComparisons(func: string, options: LocatedCall["arguments"], field: string): LocatedCall[] {
  const call: LocatedCall = {
    role: "metric",
    func,
    arguments: options,
    funcField: `${field}.func`,
    argumentsField: `${field}.arguments`,
    metric: 0,
  };
  const nested = Array.isArray(options.comparisons) ? options.comparisons : [];
  const within = nested.flatMap((item: unknown, i) => {
    if (!isJsonObject(item) || typeof item.func !== "string") return [];
    const own = isJsonObject(item.arguments) ? item.arguments : {};
    return locateComparisons(item.func, own, `${field}.arguments.comparisons[${i}]`);
  });
  return [call, ...within];
}

const name = z.string("expected a text").min(1, "expected a text").max(200, "expected at most 200 characters");
const texts = z.array(z.string("expected a text"), "expected a list of texts").nullish();

const flowbookCall = z.looseObject({
  func: name.describe("Name of the function."),
  arguments: jsonObjectSchema.nullish().describe("Its arguments by name. Paths are relative to the task's folder."),
});

const spiderCall = z.looseObject({
  type: name.describe("Name of the function."),
  parameters: jsonObjectSchema.nullish().describe("Its arguments by name. Paths are relative to the suite's root."),
});

/** A function as either dialect writes it. */
const functionCallSchema = z.union([flowbookCall, spiderCall], {
  error: "expected {func, arguments} or {type, parameters}",
});

const calls = z.array(functionCallSchema, "expected a list of functions").nullish();

/** `{}` and null stand for no getter. */
const NO_GETTER = "expected {type, ...}, {} or null";
const getter = z.union([z.looseObject({ type: name }), z.strictObject({}, NO_GETTER), z.null()], NO_GETTER);

const oneOrMore = <T extends z.ZodType>(schema: T, error: string) => z.union([schema, z.array(schema)], { error });

const evaluation = z.looseObject({
  func: name.nullish().describe("The evaluation function; without one the task has no score."),
  arguments: jsonObjectSchema
    .nullish()
    .describe("Its arguments: gold files of the task's folder, paths in the machine, options."),
});

const evaluator = z.looseObject({
  postconfig: calls.describe("Functions run in the machine before anything is collected from it."),
  func: oneOrMore(name, "expected the name of a function, or a list of names").describe(
    "The evaluation function, or a list of them.",
  ),
  conj: z
    .enum(["and", "or"], 'expected "and" or "or"')
    .nullish()
    .describe("How the scores of a list count: and (default) is 0 at the first 0, else the mean; or is the best."),
  result: oneOrMore(getter, "expected {type, ...}, or a list of them")
    .optional()
    .describe("Gets what the agent left behind; one for each function of a list."),
  expected: oneOrMore(getter, "expected {type, ...}, or a list of them")
    .optional()
    .describe("Gets what it is compared with; one for each function of a list."),
  options: oneOrMore(jsonObjectSchema.nullable(), "expected an object, or a list of them")
    .optional()
    .describe("Further arguments of the function; one object for each function of a list."),
});

/**
 * A task's file, `examples/<tool>/<id>/<id>.json`, in both spellings. Unknown fields are let through: whoever made the
 * task knows what they are for.
 */
export const taskFileSchema = z.looseObject({
  id: name.describe("The task's id, which is the name of its folder and of its file too."),
  snapshot: name.describe("Names what the task's machine holds, such as jupyter."),
  instruction: z
    .string("expected a text")
    .min(1, "expected a text")
    .describe("What the agent is told: the goal, or a step-by-step guide."),
  source: z.union([texts, z.string()], { error: "expected a list of texts" }).describe("Where the task comes from."),
  related_apps: texts.describe("The programs it is about."),
  tags: texts.describe(
    "Interface (cli, gui, cli+gui), guidance (verbose, abstract), domain (such as data_warehousing), and account where credentials are needed.",
  ),
  action_number: z
    .number("expected a whole number")
    .int("expected a whole number")
    .min(0, "expected a whole number of at least 0")
    .nullish()
    .describe("Steps that a person takes."),
  config: calls.describe("Functions that set the machine up, in their order."),
  evaluation: evaluation.nullish().describe("How the task is graded, as Flowbook writes it."),
  evaluator: evaluator.nullish().describe("How the task is graded, as Spider2-V writes it."),
  counterpart: z
    .string("expected a text")
    .nullish()
    .describe("Id of the same task with an abstract instead of a verbose instruction, or the reverse."),
});

export type TaskFile = z.output<typeof taskFileSchema>;
type WrittenCall = z.output<typeof functionCallSchema>;
type WrittenEvaluator = z.output<typeof evaluator>;

/** What a function of a task is for. `metric`: compares; `result` and `expected`: get what is compared. */
type CallRole = "config" | "postconfig" | "metric" | "result" | "expected";

/** A function of a task with the fields that name it, as the file spells them. */
export interface LocatedCall {
  readonly role: CallRole;
  readonly func: string;
  readonly arguments: JsonObject;
  /** `config[0].func` */
  readonly funcField: string;
  /** `config[0].arguments` */
  readonly argumentsField: string;
  /** Which comparison of the evaluation it belongs to; null: none. */
  readonly metric: number | null;
}
