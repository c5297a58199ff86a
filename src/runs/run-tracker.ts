// Tracks the running tasks of this process's run. The terminal, the run's page and `art-e ctl` read it.
import type { TaskActivity } from "../models/model.js";
import { epochKey, type TaskEpoch } from "../tasks/epoch-key.js";
import type { RunEvent, RunProcessState } from "../traces/progress.js";
import type { RunActivity } from "./answer-task.js";

/** Maximum list lengths in a state, because nobody reads more. */
const MOST_TASKS = 100;
const MOST_RETRIES = 8;

interface RunningTask extends TaskEpoch {
  /** Milliseconds since 1970. */
  readonly startedAt: number;
  readonly activity: TaskActivity | null;
  /** Start of the activity, in milliseconds since 1970. */
  readonly since: number;
}

export class RunTracker {
  private readonly tasks = new Map<string, RunningTask>();
  private retries: RunProcessState["retries"][number][] = [];
  private runState: RunProcessState["state"] = "running";
  /** Number of retried calls of each task without a saved result. */
  private readonly unsavedRetries = new Map<string, number>();

  constructor(readonly activity: RunActivity) {}

  add(event: RunEvent): void {
    switch (event.type) {
      case "task_started": {
        const { taskId, epoch } = event;
        const now = Date.now();
        this.tasks.set(epochKey(event), { taskId, epoch, startedAt: now, activity: null, since: now });
        break;
      }
      case "task_activity":
        this.setActivity(epochKey(event), event.activity);
        break;
      case "task_answered":
        this.tasks.delete(epochKey(event));
        break;
      case "run_steered":
        this.runState = event.state;
        break;
      case "run_finished":
        this.tasks.clear();
        break;
      case "task_finished":
        this.unsavedRetries.delete(epochKey(event.result));
    }
  }

  /** Running tasks by start time, at most 100. */
  get running(): RunningTask[] {
    return [...this.tasks.values()].slice(0, MOST_TASKS);
  }

  /** Number of tasks that an agent is working on, here or on a queue's workers. Excludes answers being saved. */
  get runningCount(): number {
    return this.activity.workers?.().active ?? this.tasks.size;
  }

  /** Number of retried calls of tasks without a saved result. */
  get retriesUnderWay(): number {
    return [...this.unsavedRetries.values()].reduce((sum, retries) => sum + retries, 0);
  }

  state(): RunProcessState {
    const { throttle, workers } = this.activity;
    return {
      state: this.runState,
      underWay: this.running.map(({ startedAt, since, ...task }) => ({
        ...task,
        startedAt: new Date(startedAt).toISOString(),
        since: new Date(since).toISOString(),
      })),
      underWayCount: this.tasks.size,
      limiter: throttle?.state() ?? null,
      workers: workers?.() ?? null,
      retries: this.retries,
      retriesUnderWay: this.retriesUnderWay,
    };
  }

  private setActivity(key: string, activity: TaskActivity): void {
    const task = this.tasks.get(key);
    if (task === undefined) return;
    this.tasks.set(key, { ...task, activity, since: Date.now() });
    if (activity.type !== "retry") return;
    this.unsavedRetries.set(key, (this.unsavedRetries.get(key) ?? 0) + 1);
    const { taskId, epoch } = task;
    const newest = { taskId, epoch, ...activity.retry, at: new Date().toISOString() };
    this.retries = [newest, ...this.retries].slice(0, MOST_RETRIES);
  }
}
