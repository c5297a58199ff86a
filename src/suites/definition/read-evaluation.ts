import type { JsonObject } from "../../domain/json.js";
import type { FunctionCall, Metric, TaskEvaluation } from "../../domain/tasks/suite-task.js";
import { isJsonObject } from "./is-json-object.js";
import type { TaskFile, WrittenEvaluator } from "./task-schema.js";

/** The evaluation in one form, or what is wrong with it and where. */
export type ReadEvaluation =
  | { readonly ok: true; readonly evaluation: TaskEvaluation | null }
  | { readonly ok: false; readonly field: string; readonly message: string };

/** Flowbook: one function, whose arguments name the files themselves. */
export function readFlowbookEvaluation(evaluation: TaskFile["evaluation"]): ReadEvaluation {
  const func = evaluation?.func;
  if (typeof func !== "string") return { ok: true, evaluation: null };
  const metric: Metric = { func, result: null, expected: null, options: evaluation?.arguments ?? {} };
  return { ok: true, evaluation: { postconfig: [], metrics: [metric], conjunction: "and" } };
}

/** Spider2-V: a function with its getters, or parallel lists of them. */
export function readSpiderEvaluation(evaluator: WrittenEvaluator, postconfig: readonly FunctionCall[]): ReadEvaluation {
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
