import type { TaskEvaluation } from "../../domain/tasks/suite-task.js";
import { callForScore } from "../custom/call-custom-function.js";
import type { FlowbookFunction } from "../flowbook/flowbook-function.js";
import { FLOWBOOK_FUNCTIONS } from "../flowbook/functions.js";
import { CannotGrade } from "./cannot-grade.js";
import { customCall, type EvaluationContext } from "./evaluation-context.js";

export interface Score {
  readonly score: number;
  /** Why it is 0, where something went wrong. */
  readonly reason: string;
}

/** Flowbook's runner: one function; a missing file or any error in it scores 0. */
export async function evaluateFlowbook(evaluation: TaskEvaluation, context: EvaluationContext): Promise<Score> {
  const [metric] = evaluation.metrics;
  if (metric === undefined) throw new CannotGrade("unsupported", "the task names no evaluation function");
  const evaluate = findFunction(metric.func, context);
  if (evaluate === undefined) throw new CannotGrade("unsupported", `evaluation function ${metric.func} is not known`);
  try {
    const score = await evaluate(metric.options, context);
    return { score, reason: score === 1 ? "" : `${metric.func} gives ${score}` };
  } catch (error) {
    if (error instanceof CannotGrade || context.signal.aborted) throw error;
    return { score: 0, reason: `${metric.func}: ${error instanceof Error ? error.message : String(error)}` };
  }
}

function findFunction(name: string, context: EvaluationContext): FlowbookFunction | undefined {
  const custom = context.options.custom?.evaluation.get(name);
  if (custom !== undefined) return (args) => callForScore(custom, args, customCall(context));
  return Object.hasOwn(FLOWBOOK_FUNCTIONS, name) ? FLOWBOOK_FUNCTIONS[name] : undefined;
}
