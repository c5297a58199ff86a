// Runs the tasks of a session: answers, scores and saves them, until a limit or a signal stops it.
import { setMaxListeners } from "node:events";
import type { UntilOutcome } from "../analysis/sequential-comparison.js";
import { batchCalls } from "../platform/batches.js";
import { NEVER } from "../platform/deadline.js";
import type { UntilWatch } from "../results/claim-watch.js";
import { computeRunTotals } from "../results/results-file.js";
import { storeRunFigures } from "../results/run-summaries.js";
import { withWriteTransaction } from "../store/write-transaction.js";
import type { PlannedTask } from "../tasks/question.js";
import type { Emit } from "../traces/progress.js";
import { costOfEntries } from "../traces/reply-turns.js";
import type { RunTotals } from "../traces/run-totals.js";
import { finishRun, getRun } from "../traces/runs-store.js";
import { taskCost, toTaskResult } from "../traces/task-result.js";
import type { Trace } from "../traces/trace.js";
import type { Answered, RunServices, TaskAnswerer } from "./answer-task.js";
import type { LimitReached } from "./budget.js";
import type { RunSession } from "./create-run.js";
import type { ServerFault } from "./detect-dead-server.js";
import { runConcurrently } from "./run-tasks/run-concurrently.js";
import { type Scoring, withScores } from "./score-traces.js";

export interface RunTasksRequest {
  readonly answerer: TaskAnswerer;
  readonly scoring: Scoring;
  readonly session: RunSession;
  /** The claim that stops the run when it is settled, if there is one. */
  readonly until: UntilWatch | null;
  /** Calls the listener immediately, and again whenever the number of concurrent tasks changes. */
  readonly onConcurrency: (listener: (tasks: number) => void) => void;
  /** When this signal aborts, no further task starts, and running tasks are finished. */
  readonly windDown: AbortSignal;
  readonly steering: TaskSteering;
}

/** Pauses a run and adds tasks to it while it is running. */
export interface TaskSteering {
  /** While true, no further task starts, and the run does not end. */
  readonly isPaused: boolean;
  /** Returns the next task to run again, or null. */
  nextRequeued(): PlannedTask | null;
  /** Calls the listener, which saves the failures that are held back, before failed tasks are run again. */
  beforeRequeue(listener: () => Promise<void>): void;
  /** Calls the listener after each change. */
  onChange(listener: () => void): void;
  /** Accepts no further changes, and resolves when the last one is saved. */
  close(): Promise<void>;
}

export type RunStop =
  | { readonly by: "user" }
  /** The claim of `--until` is settled. */
  | { readonly by: "evidence" }
  | ({ readonly by: "limit" } & LimitReached)
  | ServerFault;

export interface SessionEnd {
  readonly totals: RunTotals;
  /** Total number of tasks, answered or not. */
  readonly requestedTasks: number;
  /** The reason for stopping, or null if every task is answered. */
  readonly stopped: RunStop | null;
  /** State of the claim of `--until`, or null without one. */
  readonly until: UntilOutcome | null;
}

/**
 * Answers tasks concurrently, and scores and saves each one when it is answered. If the signal aborts, running tasks
 * end as interrupted and are not saved. If a budget limit is reached, running tasks make no further calls. In each
 * case, no further task starts, and a resume continues the unfinished tasks with the replies in their journals.
 */
export async function runTasks(
  { db, runId, budget, journal, writer, waiting }: RunServices,
  { answerer, scoring, session, onConcurrency, windDown, steering, until }: RunTasksRequest,
  emit: Emit,
  signal: AbortSignal,
): Promise<SessionEnd> {
  const { watch } = answerer;
  const started = performance.now();
  // A bug in one task stops the others before the error is thrown.
  const fault = new AbortController();
  const serverDead = new AbortController();
  const stop = AbortSignal.any([signal, fault.signal, serverDead.signal]);
  // Every running judge call listens to this signal, so many listeners are not a leak.
  setMaxListeners(0, stop);
  // A joined signal with a listener is never collected, nor is what the listener refers to.
  const ended = new AbortController();
  let remaining = session.left;
  const requestedTasks = session.left + session.finished;
  /** Tasks that failed without a reply. They are saved if the server answers again, otherwise left for a resume. */
  const heldAnswers: Answered[] = [];

  const iterator = session.tasks[Symbol.iterator]();
  const mustEnd = () =>
    stop.aborted || windDown.aborted || budget.reached() !== null || watch.fault !== null || until?.isSettled === true;

  const nextTask = (): PlannedTask | null => {
    if (mustEnd()) return null;
    const again = steering.nextRequeued();
    if (again !== null) {
      remaining++;
      return again;
    }
    for (;;) {
      const { done, value } = iterator.next();
      if (done || mustEnd()) return null;
      if (until === null || until.canCount(value.task.id)) return value;
    }
  };

  /** Returns the answer to save, or null if the task was interrupted or its failure is held back. */
  const answer = async (task: PlannedTask): Promise<Answered | null> => {
    const taskJournal = journal.open(task);
    const share = budget.start(costOfEntries(taskJournal.stored));
    emit({ type: "task_started", taskId: task.task.id, epoch: task.epoch });
    const answer = await answerer.answer(task, stop, { budget: share, journal: taskJournal });
    if (watch.fault?.by === "server") serverDead.abort(new Error(watch.fault.why));
    // Must happen before the slot is free, because the next task might exceed the budget.
    await share.end(answer === null ? null : taskCost(answer.trace), answer?.trace.ending ?? null);
    if (answer === null) return null;
    const { trace, isHeld } = answer;
    emit({ type: "task_answered", taskId: trace.taskId, epoch: trace.epoch });
    if (!isHeld) return answer;
    heldAnswers.push(answer);
    return null;
  };

  const saveHeld = async (): Promise<void> => {
    for (const answer of heldAnswers.splice(0)) await save(answer);
  };

  steering.beforeRequeue(saveHeld);

  // Answered tasks are scored even if the run was stopped in the meantime, except by functions of a program.
  const scoreJoined = batchCalls((traces: readonly Trace[]) => withScores(traces, scoring, NEVER));

  /** Returns null if the run was stopped while a function was scoring. A resume scores the task. */
  const scored = async (trace: Trace): Promise<Trace | null> => {
    try {
      return await scoreJoined(trace);
    } catch (error) {
      if (signal.aborted && error === signal.reason) return null;
      writer.keep(trace);
      throw error;
    }
  };

  const save = async ({ trace: unscored, abandoned: earlier }: Answered): Promise<void> => {
    const trace = await scored(unscored);
    if (trace === null) return;
    const result = toTaskResult(trace);
    const abandoned = earlier === null ? null : { trace: earlier, result: toTaskResult(earlier) };
    if (!(await writer.save(trace, result, abandoned))) return;
    answerer.saved?.(trace);
    remaining--;
    until?.add(result);
    emit({ type: "task_finished", result });
  };

  /** If another program locks the database and the user stops waiting, the run is left as if it had been killed. */
  const finish = async (status: "completed" | "interrupted") => {
    const activeMs = performance.now() - started;
    const write = () => finishRun(db, runId, status, new Date().toISOString(), activeMs);
    await withWriteTransaction(db, waiting, write).catch((error) => {
      if (!waiting.signal.aborted) throw error;
    });
  };
  try {
    emit({ type: "run_started", runId, tasks: requestedTasks });
    for await (const result of session.done) {
      if (stop.aborted || windDown.aborted) break;
      until?.add(result);
      emit({ type: "task_kept", result });
    }
    const stopAll = (error: unknown) => {
      fault.abort(error);
      return null;
    };
    await runConcurrently(onConcurrency, {
      next() {
        try {
          return nextTask();
        } catch (error) {
          return stopAll(error);
        }
      },
      answer: (task) => answer(task).catch(stopAll),
      save: async (answer) => {
        if (answer !== null) await save(answer).catch(stopAll);
        if (watch.isAnswering) await saveHeld().catch(stopAll);
      },
      hasRoom: () => budget.hasRoom(),
      isPaused: () => steering.isPaused && !mustEnd(),
      onChange(listener) {
        steering.onChange(listener);
        stop.addEventListener("abort", listener, { once: true, signal: ended.signal });
        windDown.addEventListener("abort", listener, { once: true, signal: ended.signal });
      },
    });
    await steering.close();
    fault.signal.throwIfAborted();
    if (!stop.aborted && !windDown.aborted && budget.reached() === null) {
      watch.close();
      if (watch.fault === null) await saveHeld();
    }
    // After an interrupt, other machines still have tasks, and the user does not want to wait for the queue.
    if (!stop.aborted && !windDown.aborted) await answerer.storeUnfinished?.();
  } catch (error) {
    await steering.close();
    await finish("interrupted").catch(() => undefined);
    throw error;
  } finally {
    ended.abort();
  }
  await finish(remaining > 0 ? "interrupted" : "completed");
  await storeRunFigures(db, runId);
  emit({ type: "run_finished", runId, interrupted: remaining > 0 });
  const totals = await computeRunTotals(db, getRun(db, runId));
  const end = { totals, requestedTasks, until: until?.outcome() ?? null };
  if (remaining === 0) return { ...end, stopped: null };
  if (until?.isSettled) return { ...end, stopped: { by: "evidence" } };
  const limit = budget.reached();
  const byRun: RunStop | null = watch.fault ?? (limit === null ? null : { by: "limit", ...limit });
  const isByUser = signal.aborted || windDown.aborted || byRun === null;
  return { ...end, stopped: isByUser ? { by: "user" } : byRun };
}
