// Reads the task files of a suite in the dialects of Flowbook and Spider2-V.
import { lstatSync, readFileSync } from "node:fs";
import { z } from "zod";
import { decodeUtf8 } from "../../platform/files.js";
import { isJsonObject, type JsonObject, jsonDepth, jsonObjectSchema, MAX_JSON_DEPTH } from "../../platform/json.js";
import type { FunctionCall, Metric, SuiteDialect, SuiteTask, TaskEvaluation } from "../../tasks/suite-task.js";
import { readHarborTask } from "../harbor/harbor-task.js";
import {
  fieldPath,
  findHarborTasks,
  findTaskFiles,
  pathInSuite,
  type SuiteFinding,
  type SuiteFolder,
  type TaskFilePath,
} from "../suite-folder.js";

export interface ReadSuite {
  readonly suite: SuiteFolder;
  /** Sorted by path. */
  readonly tasks: readonly ReadTask[];
  /** Problems with the tasks that could not be read. */
  readonly problems: readonly SuiteFinding[];
}

/** A readable task. */
export interface ReadTask {
  readonly task: SuiteTask;
  readonly path: TaskFilePath;
  /** Functions in the task's file that run. */
  readonly calls: readonly LocatedCall[];
  /** Fields of its file that the schema does not define. */
  readonly unknownFields: readonly string[];
  /** Setup functions that the original suite skips because they are spelled as in the other dialect. */
  readonly skipped: readonly LocatedCall[];
  /** Findings from reading it. */
  readonly findings: readonly SuiteFinding[];
}

type TaskReading =
  | ({ readonly ok: true } & ReadTask)
  | { readonly ok: false; readonly problems: readonly SuiteFinding[] };

/** The evaluation in one form, or the first problem with its field. */
type ReadEvaluation =
  | { readonly ok: true; readonly evaluation: TaskEvaluation | null }
  | { readonly ok: false; readonly field: string; readonly message: string };

/** Role of a function in a task. A `metric` compares values, which `result` and `expected` get. */
type CallRole = "config" | "postconfig" | "metric" | "result" | "expected";

/** A task's function, with the paths of the fields for its name and arguments in the file. */
export interface LocatedCall {
  readonly role: CallRole;
  readonly func: string;
  readonly arguments: JsonObject;
  /** Field like `config[0].func`. */
  readonly funcField: string;
  /** Field like `config[0].arguments`. */
  readonly argumentsField: string;
  /** Index of the comparison that it belongs to, or null. */
  readonly metric: number | null;
}

const name = z.string("expected a string").min(1, "expected a string").max(200, "expected at most 200 characters");

const flowbookCall = z.looseObject({
  func: name.describe("Name of the function."),
  arguments: jsonObjectSchema.nullish().describe("Arguments by name. Paths are relative to the task's folder."),
});

const spiderCall = z.looseObject({
  type: name.describe("Name of the function."),
  parameters: jsonObjectSchema.nullish().describe("Arguments by name. Paths are relative to the suite's root."),
});

/** A function in either dialect's spelling. */
const functionCallSchema = z.union([flowbookCall, spiderCall], {
  error: "expected {func, arguments} or {type, parameters}",
});

type WrittenCall = z.output<typeof functionCallSchema>;

export function readSuite(suite: SuiteFolder): ReadSuite {
  const isHarbor = suite.form === "harbor";
  const { files, findings } = isHarbor ? { files: findHarborTasks(suite), findings: [] } : findTaskFiles(suite);
  const readings = files.map((path) => (isHarbor ? readFolder : readTask)(path, suite));
  return {
    suite,
    tasks: readings.filter((reading) => reading.ok),
    problems: [...findings, ...readings.flatMap((reading) => (reading.ok ? [] : reading.problems))],
  };
}

/** Reads a Harbor task, which is a folder. Its functions do not come from a file, so there is no field to name. */
function readFolder(path: TaskFilePath, suite: SuiteFolder): TaskReading {
  const reading = readHarborTask(path, suite);
  return reading.ok ? { ...reading, calls: callsOf(reading.task), unknownFields: [], skipped: [] } : reading;
}

/** Maximum size of a task's file in bytes. The largest known one has 30 KB. */
const MAX_BYTES = 2_000_000;

/** Reads a task's file in either spelling. Returns the problems by field if it is invalid. */
function readTask(path: TaskFilePath, suite: SuiteFolder): TaskReading {
  const at = { level: "error", task: null, file: pathInSuite(suite, path.file) } as const;
  const failed = (code: string, problems: readonly { field: string; message: string }[]): TaskReading => ({
    ok: false,
    problems: problems.map(({ field, message }) => ({ ...at, code, field, message })),
  });
  let json: unknown;
  try {
    json = parseFile(path.file);
  } catch (cause) {
    return failed("task_unreadable", [{ field: "", message: (cause as Error).message }]);
  }
  const parsed = taskFileSchema.safeParse(json);
  if (!parsed.success) {
    const problems = parsed.error.issues.map((issue) => ({ field: fieldPath(issue.path), message: issue.message }));
    return failed("task_invalid", problems);
  }
  const file = parsed.data;
  if (file.evaluation && file.evaluator) {
    const message = "is used together with evaluation, but only one of them can grade the task";
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

/**
 * Returns whether Flowbook skips a function. Flowbook only runs functions that have a `func`, and ignores leftovers in
 * the other spelling.
 */
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
  if (!stats.isFile()) throw new Error("is not a regular file");
  const { size } = stats;
  if (size > MAX_BYTES) throw new Error(`has ${size} bytes, more than the maximum of ${MAX_BYTES}`);
  const text = decodeUtf8(readFileSync(file));
  if (text === null) throw new Error("is not UTF-8");
  if (jsonDepth(text) > MAX_JSON_DEPTH) throw new Error(`is nested more than ${MAX_JSON_DEPTH} levels deep`);
  try {
    return JSON.parse(text);
  } catch (cause) {
    throw new Error(`is not JSON: ${(cause as Error).message}`);
  }
}

/** Reads Flowbook's evaluation: one function whose arguments contain the files. */
function readFlowbookEvaluation(evaluation: TaskFile["evaluation"]): ReadEvaluation {
  const func = evaluation?.func;
  if (typeof func !== "string") return { ok: true, evaluation: null };
  const metric: Metric = { func, result: null, expected: null, options: evaluation?.arguments ?? {} };
  return { ok: true, evaluation: { postconfig: [], metrics: [metric], conjunction: "and" } };
}

/** Reads Spider2-V's evaluation: a function with its getters, or parallel lists of them. */
function readSpiderEvaluation(evaluator: WrittenEvaluator, postconfig: readonly FunctionCall[]): ReadEvaluation {
  const isList = Array.isArray(evaluator.func);
  const funcs = [evaluator.func].flat();
  for (const name of ["result", "expected", "options"] as const) {
    if (isParallel(evaluator[name], isList, funcs.length)) continue;
    const message = isList
      ? `expected a list of ${funcs.length}, because func is a list`
      : "expected no list, because func is not a list";
    return { ok: false, field: `evaluator.${name}`, message };
  }
  const metrics = funcs.map((func, i): Metric => {
    const options = itemAt(evaluator.options, i);
    const result = toCall(itemAt(evaluator.result, i));
    return { func, result, expected: toCall(itemAt(evaluator.expected, i)), options: options ?? {} };
  });
  return { ok: true, evaluation: { postconfig, metrics, conjunction: evaluator.conj ?? "and" } };
}

/** Returns whether a value matches the functions. Absent, null, `{}` and `[]` mean none. */
function isParallel(value: unknown, isList: boolean, length: number): boolean {
  if (Array.isArray(value)) return value.length === 0 || (isList && value.length === length);
  return !isList || !isJsonObject(value) || Object.keys(value).length === 0;
}

function itemAt(value: unknown, index: number): JsonObject | null {
  const item: unknown = Array.isArray(value) ? value[index] : value;
  return isJsonObject(item) ? item : null;
}

/** Converts a getter. All fields except `type` are its arguments. */
function toCall(getter: JsonObject | null): FunctionCall | null {
  if (typeof getter?.type !== "string") return null;
  const { type, ...rest } = getter;
  return { func: type, arguments: rest };
}

/** Converts a function of either spelling to one form, with its fields. */
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

/** Returns the functions of an evaluation: comparisons, including nested ones, and getters. */
function locateEvaluation(file: TaskFile, { metrics }: TaskEvaluation): LocatedCall[] {
  if (typeof file.evaluator !== "object" || file.evaluator === null) {
    return metrics.flatMap(({ func, options }) => locateComparisons(func, options, "evaluation"));
  }
  const isList = Array.isArray(file.evaluator.func);
  return metrics.flatMap((metric, i) => {
    const field = (name: string, isListItem: boolean) => `evaluator.${name}${isListItem ? `[${i}]` : ""}`;
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

const locate = (role: CallRole, metric: number | null) => (call: FunctionCall | null) =>
  call === null ? [] : [{ role, ...call, funcField: "", argumentsField: "", metric }];

/** Returns the functions that set up and grade a task, without the fields of its file. */
export function callsOf(task: Pick<SuiteTask, "config" | "evaluation">): LocatedCall[] {
  return [...task.config.flatMap(locate("config", null)), ...evaluationCalls(task)];
}

/** Returns the functions that grade a task, without the fields of its file. */
export function evaluationCalls({ evaluation }: Pick<SuiteTask, "evaluation">): LocatedCall[] {
  return [
    ...(evaluation?.postconfig ?? []).flatMap(locate("postconfig", null)),
    ...(evaluation?.metrics ?? []).flatMap(({ func, options, result, expected }, i) => [
      ...locateComparisons(func, options, ""),
      ...locate("result", i)(result),
      ...locate("expected", i)(expected),
    ]),
  ];
}

/** Returns a Flowbook comparison, and the nested ones if it combines several. */
function locateComparisons(func: string, options: LocatedCall["arguments"], field: string): LocatedCall[] {
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

const texts = z.array(z.string("expected a string"), "expected a list of strings").nullish();

const calls = z.array(functionCallSchema, "expected a list of functions").nullish();

/** `{}` and null mean that there is no getter. */
const NO_GETTER = "expected {type, ...}, {} or null";
const getter = z.union([z.looseObject({ type: name }), z.strictObject({}, NO_GETTER), z.null()], NO_GETTER);

const oneOrMore = <T extends z.ZodType>(schema: T, error: string) => z.union([schema, z.array(schema)], { error });

const evaluation = z.looseObject({
  func: name.nullish().describe("Evaluation function. A task without one has no score."),
  arguments: jsonObjectSchema
    .nullish()
    .describe("Arguments: gold files in the task's folder, paths in the machine, and options."),
});

const evaluator = z.looseObject({
  postconfig: calls.describe("Functions to run in the machine before results are collected."),
  func: oneOrMore(name, "expected a function name, or a list of names").describe(
    "Evaluation function, or a list of them.",
  ),
  conj: z
    .enum(["and", "or"], 'expected "and" or "or"')
    .nullish()
    .describe(
      "How to combine the scores of several functions: and (default) is 0 if any score is 0, otherwise the mean; or is the maximum.",
    ),
  result: oneOrMore(getter, "expected {type, ...}, or a list of them")
    .optional()
    .describe("Getter for the agent's result. One per listed function."),
  expected: oneOrMore(getter, "expected {type, ...}, or a list of them")
    .optional()
    .describe("Getter for the expected value. One per listed function."),
  options: oneOrMore(jsonObjectSchema.nullable(), "expected an object, or a list of them")
    .optional()
    .describe("Additional arguments for the function. One object per listed function."),
});

/**
 * A task's file, `examples/<tool>/<id>/<id>.json`, in either spelling. Unknown fields are allowed, because other
 * programs can use them.
 */
export const taskFileSchema = z.looseObject({
  id: name.describe("Task id, which is also the name of its folder and file."),
  snapshot: name.describe("Name of the task's machine snapshot, such as jupyter."),
  instruction: z
    .string("expected a string")
    .min(1, "expected a string")
    .describe("Instruction for the agent: the goal, or a step-by-step guide."),
  source: z.union([texts, z.string()], { error: "expected a list of strings" }).describe("Source of the task."),
  related_apps: texts.describe("Programs that the task is about."),
  tags: texts.describe(
    "Interface (cli, gui, cli+gui), guidance (verbose, abstract), domain (such as data_warehousing), and the tag account if the task needs credentials.",
  ),
  action_number: z
    .number("expected a whole number")
    .int("expected a whole number")
    .min(0, "expected a whole number of at least 0")
    .nullish()
    .describe("Number of steps that a person takes."),
  config: calls.describe("Functions that set up the machine, in order."),
  evaluation: evaluation.nullish().describe("Evaluation in Flowbook's format."),
  evaluator: evaluator.nullish().describe("Evaluation in Spider2-V's format."),
  counterpart: z
    .string("expected a string")
    .nullish()
    .describe("Id of the same task with an abstract instruction instead of a verbose one, or vice versa."),
});

export type TaskFile = z.output<typeof taskFileSchema>;
type WrittenEvaluator = z.output<typeof evaluator>;
