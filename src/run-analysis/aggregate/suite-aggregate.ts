import type { RunTotals, SuiteTotals, TaskResult } from "../../domain/runs/benchmark-result.js";
import { TASK_STATES, type TaskState } from "../../domain/tasks/task-state.js";

/** Counts the tasks of a suite by state, with those that have a score. */
export class SuiteAggregate {
  private name: string | null = null;
  private graded = 0;
  private readonly states = new Map<TaskState, { tasks: number; graded: number }>();

  /** Questions about mailboxes are passed over. */
  add({ suite }: Pick<TaskResult, "suite">): void {
    if (suite === undefined) return;
    this.name = suite.name;
    const counts = this.states.get(suite.state) ?? { tasks: 0, graded: 0 };
    this.states.set(suite.state, counts);
    counts.tasks++;
    if (suite.score === null) return;
    counts.graded++;
    this.graded++;
  }

  /** Nothing where no task is of a suite. */
  figures(): Pick<RunTotals, "suite"> {
    if (this.name === null) return {};
    const states: SuiteTotals["states"] = Object.fromEntries(
      TASK_STATES.flatMap((state) => {
        const counts = this.states.get(state);
        return counts === undefined ? [] : [[state, counts]];
      }),
    );
    return { suite: { name: this.name, graded: this.graded, states } };
  }
}
