import type { TaskEvaluation } from "../../domain/tasks/suite-task.js";
import { isJsonObject } from "./is-json-object.js";
import type { CallRole, LocatedCall } from "./located-call.js";
import type { TaskFile, WrittenCall } from "./task-schema.js";

/** A written function in one form, with its fields. */
export function locateCall(call: WrittenCall, role: CallRole, field: string): LocatedCall {
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
export function locateEvaluation(file: TaskFile, { metrics }: TaskEvaluation): LocatedCall[] {
  if (typeof file.evaluator !== "object" || file.evaluator === null) {
    return metrics.flatMap(({ func, options }) => comparisons(func, options, "evaluation"));
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
function comparisons(func: string, options: LocatedCall["arguments"], field: string): LocatedCall[] {
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
    return comparisons(item.func, own, `${field}.arguments.comparisons[${i}]`);
  });
  return [call, ...within];
}
