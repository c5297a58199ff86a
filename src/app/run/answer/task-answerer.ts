import type { Trace } from "../../../domain/runs/trace.js";
import type { PlannedTask } from "../../../domain/tasks/planned-task.js";
import { isFailure } from "../../../domain/tasks/task-ending.js";
import type { RateLimiter, RateLimiterState } from "../../../models/middleware/rate-limiter.js";
import { isProvider, isRemote } from "../../../models/provider-names.js";
import type { Db } from "../../../store/connection/open-store.js";
import type { Mailbox } from "../../../tools/open-mailbox.js";
import type { Budget } from "../budget.js";
import type { ServerWatch } from "../detect-dead-server.js";
import type { AnswerContext, OnActivity } from "./answer-context.js";
import { answerTask } from "./answer-task.js";

export interface Answered {
  readonly trace: Trace;
  /** A failure without a reply: it counts only if the server answers again. */
  readonly isHeld: boolean;
}

/** Answers the tasks of a run, in this process or on other machines. */
export interface TaskAnswerer {
  readonly watch: Pick<ServerWatch, "fault" | "isAnswering" | "close">;
  /** Null: it was interrupted, or no task can succeed any more. It is left for a resume. */
  answer(task: PlannedTask, signal: AbortSignal): Promise<Answered | null>;
  /** Called when the trace is in the database. */
  saved?(trace: Trace): void;
}

/** What answers a run: on this machine, or on others. All that could be refused has been, and nothing has begun. */
export interface AnswererOfRun {
  readonly activity: RunActivity;
  readonly onConcurrency: (listener: (tasks: number) => void) => void;
  /** One line about answers that the judge gave no verdict on. */
  shortfall(): string | null;
  start(run: StartedRun): Promise<TaskAnswerer>;
  /** Also where it was not started. */
  close(): Promise<void>;
}

export interface StartedRun {
  readonly db: Db;
  readonly mailbox: Mailbox;
  readonly budget: Budget;
  readonly onActivity: OnActivity;
  /** False: no further task may start. */
  mayStart(): boolean;
}

/** What is shown of a run that goes on: the state of the rate limiter, or of the workers. */
export interface RunActivity {
  readonly throttle: RateLimiter | null;
  readonly workers?: () => WorkersState;
}

/** Who answers over a queue. */
export interface WorkersState {
  readonly workers: readonly { readonly name: string; readonly perSecond: number }[];
  /** Tasks that workers have. */
  readonly active: number;
  /** What their requests wait for; null where none does. */
  readonly waitingFor: NonNullable<RateLimiterState["why"]> | null;
}

/** Answers in this process. */
export function answerHere(context: AnswerContext, watch: ServerWatch): TaskAnswerer {
  const watched = watchedBy(context, watch);
  return {
    watch,
    async answer(task, signal) {
      let isHeld = false;
      const trace = await answerTask(watched, task, signal, (error) => {
        if (!signal.aborted) isHeld = watch.failed(error);
      }).catch((error) => {
        if (!signal.aborted) throw error;
        return null;
      });
      if (trace === null) return null;
      const isLeft = trace.ending === "interrupted" || (isFailure(trace.ending) && watch.fault !== null);
      return isLeft ? null : { trace, isHeld };
    },
  };
}

/** Local models are not watched: a replay fails as its recording did. */
function watchedBy(context: AnswerContext, watch: ServerWatch): AnswerContext {
  const { model, backend } = context;
  const [provider = ""] = model.id.split("/");
  if (backend !== undefined) return { ...context, backend: watch.backend(backend) };
  const isHere = isProvider(provider) && !isRemote(provider);
  return isHere ? context : { ...context, model: watch.model(model) };
}
