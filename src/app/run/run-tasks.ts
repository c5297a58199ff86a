import { setMaxListeners } from "node:events";
import type { RunTotals } from "../../domain/runs/benchmark-result.js";
import { taskCost } from "../../domain/runs/cost.js";
import type { Emit } from "../../domain/runs/run-event.js";
import type { Trace } from "../../domain/runs/trace.js";
import { isFailure } from "../../domain/tasks/ending.js";
import type { PlannedTask } from "../../domain/tasks/question.js";
import { isProvider, isRemote } from "../../models/provider-names.js";
import type { Db } from "../../store/connection/open-store.js";
import { type LockWait, WAIT_INDEFINITELY, withWriteTransaction } from "../../store/connection/write-transaction.js";
import type { ResultWriter } from "../../store/runs/result-writer.js";
import { finishRun, getRun } from "../../store/runs/runs.js";
import { aggregateRun } from "../results/aggregate-run.js";
import { withScores } from "../score/score-trace.js";
import { type Answering, answerQuestion } from "./answer-question.js";
import type { Budget, LimitReached } from "./budget.js";
import type { RunSession } from "./create-run.js";
import { type ServerFault, ServerWatch } from "./server-watch.js";
import { runConcurrently } from "./task-pool.js";
import { toTaskResult } from "./to-task-result.js";

export interface RunRequest {
  readonly answering: Answering;
  readonly session: RunSession;
  readonly budget: Budget;
  readonly writer: ResultWriter;
  /** Calls back at once, and whenever the number of tasks that may be under way changes. */
  readonly onConcurrency: (listener: (tasks: number) => void) => void;
  /** When it aborts, no task is begun any more and those under way are finished. */
  readonly windDown?: AbortSignal;
  readonly watch?: ServerWatch;
  readonly waiting?: LockWait;
}

/** What ended a session of a run before its last task. */
export type Stopped = { readonly by: "user" } | ({ readonly by: "limit" } & LimitReached) | ServerFault;

export interface SessionEnd {
  readonly totals: RunTotals;
  /** Tasks of the run, answered or not. */
  readonly asked: number;
  /** Null: all is answered. */
  readonly stopped: Stopped | null;
}

/**
 * Answers a session's tasks, many at once, and grades and saves each as soon as it is answered. When the signal aborts, no task is
 * begun any more and those under way end as interrupted, unsaved. When the budget is spent, none is begun any more and
 * those under way are finished. Where the server is found dead, those under way are given up: they are asked when the run goes on.
 */
export async function runTasks(db: Db, request: RunRequest, emit: Emit, signal: AbortSignal): Promise<SessionEnd> {
  const { session, budget, writer, windDown, watch = new ServerWatch(), waiting = WAIT_INDEFINITELY } = request;
  const answering = watched(request.answering, watch);
  const { runId } = answering;
  const started = performance.now();
  // A fault of ours in one task must not leave the others running behind the error.
  const fault = new AbortController();
  const deadServer = new AbortController();
  const stop = AbortSignal.any([signal, fault.signal, deadServer.signal]);
  // Each judgement under way listens to it: many listeners are no leak here.
  setMaxListeners(0, stop);
  let left = session.left;
  const asked = session.left + session.finished;
  /** Failed without any reply: saved when the server answers again, left for later if it does not. */
  const held: Trace[] = [];

  /** The tasks as their turns come, until there is a reason to begin no more. */
  function* toBegin(): Generator<PlannedTask> {
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
    emit({ type: "task_started", taskId: task.question.id });
    let isHeld = false;
    const trace = await answerQuestion(answering, task, stop, (error) => {
      if (!stop.aborted) isHeld = watch.failed(error);
    });
    if (watch.fault?.by === "server") deadServer.abort(new Error(watch.fault.why));
    if (trace.ending === "interrupted" || (isFailure(trace.ending) && watch.fault !== null)) return null;
    // Before its place is free: the next task may be one too many.
    budget.add(taskCost(trace), trace.ending);
    emit({ type: "task_answered", taskId: trace.taskId });
    if (!isHeld) return trace;
    held.push(trace);
    return null;
  };

  const saveHeld = async (): Promise<void> => {
    for (const trace of held.splice(0)) await save(trace);
  };

  const scored = (answered: Trace): Trace => {
    try {
      return withScores(answered, answering.grading);
    } catch (error) {
      writer.keep?.(answered);
      throw error;
    }
  };

  const save = async (answered: Trace): Promise<void> => {
    const trace = scored(answered);
    const result = toTaskResult(trace);
    const isSaved = await writer.save(trace, result, isFailure(trace.ending));
    if (!isSaved) return;
    left--;
    emit({ type: "task_finished", result });
  };

  /** Where others hold the file and the user waits no longer, it stays as a killed run does. */
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
    await runConcurrently(toBegin(), request.onConcurrency, {
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
  const totals = await aggregateRun(db, getRun(db, runId));
  if (left === 0) return { totals, asked, stopped: null };
  const limit = budget.reached();
  const byRun: Stopped | null = watch.fault ?? (limit === null ? null : { by: "limit", ...limit });
  const isByUser = signal.aborted || windDown?.aborted || byRun === null;
  return { totals, asked, stopped: isByUser ? { by: "user" } : byRun };
}

/** Of a model that answers from here nothing is to be heard: a replay fails as its recording did. */
function watched(answering: Answering, watch: ServerWatch): Answering {
  const { model, backend } = answering;
  const [provider = ""] = model.id.split("/");
  if (backend !== undefined) return { ...answering, backend: watch.backend(backend) };
  const isHere = isProvider(provider) && !isRemote(provider);
  return isHere ? answering : { ...answering, model: watch.model(model) };
}
