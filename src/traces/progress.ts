import { z } from "zod";
import { LIMIT_REASONS, type TaskActivity } from "../models/model.js";
import { estimateSchema } from "../statistics/estimate.js";
import { ENDINGS } from "../tasks/ending.js";
import { type TaskId, taskIdSchema } from "../tasks/question.js";
import { runStatusSchema, type TaskResult } from "./task-result.js";

const ms = z.number().nonnegative();
const tasks = z.number().int().nonnegative();

const finishedTaskSchema = z.strictObject({
  taskId: taskIdSchema,
  epoch: z.number().int().positive(),
  traceId: z.string(),
  question: z.string(),
  ending: z.enum(ENDINGS),
  error: z.string().nullable().describe("Why it failed; null where it did not."),
  score: z.number().nullable().describe("By the first of the scores; null where it has none."),
  costUsd: z.number().nullable().describe("US dollars; null where the price is not known."),
  durationMs: ms.describe("Waiting included."),
  waitedMs: ms.nullable().describe("Throttling, failed calls and pauses; null: an earlier version wrote it."),
  retries: tasks,
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
    stopping: z.boolean().describe("The user asked to stop: tasks under way are finished, no further one starts."),
    underWay: z
      .array(
        z.strictObject({
          taskId: taskIdSchema,
          epoch: z.number().int().positive(),
          startedAt: z.string(),
          activity: taskActivitySchema
            .nullable()
            .describe("Null: it is being prepared, or another program works on it."),
          since: z.string(),
        }),
      )
      .readonly()
      .describe("Those that began first; at most 100."),
    underWayCount: tasks,
    limiter: z
      .strictObject({
        limit: z.number().describe("Calls that may be under way at once."),
        running: tasks,
        waiting: tasks,
        why: WAITS_FOR.describe("What calls wait for; null where none waits."),
        refused: tasks.describe("Calls that the server has refused for their rate."),
      })
      .nullable()
      .describe("Null where nothing is sent to a server from here."),
    workers: z
      .strictObject({
        workers: z.array(z.strictObject({ name: z.string(), perSecond: z.number() })).readonly(),
        active: tasks,
        waitingFor: WAITS_FOR,
      })
      .nullable()
      .describe("The machines that answer over a queue; null without one."),
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
  })
  .readonly();

/** What only the process that executes a run knows of it. */
export type RunProcessState = z.output<typeof processStateSchema>;

export const runProgressSchema = z
  .strictObject({
    runId: z.string(),
    name: z.string().nullable(),
    agentId: z.string(),
    model: z.string(),
    dataset: z.string(),
    split: z.string(),
    status: runStatusSchema.describe("interrupted: it was stopped, or its process is gone; it can be resumed."),
    startedAt: z.string(),
    completedAt: z.string().nullable(),
    totalTasks: tasks,
    doneTasks: tasks,
    failedTasks: tasks,
    endings: z.partialRecord(z.enum(ENDINGS), tasks),
    scores: z
      .array(
        estimateSchema.extend({ scorer: z.string(), label: z.string(), better: z.enum(["higher", "lower"]) }).strict(),
      )
      .readonly()
      .describe("Over the completed tasks; the run's headline score first."),
    costUsd: z.number().nullable().describe("Of all attempts, judging included; null where a price is not known."),
    maxCostUsd: z.number().nullable(),
    tokens: tasks,
    retries: tasks.describe("Of tasks with a result."),
    tasksPerMinute: z
      .number()
      .nullable()
      .describe("Lately; null where too few have finished to tell, or none goes on."),
    msLeft: ms.nullable().describe("At this rate."),
    newest: z.array(finishedTaskSchema).readonly().describe("Newest first; at most 10."),
    failures: z.array(finishedTaskSchema).readonly().describe("Newest first; at most 10."),
    episodes: z
      .array(
        z.strictObject({
          until: z.string().describe("When the last of them was over."),
          episodes: tasks,
          reward: z.number().nullable().describe("Mean; null where none was paid, as of interrupted ones."),
          tokens: z.number().nonnegative().describe("Mean of an episode."),
        }),
      )
      .readonly()
      .nullable()
      .describe("Of a training environment's run: stretches of as many episodes each; null of other runs."),
    process: processStateSchema.nullable().describe("Null: another process executes the run, or none does."),
  })
  .describe("How far a run has got.");

export type RunProgress = Readonly<z.output<typeof runProgressSchema>>;

/** Events of a run. A listener must not throw. */
export type RunEvent =
  /** `tasks`: of the whole run, finished or not. */
  | { readonly type: "run_started"; readonly runId: string; readonly tasks: number }
  /** Finished by an earlier session of the run. Emitted before any task starts. */
  | { readonly type: "task_kept"; readonly result: TaskResult }
  | { readonly type: "task_started"; readonly taskId: TaskId; readonly epoch: number }
  /** Only of tasks that this process answers. */
  | {
      readonly type: "task_activity";
      readonly taskId: TaskId;
      readonly epoch: number;
      readonly activity: TaskActivity;
    }
  /** Frees its slot. An interrupted task emits no `answered`. */
  | { readonly type: "task_answered"; readonly taskId: TaskId; readonly epoch: number }
  /** Already saved when emitted. */
  | { readonly type: "task_finished"; readonly result: TaskResult }
  | { readonly type: "run_finished"; readonly runId: string; readonly interrupted: boolean };

export type Emit = (event: RunEvent) => void;
