import type { RunEvent } from "../../domain/runs/run-event.js";
import type { RunProcessState } from "../../domain/runs/run-progress.js";
import type { TaskActivity } from "../../domain/runs/task-activity.js";
import type { TaskId } from "../../domain/tasks/task-id.js";
import type { RunActivity } from "../run/answer/task-answerer.js";
import { epochKey } from "./epoch-key.js";

/** The lists of a state are cut there: a page need not show more. */
const MOST_TASKS = 100;
const MOST_RETRIES = 8;

interface TaskUnderWay {
  readonly taskId: TaskId;
  readonly epoch: number;
  readonly startedAt: number;
  readonly activity: TaskActivity | null;
  readonly since: number;
}

/** What the tasks of this process's run are doing, from the run's events. */
export class TasksUnderWay {
  private readonly tasks = new Map<string, TaskUnderWay>();
  private retries: RunProcessState["retries"][number][] = [];

  constructor(private readonly activity: RunActivity) {}

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
      case "run_finished":
        this.tasks.clear();
    }
  }

  state(isStopping: boolean): RunProcessState {
    const { throttle, workers } = this.activity;
    return {
      stopping: isStopping,
      underWay: [...this.tasks.values()].slice(0, MOST_TASKS).map(({ startedAt, since, ...task }) => ({
        ...task,
        startedAt: new Date(startedAt).toISOString(),
        since: new Date(since).toISOString(),
      })),
      underWayCount: this.tasks.size,
      limiter: throttle?.state() ?? null,
      workers: workers?.() ?? null,
      retries: this.retries,
    };
  }

  private setActivity(key: string, activity: TaskActivity): void {
    const task = this.tasks.get(key);
    if (task === undefined) return;
    this.tasks.set(key, { ...task, activity, since: Date.now() });
    if (activity.type !== "retry") return;
    const { taskId, epoch } = task;
    const newest = { taskId, epoch, ...activity.retry, at: new Date().toISOString() };
    this.retries = [newest, ...this.retries].slice(0, MOST_RETRIES);
  }
}
