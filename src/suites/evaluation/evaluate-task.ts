import type { Grade, SuiteTask } from "../../domain/tasks/suite-task.js";
import type { TaskMachine } from "../../domain/tasks/task-machine.js";
import { CannotGrade } from "./cannot-grade.js";
import { evaluateFlowbook } from "./evaluate-flowbook.js";
import { evaluateSpider2v } from "./evaluate-spider2v.js";
import type { EvaluationContext, EvaluationOptions } from "./evaluation-context.js";

/**
 * Grades what an agent left in the task's machine, by the rules of the suite that the task is of. Throws only where
 * `signal` aborts it.
 */
export async function evaluateTask(
  task: SuiteTask,
  machine: TaskMachine,
  options: EvaluationOptions,
  signal: AbortSignal,
): Promise<Grade> {
  const context: EvaluationContext = { task, machine, options, signal };
  try {
    if (task.evaluation === null) throw new CannotGrade("unsupported", "the task has no evaluation");
    const evaluate = task.dialect === "flowbook" ? evaluateFlowbook : evaluateSpider2v;
    const { score, reason } = await evaluate(task.evaluation, context);
    return { score, state: "success", reason: toLine(reason) };
  } catch (error) {
    if (signal.aborted) throw error;
    const reason = toLine(error instanceof Error ? error.message : String(error));
    return { score: null, state: error instanceof CannotGrade ? error.state : "eval_error", reason };
  }
}

function toLine(text: string): string {
  return text.replace(/\s+/g, " ").trim().slice(0, 500);
}
