import { setMaxListeners } from "node:events";
import { setImmediate as nextTurn } from "node:timers/promises";
import type { UntilOutcome } from "../analysis/sequential-comparison.js";
import { readFingerprint } from "../mail/corpus.js";
import type { AppContext } from "../platform/app-context.js";
import { batchCalls } from "../platform/batches.js";
import { UserError } from "../platform/errors.js";
import { writeFileAtomically } from "../platform/files.js";
import { toWellFormedJson } from "../platform/well-formed-json.js";
import type { FileFault, FileWatch } from "../store/database-file.js";
import { type Db, type LockWait, WAIT_INDEFINITELY, withWriteTransaction } from "../store/open-store.js";
import { canBeRetried } from "../tasks/ending.js";
import type { PlannedTask } from "../tasks/question.js";
import type { Emit } from "../traces/progress.js";
import type { ResultWriter } from "../traces/result-writer.js";
import { saveScoringSettings } from "../traces/results-store.js";
import type { RunTotals } from "../traces/run-totals.js";
import { finishRun, getRun } from "../traces/runs-store.js";
import { taskCost, toTaskResult } from "../traces/task-result.js";
import type { Trace } from "../traces/trace.js";
import { iterateTraces } from "../traces/traces-store.js";
import type { TaskAnswerer } from "./answer-task.js";
import type { Budget, LimitReached } from "./budget.js";
import type { ServerFault } from "./detect-dead-server.js";
import type { RunSession } from "./execute-run/create-run.js";
import { computeRunTotals } from "./results-file.js";
import type { UntilWatch } from "./run-until.js";
import { type Scoring, withScores } from "./score-traces.js";

const GROWN = "mail was imported while it ran";

/**
 * Watches a run's database while other programs can change it. The run stops if the database is deleted or replaced.
 * Mail imported during the run is recorded with it, because later tasks can find mail that earlier ones could not.
 */
export function detectLostDatabase(
  { db, path, runId, watch }: { db: Db; path: string; runId: string; watch: FileWatch },
  waiting: LockWait,
  { note }: AppContext,
) {
  const before = readFingerprint(db);
  const lost = async (recent: readonly string[]): Promise<Error | null> => {
    const fault = watch.check();
    return fault === null ? null : saveLostTraces(fault, { db, path, runId, recent });
  };
  return {
    /** Returns the error to report: the lost database if that caused `error`, otherwise `error`. */
    explain: async (error: unknown, recent: readonly string[]): Promise<unknown> => (await lost(recent)) ?? error,
    async ended(end: SessionEnd, recent: readonly string[]): Promise<SessionEnd> {
      const error = await lost(recent);
      if (error !== null) throw error;
      if (readFingerprint(db) === before) return end;
      note(`art-e: ${GROWN}. Later tasks could find it, earlier ones could not.`);
      const { settings } = getRun(db, runId);
      const changes = [...(settings.changes ?? []), GROWN];
      await withWriteTransaction(db, waiting, () => saveScoringSettings(db, runId, { ...settings, changes }));
      return end;
    },
  };
}

/**
 * Returns the error for a run whose database was deleted or replaced. Saves the run's traces to a file next to the
 * database: all traces that SQLite can still read from the open file, and the recent ones from memory.
 */
async function saveLostTraces(
  fault: FileFault,
  { db, path, runId, recent }: { db: Db; path: string; runId: string; recent: readonly string[] },
): Promise<UserError> {
  const kept = `${path}.${runId}.traces.jsonl`;
  const counted = { traces: 0 };
  const where = await writeFileAtomically(kept, traceLines(db, runId, recent, counted)).then(
    () =>
      counted.traces === 1 ? `its trace was saved to ${kept}` : `its ${counted.traces} traces were saved to ${kept}`,
    (error: Error) => `its traces could not be saved: ${error.message}`,
  );
  return new UserError(
    "db_lost",
    `Run ${runId} stopped: ${path} was ${fault} while it ran; ${where}.`,
    "Restore the database, or import the mail again. This run cannot be resumed without the database.",
    1,
  );
}

function* traceLines(db: Db, runId: string, recent: readonly string[], counted: { traces: number }): Generator<string> {
  const have = new Set<string>();
  for (const trace of readable(iterateTraces(db, { runId }))) {
    have.add(trace.traceId);
    counted.traces++;
    yield `${toWellFormedJson(trace)}\n`;
  }
  for (const json of recent) {
    const trace = JSON.parse(json) as Trace;
    if (have.has(trace.traceId)) continue;
    counted.traces++;
    yield `${toWellFormedJson(trace)}\n`;
  }
}

function* readable<T>(items: Iterable<T>): Generator<T> {
  try {
    yield* items;
  } catch {
    return;
  }
}

export interface RunTasksRequest {
  readonly runId: string;
  readonly answerer: TaskAnswerer;
  readonly scoring: Scoring;
  readonly session: RunSession;
  readonly budget: Budget;
  readonly writer: ResultWriter;
  /** The claim that stops the run when it is settled, if there is one. */
  readonly until?: UntilWatch | null;
  /** Calls the listener immediately, and again whenever the number of concurrent tasks changes. */
  readonly onConcurrency: (listener: (tasks: number) => void) => void;
  /** When this signal aborts, no further task starts, and running tasks are finished. */
  readonly windDown?: AbortSignal;
  readonly waiting?: LockWait;
}

export type RunStop =
  | { readonly by: "user" }
  /** The claim of `--until` is settled. */
  | { readonly by: "evidence" }
  | ({ readonly by: "limit" } & LimitReached)
  | ServerFault;

const NEVER = new AbortController().signal;

export interface SessionEnd {
  readonly totals: RunTotals;
  /** Total number of tasks, answered or not. */
  readonly asked: number;
  /** The reason for stopping, or null if every task is answered. */
  readonly stopped: RunStop | null;
  /** State of the claim of `--until`, or null without one. */
  readonly until: UntilOutcome | null;
}

/**
 * Answers tasks concurrently, and scores and saves each one when it is answered. If the signal aborts, running tasks
 * end as interrupted and are not saved. If a budget limit is reached, running tasks make no further calls. Their cost
 * is saved, and a resume answers them again, as it does if the server is dead. In each case, no further task starts.
 */
export async function runTasks(db: Db, request: RunTasksRequest, emit: Emit, signal: AbortSignal): Promise<SessionEnd> {
  const { runId, answerer, session, budget, writer, windDown, until = null, waiting = WAIT_INDEFINITELY } = request;
  const { watch } = answerer;
  const started = performance.now();
  // A bug in one task stops the others before the error is thrown.
  const fault = new AbortController();
  const serverDead = new AbortController();
  const stop = AbortSignal.any([signal, fault.signal, serverDead.signal]);
  // Every running judge call listens to this signal, so many listeners are not a leak.
  setMaxListeners(0, stop);
  let left = session.left;
  const asked = session.left + session.finished;
  /** Tasks that failed without a reply. They are saved if the server answers again, otherwise left for a resume. */
  const held: Trace[] = [];

  function* startable(): Generator<PlannedTask> {
    try {
      for (const task of session.tasks) {
        if (stop.aborted || windDown?.aborted || budget.reached() !== null || watch.fault !== null) return;
        if (until?.isSettled) return;
        yield task;
      }
    } catch (error) {
      fault.abort(error);
    }
  }

  /** Returns the trace to save, or null if the task was interrupted or its failure is held back. */
  const answer = async (task: PlannedTask): Promise<Trace | null> => {
    const share = budget.start();
    emit({ type: "task_started", taskId: task.task.id, epoch: task.epoch });
    const answered = await answerer.answer(task, stop, share);
    if (watch.fault?.by === "server") serverDead.abort(new Error(watch.fault.why));
    // Must happen before the slot is free, because the next task might exceed the budget.
    await share.end(
      answered === null ? null : taskCost(answered.trace),
      answered === null || answered.isStopped ? null : answered.trace.ending,
    );
    if (answered === null) return null;
    const { trace, isHeld, isStopped } = answered;
    if (isStopped) {
      if (await writer.save(trace, toTaskResult(trace), "stopped")) answerer.saved?.(trace);
      return null;
    }
    emit({ type: "task_answered", taskId: trace.taskId, epoch: trace.epoch });
    if (!isHeld) return trace;
    held.push(trace);
    return null;
  };

  const saveHeld = async (): Promise<void> => {
    for (const trace of held.splice(0)) await save(trace);
  };

  // Answered tasks are scored even if the run was stopped in the meantime.
  const scoreJoined = batchCalls((traces: readonly Trace[]) => withScores(traces, request.scoring, NEVER));

  const scored = async (answered: Trace): Promise<Trace> => {
    try {
      return await scoreJoined(answered);
    } catch (error) {
      writer.keep(answered);
      throw error;
    }
  };

  const save = async (answered: Trace): Promise<void> => {
    const trace = await scored(answered);
    const result = toTaskResult(trace);
    const isSaved = await writer.save(trace, result, canBeRetried(trace.ending) ? "failed" : "finished");
    if (!isSaved) return;
    answerer.saved?.(trace);
    left--;
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
    emit({ type: "run_started", runId, tasks: asked });
    for await (const result of session.done) {
      if (stop.aborted || windDown?.aborted) break;
      until?.add(result);
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
      hasRoom: () => budget.hasRoom(),
    });
    fault.signal.throwIfAborted();
    if (!stop.aborted && !windDown?.aborted && budget.reached() === null) {
      watch.close();
      if (watch.fault === null) await saveHeld();
    }
  } catch (error) {
    await finish("interrupted").catch(() => undefined);
    throw error;
  }
  await finish(left > 0 ? "interrupted" : "completed");
  emit({ type: "run_finished", runId, interrupted: left > 0 });
  const totals = await computeRunTotals(db, getRun(db, runId));
  const end = { totals, asked, until: until?.outcome() ?? null };
  if (left === 0) return { ...end, stopped: null };
  if (until?.isSettled) return { ...end, stopped: { by: "evidence" } };
  const limit = budget.reached();
  const byRun: RunStop | null = watch.fault ?? (limit === null ? null : { by: "limit", ...limit });
  const isByUser = signal.aborted || windDown?.aborted || byRun === null;
  return { ...end, stopped: isByUser ? { by: "user" } : byRun };
}

/** The two steps of a task. Neither promise may reject. */
interface Stages<Task, Answered> {
  /** Whether one more task can start in addition to the running ones. Called again whenever one of them is answered. */
  hasRoom?(): boolean;
  answer(task: Task): Promise<Answered>;
  /**
   * Saving does not occupy a slot, so a slow disk does not idle the model. Runs after the work that other tasks wait
   * for.
   */
  save(answered: Answered): Promise<void>;
}

/**
 * Processes tasks in order. Answers as many tasks concurrently as there are slots, and saves at most as many at the
 * same time. A task is taken when a slot is free, and nothing of it is kept after saving, so a long run has only its
 * running tasks in memory. Free slots are filled one per turn of the event loop, so the first task is running before
 * the last one starts.
 * @param onPlaces calls back immediately, and again whenever the number of slots changes
 */
export function runConcurrently<Task, Answered>(
  tasks: Iterable<Task>,
  onPlaces: (listener: (places: number) => void) => void,
  { answer, save, hasRoom: hasBudget = () => true }: Stages<Task, Answered>,
): Promise<void> {
  const waiting = tasks[Symbol.iterator]();
  let places = 0;
  let answering = 0;
  let saving = 0;
  let isEmpty = false;
  let isFilling = false;
  return new Promise((resolve, reject) => {
    const hasRoom = () =>
      answering < places && answering + saving < 2 * places && !isEmpty && (answering === 0 || hasBudget());
    const carryOut = async (task: Task) => {
      answering++;
      const answered = await answer(task);
      answering--;
      saving++;
      fill();
      await nextTurn();
      await save(answered);
      saving--;
      fill();
    };
    const fill = () => {
      if (hasRoom()) {
        const { done, value } = waiting.next();
        isEmpty = done === true;
        if (!done) carryOut(value).catch(reject);
      }
      if (hasRoom() && !isFilling) {
        isFilling = true;
        setImmediate(fillMore);
      }
      if (isEmpty && answering + saving === 0) resolve();
    };
    const fillMore = () => {
      isFilling = false;
      fill();
    };
    onPlaces((now) => {
      places = Math.max(1, now);
      fill();
    });
  });
}
