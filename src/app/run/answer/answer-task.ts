import type { Trace } from "../../../domain/runs/trace.js";
import type { PlannedTask } from "../../../domain/tasks/planned-task.js";
import { isQuestion } from "../../../domain/tasks/question.js";
import { answerQuestion } from "./answer-question.js";
import { answerSuiteTask } from "./answer-suite-task.js";
import type { Answering } from "./answering.js";

/** Has the agent do one task, of whichever kind. */
export function answerTask(
  shared: Answering,
  { task, epoch }: PlannedTask,
  signal: AbortSignal,
  onFailure: (error: unknown) => void,
): Promise<Trace> {
  if (isQuestion(task)) return answerQuestion(shared, { task, epoch }, signal, onFailure);
  if (shared.suite === undefined) throw new Error(`task ${task.id} is of a suite, and the run was opened without one`);
  return answerSuiteTask(shared, shared.suite, { task, epoch }, signal, onFailure);
}
