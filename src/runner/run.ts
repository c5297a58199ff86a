import { setMaxListeners } from "node:events";
import { isFailure } from "../domain/ending.js";
import type { Emit } from "../domain/event.js";
import type { PlannedTask } from "../domain/question.js";
import type { RunTotals } from "../domain/result.js";
import { spendingOf } from "../domain/spending.js";
import type { Trace } from "../domain/trace.js";
import type { Db } from "../store/open.js";
import type { ResultWriter } from "../store/result-writer.js";
import { finishRun, getRun } from "../store/runs.js";
import { type Answering, answerQuestion } from "./answer-question.js";
import type { Session } from "./begin.js";
import type { Budget } from "./budget.js";
import { withScores } from "./grade-trace.js";
import { inPlaces } from "./places.js";
import { storedTotals } from "./stored-totals.js";
import { toTaskResult } from "./task-result.js";

export interface RunRequest {
  readonly answering: Answering;
  readonly session: Session;
  readonly budget: Budget;
  readonly writer: ResultWriter;
  /** Calls back at once, and whenever the number of tasks that may be under way changes. */
  readonly onConcurrency: (listener: (tasks: number) => void) => void;
  /** When it aborts, no task is begun any more and those under way are finished. */
  readonly windDown?: AbortSignal;
}

/** How a session of a run ended: all answered, stopped by the user, or by the run's own limits, which say why. */
export interface SessionEnd {
  readonly totals: RunTotals;
  /** Tasks of the run, answered or not. */
  readonly asked: number;
  readonly stopped: { readonly by: "user" | "limit"; readonly why: string } | null;
}

/**
 * Answers a session's tasks, many at once, and grades and saves each as soon as it is answered. When the signal aborts, no task is
 * begun any more and those under way end as interrupted, unsaved. When the budget is spent, none is begun any more and
 * those under way are finished.
 */
export async function runTasks(db: Db, request: RunRequest, emit: Emit, signal: AbortSignal): Promise<SessionEnd> {
  const { answering, session, budget, writer, windDown } = request;
  const { runId } = answering;
  const started = performance.now();
  // A fault of ours in one task must not leave the others running behind the error.
  const fault = new AbortController();
  const stop = AbortSignal.any([signal, fault.signal]);
  // Each judgement under way listens to it: many listeners are no leak here.
  setMaxListeners(0, stop);
  let left = session.left;
  const asked = session.left + session.finished;

  /** The tasks as their turns come, until there is a reason to begin no more. */
  function* toBegin(): Generator<PlannedTask> {
    try {
      for (const task of session.tasks) {
        if (stop.aborted || windDown?.aborted || budget.spentBy() !== null) return;
        yield task;
      }
    } catch (error) {
      fault.abort(error);
    }
  }

  /** Null: interrupted. */
  const answer = async (task: PlannedTask): Promise<Trace | null> => {
    emit({ type: "task_started", taskId: task.question.id });
    const trace = await answerQuestion(answering, task, stop, (why) => budget.giveUp(why));
    if (trace.ending === "interrupted") return null;
    // Before its place is free: the next task may be one too many.
    budget.add(spendingOf(trace), trace.ending);
    emit({ type: "task_answered", taskId: trace.taskId });
    return trace;
  };

  const save = async (answered: Trace): Promise<void> => {
    const trace = withScores(answered, answering.grading);
    const result = toTaskResult(trace);
    await writer.save(trace, result, isFailure(trace.ending));
    left--;
    emit({ type: "task_finished", result });
  };

  const end = (status: "completed" | "interrupted") =>
    finishRun(db, runId, status, new Date().toISOString(), performance.now() - started);
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
    await inPlaces(toBegin(), request.onConcurrency, {
      answer: (task) => answer(task).catch(stopAll),
      save: async (answered) => {
        if (answered !== null) await save(answered).catch(stopAll);
      },
    });
    fault.signal.throwIfAborted();
  } catch (error) {
    end("interrupted");
    throw error;
  }
  end(left > 0 ? "interrupted" : "completed");
  emit({ type: "run_finished", runId, interrupted: left > 0 });
  const totals = await storedTotals(db, getRun(db, runId));
  if (left === 0) return { totals, asked, stopped: null };
  const why = budget.spentBy();
  return {
    totals,
    asked,
    stopped:
      why === null || signal.aborted || windDown?.aborted ? { by: "user", why: "stopped" } : { by: "limit", why },
  };
}
