// Computes a run's totals from its task results, one at a time: tasks, cost, time, endings and errors.
import { type AnsweredBy, addReplies, answeredByField } from "../models/answering-model.js";
import { addCost, addUsage, NO_USAGE, type Usage } from "../models/usage.js";
import type { Estimate } from "../statistics/estimate.js";
import { type Ending, isFailure } from "../tasks/ending.js";
import { TASK_STATES, type TaskState } from "../tasks/suite-task.js";
import type { Averages, RunTotals, ScoreFigures, SuiteTotals } from "../traces/run-totals.js";
import { type Consumption, repairedField, type Spent, type TaskResult } from "../traces/task-result.js";

type AveragedMetric = Exclude<keyof Averages, "tasks">;

/** The scores that the results file repeats at its top, under the names of the published runner. */
const TOP_LEVEL_SCORES: Readonly<Record<AveragedMetric, string>> = {
  exactMatchAccuracy: "exactMatch",
  avgSemanticScore: "semanticScore",
  sourcesCorrect: "sourcesCorrect",
  foundGold: "foundGold",
  readGold: "readGold",
};

/** The totals of a run. Tasks are added in any order, and only sums are kept. */
export class RunAggregate {
  private completed = 0;
  private failed = 0;
  private notRunnable = 0;
  private executionMs = 0;
  /** Sums over the completed tasks, in milliseconds. */
  private readonly times = { model: 0, tool: 0, waiting: 0 };
  private usage: Usage = NO_USAGE;
  private costUsd: number | null = 0;
  private judgeCostUsd: number | null = 0;
  private turns: number | null = 0;
  private retries: number | null = 0;
  private repairedCalls = 0;
  private answeredBy: AnsweredBy = {};
  private cachedReplies = 0;
  private spent: Spent = { usage: NO_USAGE, costUsd: 0 };
  private readonly errors = new ErrorCounts();
  private readonly refusals = new ErrorCounts();
  private readonly endings: Partial<Record<Ending, number>> = {};
  private readonly suite = new SuiteAggregate();

  /** Adds a superseded or unfinished attempt. Only its cost and usage count. */
  charge(result: Consumption & Pick<TaskResult, "repairedCalls" | "judgeCostUsd">): void {
    this.usage = addUsage(this.usage, result.usage);
    this.costUsd = addCost(this.costUsd, result.costUsd);
    this.judgeCostUsd = addCost(this.judgeCostUsd, result.judgeCostUsd);
    this.cachedReplies += result.cachedReplies;
    const { usage, costUsd } = result.spent;
    this.spent = { usage: addUsage(this.spent.usage, usage), costUsd: addCost(this.spent.costUsd, costUsd) };
    this.turns = addKnown(this.turns, result.turns);
    if (result.answeredBy !== undefined) this.answeredBy = addReplies(this.answeredBy, result.answeredBy);
    this.retries = addKnown(this.retries, result.retries);
    this.repairedCalls += result.repairedCalls ?? 0;
  }

  add(result: TaskResult): void {
    this.endings[result.ending] = (this.endings[result.ending] ?? 0) + 1;
    this.charge(result);
    this.suite.add(result);
    if (result.ending === "refused") this.refusals.add(result.refusal ?? "The reason was not recorded");
    if (result.ending === "not_runnable") {
      this.notRunnable++;
      return;
    }
    if (isFailure(result.ending)) {
      this.failed++;
      this.errors.add(result.error ?? result.ending);
      return;
    }
    this.completed++;
    this.executionMs += result.executionTimeMs;
    this.times.model += result.modelTimeMs;
    this.times.tool += result.toolTimeMs;
    this.times.waiting += result.waitingTimeMs;
  }

  get progress() {
    const { failed, usage, retries } = this;
    const costUsd = addCost(this.costUsd, this.judgeCostUsd);
    return { done: this.completed + failed + this.notRunnable, failed, usage, costUsd, retries };
  }

  totals(run: Omit<RunTotals, keyof ReturnType<RunAggregate["figures"]>>): RunTotals {
    return { ...run, ...this.figures(run) };
  }

  private figures({ scores }: Pick<RunTotals, "scores">) {
    const { model, tool, waiting } = this.times;
    const meanPerTask = (ms: number) => (this.completed === 0 ? null : ms / this.completed);
    return {
      totalTasks: this.completed + this.failed + this.notRunnable,
      completedTasks: this.completed,
      failedTasks: this.failed,
      ...this.errorField(),
      ...this.refusalsField(),
      ...(this.notRunnable === 0 ? {} : { notRunnableTasks: this.notRunnable }),
      ...averagesOf(scores, (score) => score),
      avgExecutionTimeMs: meanPerTask(this.executionMs),
      avgModelTimeMs: meanPerTask(model),
      avgToolTimeMs: meanPerTask(tool),
      avgWaitingTimeMs: meanPerTask(waiting),
      overAllTasks: { tasks: this.completed + this.failed, ...averagesOf(scores, ({ overAll }) => overAll) },
      endings: this.endings,
      turns: this.turns,
      ...answeredByField(this.answeredBy),
      usage: this.usage,
      costUsd: this.costUsd,
      judgeCostUsd: this.judgeCostUsd,
      totalCostUsd: addCost(this.costUsd, this.judgeCostUsd),
      retries: this.retries,
      ...repairedField(this.repairedCalls),
      cachedReplies: this.cachedReplies,
      spent: this.spent,
      ...this.suite.figures(),
    };
  }

  private errorField(): Pick<RunTotals, "mostFrequentError"> {
    const [first] = this.errors.byFrequency();
    return first === undefined ? {} : { mostFrequentError: { message: first[0], tasks: first[1] } };
  }

  private refusalsField(): Pick<RunTotals, "refusals"> {
    const counted = this.refusals.byFrequency().slice(0, MAX_REFUSALS);
    return counted.length === 0 ? {} : { refusals: counted.map(([reason, tasks]) => ({ reason, tasks })) };
  }
}

/** A sum with an unknown part is unknown. */
export function addKnown(sum: number | null, value: number | null): number | null {
  return sum === null || value === null ? null : sum + value;
}

function averagesOf(scores: RunTotals["scores"], figure: (score: ScoreFigures) => Estimate): Omit<Averages, "tasks"> {
  const means = Object.entries(TOP_LEVEL_SCORES).map(([name, scorer]) => {
    const score = scores[scorer];
    return [name, score === undefined ? null : figure(score).value];
  });
  return Object.fromEntries(means) as Omit<Averages, "tasks">;
}

/** Maximum number of distinct reasons for the refusals of a run. */
const MAX_REFUSALS = 20;

/** Counts identical error messages. Memory is bounded, because servers can put an id into every message. */
class ErrorCounts {
  private static readonly LONGEST = 500;
  private static readonly MOST = 1_000;
  private readonly tasks = new Map<string, number>();

  add(error: string): void {
    const message = error.slice(0, ErrorCounts.LONGEST);
    const counted = this.tasks.get(message);
    if (counted === undefined && this.tasks.size >= ErrorCounts.MOST) return;
    this.tasks.set(message, (counted ?? 0) + 1);
  }

  byFrequency(): [message: string, tasks: number][] {
    return [...this.tasks].sort(([, a], [, b]) => b - a);
  }
}

/** Counts suite tasks per state, and how many of them have a score. */
class SuiteAggregate {
  private name: string | null = null;
  private graded = 0;
  private readonly states = new Map<TaskState, { tasks: number; graded: number }>();

  /** Adds a suite task. Ignores questions about mailboxes. */
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

  /** Returns an empty object for runs without suite tasks. */
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
