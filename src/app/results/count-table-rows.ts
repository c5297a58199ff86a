import type { Table, TableSource } from "../../exports/tables/table.js";
import type { ProgressBar } from "../use-case-context.js";
import { countTasks, type RunSource } from "./open-results.js";

// biome-ignore lint/suspicious/noExplicitAny: the rows of a table are read by its own columns only.
export type AnyTable = Table<any>;

/** Counts rows, shows the progress over the tasks, and stops when the user asks to. */
export class RowCounter {
  count = 0;
  private tasks = 0;
  private readonly total: number;

  constructor(
    private readonly table: AnyTable,
    private readonly runs: readonly RunSource[],
    private readonly bar: ProgressBar,
    private readonly signal: AbortSignal,
  ) {
    this.total = countTasks(runs);
  }

  *rows(): Generator<unknown> {
    for (const run of this.runs) {
      for (const row of this.table.rows(this.watch(run))) {
        this.count++;
        yield row;
      }
    }
  }

  private watch({ head, results, traces }: RunSource): TableSource {
    return {
      head,
      results: () => this.observe(results()),
      traces: traces === null ? null : () => this.observe(traces()),
    };
  }

  private *observe<T>(tasks: Iterable<T>): Generator<T> {
    for (const task of tasks) {
      this.signal.throwIfAborted();
      this.bar.update(++this.tasks, this.total, `${this.table.name}: ${this.tasks} tasks`);
      yield task;
    }
  }
}
