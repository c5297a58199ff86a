import { setMaxListeners } from "node:events";
import type { RunTotals } from "../../domain/runs/benchmark-result.js";
import { taskCost } from "../../domain/runs/cost.js";
import type { Emit } from "../../domain/runs/run-event.js";
import type { Trace } from "../../domain/runs/trace.js";
import type { PlannedTask } from "../../domain/tasks/planned-task.js";
import { isFailure } from "../../domain/tasks/task-ending.js";
import { batchCalls } from "../../platform/batch-calls.js";
import type { Db } from "../../store/connection/open-store.js";
import { type LockWait, WAIT_INDEFINITELY, withWriteTransaction } from "../../store/connection/write-transaction.js";
import type { ResultWriter } from "../../store/runs/result-writer.js";
import { finishRun, getRun } from "../../store/runs/runs.js";
import { computeRunTotals } from "../results/compute-run-totals.js";
import { type Scoring, withScores } from "../score/score-trace.js";
import type { TaskAnswerer } from "./answer/task-answerer.js";
import type { Budget, LimitReached } from "./budget.js";
import type { RunSession } from "./create-run.js";
import type { ServerFault } from "./detect-dead-server.js";
import { runConcurrently } from "./task-pool.js";
import { toTaskResult } from "./to-task-result.js";

export interface RunTasksRequest {
  readonly runId: string;
  readonly answerer: TaskAnswerer;
  readonly scoring: Scoring;
  readonly session: RunSession;
  readonly budget: Budget;
  readonly writer: ResultWriter;
  /** Calls the listener at once, and whenever the number of concurrent tasks changes. */
  readonly onConcurrency: (listener: (tasks: number) => void) => void;
  /** When it aborts, no further task starts, and running tasks are finished. */
  readonly windDown?: AbortSignal;
  readonly waiting?: LockWait;
}

/** What ended an attempt at a run before its last task. */
export type Stopped = { readonly by: "user" } | ({ readonly by: "limit" } & LimitReached) | ServerFault;

const NEVER = new AbortController().signal;

export interface SessionEnd {
  readonly totals: RunTotals;
  /** Tasks of the run, answered or not. */
  readonly asked: number;
  /** Null: every task is answered. */
  readonly stopped: Stopped | null;
}

/**
 * Answers tasks concurrently, and scores and saves each as soon as it is answered. When the signal aborts, running
 * tasks end as interrupted and are not saved. When the budget is spent, running tasks are finished. When the server
 * is dead, running tasks are abandoned and answered when the run is resumed. In each case no further task starts.
 */
export async function runTasks(db: Db, request: RunTasksRequest, emit: Emit, signal: AbortSignal): Promise<SessionEnd> {
  const { runId, answerer, session, budget, writer, windDown, waiting = WAIT_INDEFINITELY } = request;
  const { watch } = answerer;
  const started = performance.now();
  // A bug in one task stops the others before the error is thrown.
  const fault = new AbortController();
  const serverDead = new AbortController();
  const stop = AbortSignal.any([signal, fault.signal, serverDead.signal]);
  // Every running judgement listens to it: many listeners are no leak here.
  setMaxListeners(0, stop);
  let left = session.left;
  const asked = session.left + session.finished;
  /** Tasks that failed without a reply: saved if the server answers again, otherwise left for a resume. */
  const held: Trace[] = [];

  /** Tasks in order, until there is a reason to start no more. */
  function* startable(): Generator<PlannedTask> {
    try {
      for (const task of session.tasks) {
        if (stop.aborted || windDown?.aborted || budget.reached() !== null || watch.fault !== null) return;
        yield task;
      }
    } catch (error) {
      fault.abort(error);
    }
  }

  /** Null: interrupted. */
  const answer = async (task: PlannedTask): Promise<Trace | null> => {
    emit({ type: "task_started", taskId: task.task.id, epoch: task.epoch });
    const answered = await answerer.answer(task, stop);
    if (watch.fault?.by === "server") serverDead.abort(new Error(watch.fault.why));
    if (answered === null) return null;
    const { trace, isHeld } = answered;
    // Before the slot is free: the next task may exceed the budget.
    budget.add(taskCost(trace), trace.ending);
    emit({ type: "task_answered", taskId: trace.taskId, epoch: trace.epoch });
    if (!isHeld) return trace;
    held.push(trace);
    return null;
  };

  const saveHeld = async (): Promise<void> => {
    for (const trace of held.splice(0)) await save(trace);
  };

  // What is answered is scored also where the run was stopped meanwhile.
  const scoreJoined = batchCalls((traces: readonly Trace[]) => withScores(traces, request.scoring, NEVER));

  const scored = async (answered: Trace): Promise<Trace> => {
    try {
      return await scoreJoined(answered);
    } catch (error) {
      writer.keep?.(answered);
      throw error;
    }
  };

  const save = async (answered: Trace): Promise<void> => {
    const trace = await scored(answered);
    const result = toTaskResult(trace);
    const isSaved = await writer.save(trace, result, isFailure(trace.ending));
    if (!isSaved) return;
    answerer.saved?.(trace);
    left--;
    emit({ type: "task_finished", result });
  };

  /** Where another program locks the database and the user stops waiting, the run stays as if it had been killed. */
  const end = async (status: "completed" | "interrupted") => {
    const activeMs = performance.now() - started;
    const write = () => finishRun(db, runId, status, new Date().toISOString(), activeMs);
    await withWriteTransaction(db, waiting, write).catch((error) => {
      if (!waiting.signal.aborted) throw error;
    });
  };
  try {
    emit({ type: "run_started", runId, tasks: asked });
    for await (const result of session.done) {
      if (stop.aborted || windDown?.aborted) break;
      emit({ type: "task_kept", result });
    }
    const stopAll = (error: unknown) => {
      fault.abort(error);
      return null;
    };
    await runConcurrently(startable(), request.onConcurrency, {
      answer: (task) => answer(task).catch(stopAll),
      save: async (answered) => {
        if (answered !== null) await save(answered).catch(stopAll);
        if (watch.isAnswering) await saveHeld().catch(stopAll);
      },
    });
    fault.signal.throwIfAborted();
    if (!stop.aborted && !windDown?.aborted && budget.reached() === null) {
      watch.close();
      if (watch.fault === null) await saveHeld();
    }
  } catch (error) {
    await end("interrupted").catch(() => undefined);
    throw error;
  }
  await end(left > 0 ? "interrupted" : "completed");
  emit({ type: "run_finished", runId, interrupted: left > 0 });
  const totals = await computeRunTotals(db, getRun(db, runId));
  if (left === 0) return { totals, asked, stopped: null };
  const limit = budget.reached();
  const byRun: Stopped | null = watch.fault ?? (limit === null ? null : { by: "limit", ...limit });
  const isByUser = signal.aborted || windDown?.aborted || byRun === null;
  return { totals, asked, stopped: isByUser ? { by: "user" } : byRun };
}
