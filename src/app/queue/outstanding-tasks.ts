import type { PlannedTask } from "../../domain/tasks/planned-task.js";
import { isQuestion } from "../../domain/tasks/question.js";
import type { TaskMessage } from "../../queue/messages.js";
import { taskKey } from "../../queue/run-queue.js";
import type { Answered } from "../run/answer/task-answerer.js";

interface OutstandingTask {
  readonly planned: PlannedTask;
  readonly message: TaskMessage;
  /** Null: it is left for a resume. */
  settle(answered: Answered | null): void;
}

/** The tasks that were asked for and have no answer yet, by their ids on the queue. */
export class OutstandingTasks {
  private readonly tasks = new Map<string, OutstandingTask>();
  /** Not on the queue yet. */
  private unsent: string[] = [];
  private fault: { readonly error: unknown } | null = null;

  get size(): number {
    return this.tasks.size;
  }

  get hasUnsent(): boolean {
    return this.unsent.length > 0;
  }

  ids(): string[] {
    return [...this.tasks.keys()];
  }

  planned(id: string): PlannedTask | undefined {
    return this.tasks.get(id)?.planned;
  }

  /** Resolves when the task is settled, to null also where the signal aborts. Rejects after `fail`. */
  add(planned: PlannedTask, signal: AbortSignal): Promise<Answered | null> {
    const id = taskKey(planned.task.id, planned.epoch);
    return new Promise((resolve, reject) => {
      const settle = (answered: Answered | null) => {
        signal.removeEventListener("abort", leave);
        this.tasks.delete(id);
        if (this.fault === null) resolve(answered);
        else reject(this.fault.error);
      };
      const leave = () => settle(null);
      if (this.fault !== null) return settle(null);
      signal.addEventListener("abort", leave, { once: true });
      this.tasks.set(id, { planned, message: messageOf(planned), settle });
      this.unsent.push(id);
    });
  }

  settle(id: string, answered: Answered | null): void {
    this.tasks.get(id)?.settle(answered);
  }

  /** They are to be put on the queue, again or for the first time. */
  send(...ids: string[]): void {
    this.unsent.push(...ids);
  }

  sendNone(): void {
    this.unsent = [];
  }

  /** Up to so many of those that are not on the queue yet. */
  takeUnsent(most: number): { readonly id: string; readonly message: TaskMessage }[] {
    return this.unsent.splice(0, most).flatMap((id) => {
      const found = this.tasks.get(id);
      return found === undefined ? [] : [{ id, message: found.message }];
    });
  }

  /** Every task, also one that is added later, rejects. */
  fail(error: unknown): void {
    this.fault = { error };
    for (const task of [...this.tasks.values()]) task.settle(null);
  }
}

function messageOf({ task, epoch }: PlannedTask): TaskMessage {
  return { task: isQuestion(task) ? task : { suiteTask: task.id }, epoch };
}
