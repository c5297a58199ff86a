// One epoch of a task in a run, and its key. Threads import it without the schemas of question.ts.
import type { TaskId } from "./question.js";

export interface TaskEpoch {
  readonly taskId: TaskId;
  readonly epoch: number;
}

export function epochKey({ taskId, epoch }: TaskEpoch): string {
  return `${taskId}/${epoch}`;
}
