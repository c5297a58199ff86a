import { addCost } from "../../domain/runs/cost.js";
import { headlineScorer } from "../../domain/runs/headline-score.js";
import type { FinishedTaskLine, RunProgress } from "../../domain/runs/run-progress.js";
import type { ScoreDescription } from "../../domain/scores/score.js";
import { type Ending, isFailure } from "../../domain/tasks/task-ending.js";
import type { TaskId } from "../../domain/tasks/task-id.js";
import { estimateOf, sumsOf } from "../../run-analysis/aggregate/score-aggregate.js";
import { SCORES } from "../../scoring/scorers.js";
import { ClusteredMean } from "../../statistics/clustered-mean.js";
import type { SavedAttempt } from "../../store/runs/saved-attempts.js";
import { epochKey } from "./epoch-key.js";

const MOST_NEWEST = 10;
const MOST_FAILURES = 10;

/** Finished tasks whose times tell how fast the run goes on. */
const PACE_TASKS = 50;

/** What stays in memory of each task: tens of thousands may be finished. */
interface Scored {
  readonly taskId: TaskId;
  readonly ending: Ending;
  readonly scores: Readonly<Record<string, number | null>>;
}

export type FinishedFigures = Pick<
  RunProgress,
  "doneTasks" | "failedTasks" | "endings" | "scores" | "costUsd" | "tokens" | "retries" | "newest" | "failures"
>;

type ScoreLine = RunProgress["scores"][number];

/** The finished tasks of a run, added as they are saved. */
export class FinishedTasks {
  private readonly tasks = new Map<string, Scored>();
  private newest: FinishedTaskLine[] = [];
  private failures: FinishedTaskLine[] = [];
  private ends: number[] = [];
  private costUsd: number | null = 0;
  private tokens = 0;
  private retries = 0;

  /** A later attempt at a task takes the place of an earlier one, whose cost still counts. */
  add({ result, startedAt }: SavedAttempt): void {
    const { taskId, ending, scores, spent, judgeCostUsd, usage, retries } = result;
    const key = epochKey(result);
    if (this.tasks.has(key)) this.failures = this.failures.filter((line) => epochKey(line) !== key);
    this.tasks.set(key, { taskId, ending, scores });
    this.costUsd = addCost(this.costUsd, addCost(spent.costUsd, judgeCostUsd));
    this.tokens += usage.inputTokens + usage.outputTokens;
    this.retries += retries;
    const line = toLine(result, startedAt);
    this.newest = [line, ...this.newest].slice(0, MOST_NEWEST);
    if (isFailure(ending)) this.failures = [line, ...this.failures].slice(0, MOST_FAILURES);
    this.ends = [Date.parse(line.endedAt), ...this.ends].slice(0, PACE_TASKS);
  }

  /** When the newest tasks ended, in ms. */
  get endTimes(): readonly number[] {
    return this.ends;
  }

  /** Takes longer, the more tasks there are. */
  figures(): FinishedFigures {
    const { costUsd, tokens, retries } = this;
    const endings: Partial<Record<Ending, number>> = {};
    let failedTasks = 0;
    for (const { ending } of this.tasks.values()) {
      endings[ending] = (endings[ending] ?? 0) + 1;
      if (isFailure(ending)) failedTasks++;
    }
    const scores = this.estimates();
    const withScore = (line: FinishedTaskLine) => ({ ...line, score: this.scoreOf(line, scores[0]?.scorer) });
    return {
      doneTasks: this.tasks.size,
      failedTasks,
      endings,
      scores,
      costUsd,
      tokens,
      retries,
      newest: this.newest.map(withScore),
      failures: this.failures.map(withScore),
    };
  }

  private scoreOf(task: FinishedTaskLine, scorer: string | undefined): number | null {
    return scorer === undefined ? null : (this.tasks.get(epochKey(task))?.scores[scorer] ?? null);
  }

  /** The repeats of a question are one cluster. */
  private estimates(): ScoreLine[] {
    const byScorer = new Map<string, Map<TaskId, number[]>>();
    for (const { taskId, scores } of this.tasks.values()) {
      for (const [scorer, value] of Object.entries(scores)) {
        if (value === null) continue;
        const byTask = byScorer.get(scorer) ?? new Map<TaskId, number[]>();
        byScorer.set(scorer, byTask);
        byTask.set(taskId, [...(byTask.get(taskId) ?? []), value]);
      }
    }
    const headline = headlineScorer((scorer) => byScorer.has(scorer));
    const rank = (scorer: string) => (scorer === headline ? -1 : (ORDER.get(scorer) ?? ORDER.size));
    return [...byScorer]
      .sort(([a], [b]) => rank(a) - rank(b))
      .map(([scorer, byTask]) => scoreLine(scorer, [...byTask.values()]));
  }
}

const ORDER: ReadonlyMap<string, number> = new Map(Object.keys(SCORES).map((scorer, i) => [scorer, i]));

function scoreLine(scorer: string, questions: readonly (readonly number[])[]): ScoreLine {
  const sums = new ClusteredMean();
  for (const values of questions) {
    const { n, sum, squares } = sumsOf(values);
    sums.add(n, sum, squares);
  }
  const known: ScoreDescription | undefined = SCORES[scorer];
  // An eval, or a scorer of another version.
  const { label, kind, better } = known ?? { label: scorer, kind: "rate", better: "higher" };
  return { scorer, label, better, ...estimateOf({ kind, ...(known?.scale && { scale: known.scale }) }, sums) };
}

function toLine(result: SavedAttempt["result"], startedAt: string): FinishedTaskLine {
  const { taskId, epoch, traceId, question, ending, error, costUsd, executionTimeMs, waitingTimeMs, retries } = result;
  return {
    taskId,
    epoch,
    traceId,
    question,
    ending,
    error: error ?? null,
    score: null,
    costUsd,
    durationMs: executionTimeMs,
    waitedMs: waitingTimeMs ?? null,
    retries,
    endedAt: new Date(Date.parse(startedAt) + executionTimeMs).toISOString(),
  };
}
