import type { TaskEvaluation } from "../../domain/tasks/suite-task.js";
import { FLOWBOOK_FUNCTIONS } from "../flowbook/functions.js";
import { CannotGrade } from "./cannot-grade.js";
import type { EvaluationContext } from "./evaluation-context.js";

export interface Score {
  readonly score: number;
  /** Why it is 0, where something went wrong. */
  readonly reason: string;
}

/** Flowbook's runner: one function; a missing file or any error in it scores 0. */
export async function evaluateFlowbook(evaluation: TaskEvaluation, context: EvaluationContext): Promise<Score> {
  const [metric] = evaluation.metrics;
  if (metric === undefined) throw new CannotGrade("unsupported", "the task names no evaluation function");
  const evaluate = Object.hasOwn(FLOWBOOK_FUNCTIONS, metric.func) ? FLOWBOOK_FUNCTIONS[metric.func] : undefined;
  if (evaluate === undefined) throw new CannotGrade("unsupported", `evaluation function ${metric.func} is not known`);
  try {
    const score = await evaluate(metric.options, context);
    return { score, reason: score === 1 ? "" : `${metric.func} gives ${score}` };
  } catch (error) {
    if (error instanceof CannotGrade || context.signal.aborted) throw error;
    return { score: 0, reason: `${metric.func}: ${error instanceof Error ? error.message : String(error)}` };
  }
}
