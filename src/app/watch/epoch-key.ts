import type { TaskId } from "../../domain/tasks/task-id.js";

/** One key for all attempts at a repeat of a task. */
export function epochKey({ taskId, epoch }: { readonly taskId: TaskId; readonly epoch: number }): string {
  return `${taskId}/${epoch}`;
}
