// Identifies one epoch of a task in a run. Threads import it without the schemas of question.ts.
import type { TaskId } from "./question.js";

export function epochKey({ taskId, epoch }: { readonly taskId: TaskId; readonly epoch: number }): string {
  return `${taskId}/${epoch}`;
}
