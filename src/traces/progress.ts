// The state of a running run and its events, as the run page, `--watch` and the API show them.
import { z } from "zod";
import { LIMIT_REASONS, type TaskActivity } from "../models/model.js";
import { ENDINGS } from "../tasks/ending.js";
import type { TaskEpoch } from "../tasks/epoch-key.js";
import { taskIdSchema } from "../tasks/question.js";
import { headlineSchema } from "./run-totals.js";
import { runStatusSchema, type TaskResult } from "./task-result.js";

const ms = z.number().nonnegative();
const tasks = z.number().int().nonnegative();

const finishedTaskSchema = z.strictObject({
  taskId: taskIdSchema,
  epoch: z.number().int().positive(),
  traceId: z.string(),
  question: z.string(),
  ending: z.enum(ENDINGS),
  error: z.string().nullable().describe("Error message of a failed task, otherwise null."),
  score: z.number().nullable().describe("The run's headline score, or null if the task does not have it."),
  costUsd: z.number().nullable().describe("US dollars, or null if the price is unknown."),
  durationMs: ms.describe("Milliseconds, including waiting."),
  waitedMs: ms.describe("Milliseconds of rate limiting, failed calls and pauses."),
  retries: tasks.nullable().describe("Null if unknown, as for most external agents."),
  endedAt: z.string(),
});

export type FinishedTaskLine = Readonly<z.output<typeof finishedTaskSchema>>;

const taskActivitySchema = z.discriminatedUnion("type", [
  z.object({ type: z.enum(["queued", "calling", "judging"]) }),
  z.object({ type: z.literal("tool"), name: z.string() }),
  z.object({
    type: z.literal("retry"),
    retry: z.object({ attempt: tasks, reason: z.string(), waitedMs: ms }),
  }),
]);

const WAITS_FOR = z.enum(LIMIT_REASONS).nullable();

const processStateSchema = z
  .strictObject({
    state: z
      .enum(["running", "paused", "stopping"])
      .describe("paused, stopping: the user asked for it. Running tasks finish, but no other task starts."),
    underWay: z
      .array(
        z.strictObject({
          taskId: taskIdSchema,
          epoch: z.number().int().positive(),
          startedAt: z.string(),
          activity: taskActivitySchema
            .nullable()
            .describe("Null while the task is being prepared, or if another program is working on it."),
          since: z.string(),
        }),
      )
      .readonly()
      .describe("Running tasks by start time, at most 100."),
    underWayCount: tasks,
    limiter: z
      .strictObject({
        limit: z.number().describe("Maximum number of concurrent calls."),
        running: tasks,
        waiting: tasks,
        why: WAITS_FOR.describe("Reason why calls are waiting, or null if none are."),
        refused: tasks.describe("Number of calls that the server rejected because of a rate limit or overload."),
      })
      .nullable()
      .describe("Null if this process does not send calls to a server."),
    workers: z
      .strictObject({
        workers: z.array(z.strictObject({ name: z.string(), perSecond: z.number() })).readonly(),
        active: tasks,
        waitingFor: WAITS_FOR,
      })
      .nullable()
      .describe("Workers that take tasks from the queue, or null without a queue."),
    retries: z
      .array(
        z.strictObject({
          taskId: taskIdSchema,
          epoch: z.number().int().positive(),
          attempt: tasks,
          reason: z.string(),
          waitedMs: ms,
          at: z.string(),
        }),
      )
      .readonly()
      .describe("Newest first; at most 8."),
    retriesUnderWay: tasks.describe("Number of retried calls of tasks without a result."),
  })
  .readonly();

/** State that only the process executing the run knows. */
export type RunProcessState = z.output<typeof processStateSchema>;

export const runProgressSchema = z
  .strictObject({
    runId: z.string(),
    name: z.string().nullable(),
    agentId: z.string(),
    perturbation: z.string().nullable().describe("Perturbation of every task, or null for a plain run."),
    model: z.string(),
    dataset: z.string(),
    split: z.string(),
    status: runStatusSchema.describe("interrupted: the run was stopped, or its process ended. It can be resumed."),
    startedAt: z.string(),
    completedAt: z.string().nullable(),
    totalTasks: tasks,
    doneTasks: tasks,
    failedTasks: tasks,
    endings: z.partialRecord(z.enum(ENDINGS), tasks),
    headline: headlineSchema,
    costUsd: z
      .number()
      .nullable()
      .describe(
        "The agent's cost in US dollars, including all attempts and unfinished tasks, or null if a price is unknown.",
      ),
    judgeCostUsd: z.number().nullable().describe("Cost of judging in US dollars, or null if a price is unknown."),
    spentUsd: z
      .number()
      .nullable()
      .describe("US dollars for new calls, including judging. This counts toward the cost budget."),
    maxCostUsd: z.number().nullable(),
    tokens: tasks,
    retries: tasks
      .nullable()
      .describe("Number of retried model calls, over the tasks with a result, or null if unknown."),
    tasksPerMinute: z
      .number()
      .nullable()
      .describe("Recent rate in tasks per minute, or null if too few tasks have finished or no task is running."),
    msLeft: ms.nullable().describe("Estimated milliseconds until the run ends, at the current rate."),
    newest: z.array(finishedTaskSchema).readonly().describe("Newest first; at most 10."),
    failures: z.array(finishedTaskSchema).readonly().describe("Newest first; at most 10."),
    episodes: z
      .array(
        z.strictObject({
          until: z.string().describe("End time of the last episode."),
          episodes: tasks,
          reward: z
            .number()
            .nullable()
            .describe("Mean reward, or null if no episode has a reward, for example because all were interrupted."),
          tokens: z.number().nonnegative().describe("Mean number of tokens per episode."),
        }),
      )
      .readonly()
      .nullable()
      .describe(
        "Progress of a training environment's run, in groups with equal numbers of episodes. Null for other runs.",
      ),
    process: processStateSchema
      .nullable()
      .describe("State of the process that executes the run, or null if that is another process."),
  })
  .describe("Progress of a run.");

export type RunProgress = Readonly<z.output<typeof runProgressSchema>>;

/** Events of a run. A listener must not throw. */
export type RunEvent =
  /** `tasks` counts all tasks of the run, finished or not. */
  | { readonly type: "run_started"; readonly runId: string; readonly tasks: number }
  /** The task was finished before the run was resumed. Emitted before any task starts. */
  | { readonly type: "task_kept"; readonly result: TaskResult }
  | (TaskEpoch & { readonly type: "task_started" })
  /** Emitted only for tasks that this process is answering. */
  | (TaskEpoch & { readonly type: "task_activity"; readonly activity: TaskActivity })
  /** The task's slot is free again. Not emitted for an interrupted task. */
  | (TaskEpoch & { readonly type: "task_answered" })
  /** The user paused, resumed or stopped the run. */
  | { readonly type: "run_steered"; readonly state: RunProcessState["state"] }
  /** Failed tasks will be run again. */
  | { readonly type: "tasks_requeued"; readonly tasks: number }
  /** The result has already been saved. */
  | { readonly type: "task_finished"; readonly result: TaskResult }
  | { readonly type: "run_finished"; readonly runId: string; readonly interrupted: boolean };

export type Emit = (event: RunEvent) => void;
