// The outcome of each task against the first run, and the filter by outcome.
import { groupBy } from "../../platform/group-by.js";
import type { ReportHead } from "../../reports/report-data.js";
import type { TaskId } from "../../tasks/question.js";
import type { Task } from "./load.js";

const OUTCOME_OF_LETTER = { w: "won", l: "lost", t: "tied" } as const;

export type PairOutcome = (typeof OUTCOME_OF_LETTER)[keyof typeof OUTCOME_OF_LETTER];

/**
 * Filter for tasks by outcome: those that a run won, lost or tied against the first, or those on which the runs differ.
 */
export interface OutcomeFilter {
  readonly outcome: PairOutcome | "differs";
  /** Run id, or null for any run, which is possible only with `differs`. */
  readonly runId: string | null;
  readonly metric: string;
}

/** Formats a filter value, such as `won/RUN/METRIC` or `differs/any/METRIC`. */
export function writeOutcome({ outcome, runId, metric }: OutcomeFilter): string {
  return `${outcome}/${runId ?? "any"}/${metric}`;
}

/** Parses a filter value. Returns null if the text is not one. */
export function readOutcome(value: string): OutcomeFilter | null {
  const [, outcome, run = "", metric = ""] = /^(won|lost|tied|differs)\/([^/]+)\/(.+)$/.exec(value) ?? [];
  if (outcome === undefined) return null;
  return { outcome: outcome as OutcomeFilter["outcome"], runId: run === "any" ? null : run, metric };
}

/** The tasks of a report by task id, and each run's outcome against the first. */
export class PairOutcomes {
  /** Position of each task id in the letters of a comparison. */
  private readonly positions = new Map<TaskId, number>();
  private readonly byTaskId: ReadonlyMap<TaskId, readonly Task[]>;

  constructor(
    private readonly head: ReportHead,
    tasks: readonly Task[],
  ) {
    this.byTaskId = groupBy(tasks, ({ taskId }) => taskId);
    for (const { run, taskId } of tasks) {
      if (run === 0 && !this.positions.has(taskId)) this.positions.set(taskId, this.positions.size);
    }
  }

  /** Returns the task in each run: the same epoch, otherwise the first one. */
  sameTask(taskId: TaskId, epoch: number): Task[] {
    const same = this.byTaskId.get(taskId) ?? [];
    return this.head.runs.flatMap((_, run) => {
      const ofRun = same.filter((task) => task.run === run);
      return ofRun.find((task) => task.epoch === epoch) ?? ofRun[0] ?? [];
    });
  }

  /** Returns null if a value of the two runs is missing. */
  of(taskId: TaskId, candidate: number, metric: string): PairOutcome | null {
    const letters = this.head.comparisons.find((each) => each.candidate === candidate)?.outcomes[metric] ?? "";
    const letter = letters[this.positions.get(taskId) ?? -1];
    return letter === "w" || letter === "l" || letter === "t" ? OUTCOME_OF_LETTER[letter] : null;
  }

  /**
   * Whether a filter value selects the task. Outcomes of a specific run select the tasks of that run and of the first.
   */
  matches({ run, taskId }: Task, value: string): boolean {
    const filter = readOutcome(value);
    if (filter === null) return false;
    const { outcome, runId, metric } = filter;
    const compared = this.head.comparisons.filter(
      ({ candidate }) => runId === null || this.head.runs[candidate]?.runId === runId,
    );
    if (runId !== null && run !== 0 && !compared.some(({ candidate }) => candidate === run)) return false;
    return compared.some(({ candidate }) => {
      const own = this.of(taskId, candidate, metric);
      return outcome === "differs" ? own === "won" || own === "lost" : own === outcome;
    });
  }
}
