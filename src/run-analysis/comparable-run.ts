import type { TaskResult } from "../domain/runs/benchmark-result.js";
import { modelAndToolTimeOf } from "../domain/runs/task-times.js";
import type { ComparableRun, ComparedQuestion, RunHead } from "../domain/scores/comparison.js";
import { isFailure } from "../domain/tasks/task-ending.js";
import type { TaskId } from "../domain/tasks/task-id.js";

/** Characters of a question or answer that are kept: enough to recognise it. */
const MAX_CHARS = 300;

/** Cost, time and turns of a task, compared like scores; lower is better. Waiting is no property of the agent. */
export const EFFORT = {
  costUsd: { label: "Cost of a task, $", read: (task: TaskResult) => task.costUsd },
  modelAndToolTimeMs: { label: "Model and tool time, ms", read: modelAndToolTimeOf },
  turns: { label: "Turns of a task", read: (task: TaskResult) => task.turns },
} as const;

/**
 * Groups the repeats of each question. Failed tasks have no values, except for the grade of a suite's task whose time
 * ran out.
 */
export class QuestionTally {
  private readonly sums = new Map<
    TaskId,
    { first: TaskResult; answer: string; byMetric: Map<string, [sum: number, n: number]> }
  >();

  add(task: TaskResult): void {
    const question = this.sums.get(task.taskId) ?? { first: task, answer: "", byMetric: new Map() };
    this.sums.set(task.taskId, question);
    const failed = isFailure(task.ending);
    question.answer ||= outcomeText(task, failed).slice(0, MAX_CHARS);
    const effort = failed ? [] : Object.entries(EFFORT).map(([name, { read }]) => [name, read(task)] as const);
    for (const [name, value] of [...Object.entries(task.scores), ...effort]) {
      if (value === null) continue;
      const [sum, n] = question.byMetric.get(name) ?? [0, 0];
      question.byMetric.set(name, [sum + value, n + 1]);
    }
  }

  questions(): Map<TaskId, ComparedQuestion> {
    const questions = new Map<TaskId, ComparedQuestion>();
    for (const [taskId, { first, answer, byMetric }] of this.sums) {
      const values = Object.fromEntries([...byMetric].map(([name, [sum, n]]) => [name, sum / n]));
      questions.set(taskId, { question: first.question.slice(0, MAX_CHARS), inbox: first.inbox, answer, values });
    }
    return questions;
  }
}

export function comparableRun(head: RunHead, results: Iterable<TaskResult>): ComparableRun {
  const tally = new QuestionTally();
  for (const task of results) tally.add(task);
  return { head, questions: tally.questions() };
}

function outcomeText({ suite, agentAnswer }: TaskResult, failed: boolean): string {
  if (suite !== undefined) return [suite.state, suite.reason].filter((part) => part !== "").join(": ");
  return failed ? "" : agentAnswer;
}
