// The progress of a run for whoever watches it, from the events of its own process or from the database.
import { addKnown } from "../analysis/aggregate.js";
import { countsInScore } from "../analysis/score-aggregate.js";
import { addCost } from "../models/usage.js";
import { chunk, yieldBetween } from "../platform/batches.js";
import { presentProperties } from "../platform/optional-values.js";
import { holdOf } from "../reports/hold-text.js";
import { headlineFrom } from "../results/stored-runs.js";
import { REWARD, SCORES } from "../scoring/scorers.js";
import type { Db } from "../store/open-store.js";
import { type Ending, isFailure } from "../tasks/ending.js";
import { epochKey } from "../tasks/epoch-key.js";
import type { TaskId } from "../tasks/question.js";
import { HEADLINE_SCORERS, type HeadlineScorer } from "../traces/headline-score.js";
import type { FinishedTaskLine, RunProcessState, RunProgress } from "../traces/progress.js";
import { attemptsSavedAfter, dataVersion, type SavedAttempt } from "../traces/results-store.js";
import { type FailedTask, withUnfinished } from "../traces/run-figures.js";
import { perturbationOf } from "../traces/run-settings.js";
import { getRun, hasRun } from "../traces/runs-store.js";
import { scorableOf, type TaskResult } from "../traces/task-result.js";

type ProgressListener = (progress: RunProgress) => void;

type ProcessOf = (runId: string) => RunProcessState | null;

interface Pace {
  /** Rate, or null if too few tasks have finished recently. */
  readonly tasksPerMinute: number | null;
  readonly msLeft: number | null;
}

/** Data kept in memory per task. It is small because tens of thousands of tasks can be finished. */
interface Scored extends Pick<TaskResult, "scores"> {
  readonly task: FailedTask;
  /** End time in milliseconds. */
  readonly endedAt: number;
}

interface Stretch {
  until: string;
  episodes: number;
  paid: number;
  reward: number;
  tokens: number;
}

const POLL_MS = 500;

const MOST_BUSY = 0.1;

/** Notifies listeners whenever the progress of a run changes. All listeners of a run share one reader. */
export class RunSubscriptions {
  private readonly byRun = new Map<string, PolledRun>();

  /**
   * @param processOf returns null for runs of other processes
   * @param onFault called with read errors; the run is read again later
   */
  constructor(
    private readonly db: Db,
    private readonly processOf: ProcessOf,
    private readonly onFault: (error: unknown) => void,
  ) {}

  /**
   * Calls the listener with the current progress, and again with each change until the returned function is called.
   * Calls `onDeleted` if the run is deleted. Nothing follows.
   */
  subscribe(runId: string, listener: ProgressListener, onDeleted: () => void = () => undefined): () => void {
    let run = this.byRun.get(runId);
    if (run === undefined) {
      run = new PolledRun(new RunProgressReader(this.db, runId), () => this.processOf(runId), this.onFault);
      this.byRun.set(runId, run);
    }
    const polled = run;
    polled.add(listener, onDeleted);
    return () => {
      polled.remove(listener);
      if (polled.isIdle && this.byRun.get(runId) === polled) this.byRun.delete(runId);
    };
  }

  async refresh(): Promise<void> {
    await Promise.all([...this.byRun.values()].map((run) => run.poll()));
  }
}

class PolledRun {
  /** Each listener with its `onDeleted`. */
  private readonly listeners = new Map<ProgressListener, () => void>();
  private newest: RunProgress | null = null;
  private newestJson = "";
  /** True if no process executes the run. `newest` can then change only through a write to the database file. */
  private hasEnded = false;
  private timer: NodeJS.Timeout | undefined;
  /** The last poll. The reader must not be called again before it is done. */
  private polling: Promise<void> = Promise.resolve();

  constructor(
    private readonly reader: RunProgressReader,
    private readonly processState: () => RunProcessState | null,
    private readonly onFault: (error: unknown) => void,
  ) {}

  get isIdle(): boolean {
    return this.listeners.size === 0;
  }

  add(listener: ProgressListener, onDeleted: () => void): void {
    this.listeners.set(listener, onDeleted);
    if (this.newest !== null) listener(this.newest);
    if (this.listeners.size === 1) void this.poll();
  }

  remove(listener: ProgressListener): void {
    this.listeners.delete(listener);
    if (this.isIdle) clearTimeout(this.timer);
  }

  poll(): Promise<void> {
    clearTimeout(this.timer);
    this.polling = this.polling.then(() => this.pollOnce());
    return this.polling;
  }

  private async pollOnce(): Promise<void> {
    const startedAt = performance.now();
    try {
      const hasChanged = await this.reader.read();
      if (this.reader.isDeleted) {
        for (const onDeleted of this.listeners.values()) onDeleted();
        return;
      }
      const process = this.processState();
      if (hasChanged || process !== null || !this.hasEnded) this.publish(this.reader.progress(process));
    } catch (error) {
      this.hasEnded = false;
      this.onFault(error);
    }
    clearTimeout(this.timer);
    if (this.isIdle) return;
    const tookMs = performance.now() - startedAt;
    this.timer = setTimeout(() => this.poll(), Math.max(POLL_MS, tookMs / MOST_BUSY)).unref();
  }

  private publish(progress: RunProgress): void {
    // The rate changes every millisecond, so it is ignored in the comparison.
    const json = JSON.stringify({ ...progress, tasksPerMinute: null });
    this.newest = progress;
    this.hasEnded = progress.status !== "running" && progress.process === null;
    if (json === this.newestJson) return;
    this.newestJson = json;
    for (const listener of this.listeners.keys()) listener(progress);
  }
}

/** Time window for the current rate, in milliseconds. Tasks that finished earlier do not count. */
const WINDOW_MS = 15 * 60_000;

/** Minimum number of finished tasks for a rate. */
const FEWEST = 3;

/** Rounding step for the remaining time, in milliseconds. Without rounding, each change would be sent. */
const STEP_MS = 5_000;

/**
 * Estimates the current rate and the remaining time.
 * @param endedAt end times of the newest tasks, in milliseconds, in any order
 */
export function estimatePace(endedAt: readonly number[], tasksLeft: number, now: number): Pace {
  const recent = endedAt.filter((at) => at > now - WINDOW_MS);
  const first = Math.min(...recent);
  if (recent.length < FEWEST || first >= now) return { tasksPerMinute: null, msLeft: null };
  const perMs = (recent.length - 1) / (now - first);
  return { tasksPerMinute: perMs * 60_000, msLeft: Math.round(tasksLeft / perMs / STEP_MS) * STEP_MS };
}

const MOST_NEWEST = 10;
const MOST_FAILURES = 10;

const PACE_TASKS = 50;

/** Tasks whose scores are added before other work runs. */
const TASKS_PER_TURN = 1_000;

const MOST_STRETCHES = 60;

/** The course of a training run in at most 60 points, each with the same number of episodes. */
class EpisodeCourse {
  private stretches: Stretch[] = [];
  private size = 1;

  add({ usage, scores }: TaskResult, endedAt: string): void {
    let last = this.stretches.at(-1);
    if (last === undefined || last.episodes >= this.size) {
      if (this.stretches.length >= MOST_STRETCHES) this.joinPairs();
      last = { until: endedAt, episodes: 0, paid: 0, reward: 0, tokens: 0 };
      this.stretches.push(last);
    }
    const reward = scores[REWARD] ?? null;
    last.until = endedAt;
    last.episodes++;
    last.tokens += usage.inputTokens + usage.outputTokens;
    last.paid += reward === null ? 0 : 1;
    last.reward += reward ?? 0;
  }

  points(): NonNullable<RunProgress["episodes"]> {
    return this.stretches.map(({ until, episodes, paid, reward, tokens }) => ({
      until,
      episodes,
      reward: paid === 0 ? null : reward / paid,
      tokens: tokens / episodes,
    }));
  }

  private joinPairs(): void {
    this.size *= 2;
    this.stretches = [...chunk(this.stretches, 2)].map((pair) =>
      pair.reduce((a, b) => ({
        until: b.until,
        episodes: a.episodes + b.episodes,
        paid: a.paid + b.paid,
        reward: a.reward + b.reward,
        tokens: a.tokens + b.tokens,
      })),
    );
  }
}

class FinishedTasks {
  private readonly course = new EpisodeCourse();
  private readonly tasks = new Map<string, Scored>();
  private newest: FinishedTaskLine[] = [];
  private failures: FinishedTaskLine[] = [];
  private ends: number[] = [];
  private costUsd: number | null = 0;
  private judgeCostUsd: number | null = 0;
  private spentUsd: number | null = 0;
  private tokens = 0;
  private retries: number | null = 0;

  /** Adds an attempt. A later attempt at a task replaces the earlier one, whose cost still counts. */
  add({ result, startedAt }: SavedAttempt): void {
    const { taskId, ending, scores, suite, spent, costUsd, judgeCostUsd, usage, retries } = result;
    const key = epochKey(result);
    if (this.tasks.has(key)) this.failures = this.failures.filter((line) => epochKey(line) !== key);
    const line = toLine(result, startedAt);
    const endedAt = Date.parse(line.endedAt);
    const task = { taskId, ending, ...scorableOf(result), ...presentProperties({ suite }) };
    this.tasks.set(key, { task, scores, endedAt });
    this.costUsd = addCost(this.costUsd, costUsd);
    this.judgeCostUsd = addCost(this.judgeCostUsd, judgeCostUsd);
    this.spentUsd = addCost(this.spentUsd, addCost(spent.costUsd, judgeCostUsd));
    this.tokens += usage.inputTokens + usage.outputTokens;
    this.course.add(result, line.endedAt);
    this.retries = addKnown(this.retries, retries);
    this.newest = [line, ...this.newest].slice(0, MOST_NEWEST);
    if (isFailure(ending)) this.failures = [line, ...this.failures].slice(0, MOST_FAILURES);
    this.ends = [endedAt, ...this.ends].slice(0, PACE_TASKS);
  }

  get endTimes(): readonly number[] {
    return this.ends;
  }

  /** Removes tasks that are already finished in the file, because the process might report their end later. */
  withoutFinished(process: RunProcessState): RunProcessState {
    const underWay = process.underWay.filter((task) => {
      const { endedAt = Number.NEGATIVE_INFINITY } = this.tasks.get(epochKey(task)) ?? {};
      // An earlier attempt ended before this one started.
      return endedAt < Date.parse(task.startedAt);
    });
    const endedTasks = process.underWay.length - underWay.length;
    return { ...process, underWay, underWayCount: process.underWayCount - endedTasks };
  }

  /** Computes the figures, and lets other work run between tasks. */
  async figures() {
    const { costUsd, judgeCostUsd, spentUsd, tokens, retries } = this;
    const endings: Partial<Record<Ending, number>> = {};
    const failed: FailedTask[] = [];
    const sums = new Map<string, { scorer: HeadlineScorer; taskId: TaskId; n: number; sum: number }>();
    for await (const page of yieldBetween(chunk([...this.tasks.values()], TASKS_PER_TURN))) {
      for (const { task, scores } of page) {
        const { ending } = task;
        endings[ending] = (endings[ending] ?? 0) + 1;
        if (isFailure(ending)) failed.push(task);
        for (const scorer of HEADLINE_SCORERS) {
          const value = scores[scorer] ?? null;
          if (value === null || !countsInScore(scorer, task)) continue;
          const key = `${scorer} ${task.taskId}`;
          const { n, sum } = sums.get(key) ?? { n: 0, sum: 0 };
          sums.set(key, { scorer, taskId: task.taskId, n: n + 1, sum: sum + value });
        }
      }
    }
    const found = headlineFrom([...sums.values()], failed);
    const headline = found && { ...found, label: SCORES[found.scorer]?.label ?? found.scorer };
    const scoreOf = (line: FinishedTaskLine) =>
      headline === null ? null : (this.tasks.get(epochKey(line))?.scores[headline.scorer] ?? null);
    const withScore = (line: FinishedTaskLine) => ({ ...line, score: scoreOf(line) });
    return {
      doneTasks: this.tasks.size,
      failedTasks: failed.length,
      endings,
      headline,
      costUsd,
      judgeCostUsd,
      spentUsd,
      tokens,
      retries,
      newest: this.newest.map(withScore),
      failures: this.failures.map(withScore),
      episodes: this.course.points(),
    };
  }
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
    waitedMs: waitingTimeMs,
    retries,
    endedAt: new Date(Date.parse(startedAt) + executionTimeMs).toISOString(),
  };
}

class RunProgressReader {
  private readonly finished = new FinishedTasks();
  private position = 0;
  private version: string | null = null;
  private figures: Awaited<ReturnType<FinishedTasks["figures"]>> | null = null;

  constructor(
    private readonly db: Db,
    private readonly runId: string,
  ) {}

  /**
   * Adds the attempts saved since the last call, yielding to the event loop between pages. Returns false if the file
   * has not changed.
   */
  async read(): Promise<boolean> {
    const version = dataVersion(this.db);
    if (version === this.version && this.figures !== null) return false;
    this.version = version;
    for await (const page of yieldBetween(attemptsSavedAfter(this.db, this.runId, this.position))) {
      for (const attempt of page) {
        this.finished.add(attempt);
        this.position = attempt.position;
        this.figures = null;
      }
    }
    this.figures ??= await this.finished.figures();
    return true;
  }

  get isDeleted(): boolean {
    return !hasRun(this.db, this.runId);
  }

  progress(process: RunProcessState | null): RunProgress {
    const { id, name, agentId, model, dataset, split, status, startedAt, completedAt, totalTasks, limits, settings } =
      getRun(this.db, this.runId);
    const { figures } = this;
    if (figures === null) throw new Error("The progress is requested before the run was read.");
    const { costUsd, judgeCostUsd } = withUnfinished(this.db, id, figures);
    const remaining = totalTasks - figures.doneTasks;
    const isHeld = process !== null && holdOf(process, Date.now()) !== null;
    const isGoingOn = status === "running" && remaining > 0 && !isHeld;
    const pace = isGoingOn ? estimatePace(this.finished.endTimes, remaining, Date.now()) : null;
    return {
      runId: id,
      name,
      agentId,
      perturbation: perturbationOf(settings),
      model,
      dataset: dataset.source,
      split,
      status,
      startedAt,
      completedAt,
      totalTasks,
      ...figures,
      costUsd,
      judgeCostUsd,
      episodes: settings.kind === "training" ? figures.episodes : null,
      maxCostUsd: limits.maxCostUsd,
      tasksPerMinute: pace?.tasksPerMinute ?? null,
      msLeft: pace?.msLeft ?? null,
      process: process && this.finished.withoutFinished(process),
    };
  }
}
