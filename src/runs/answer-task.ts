// Answers one task of a run, on this machine or for a queue: opens it, runs the agent, scores the trace.
import type { Agent } from "../agents/agent.js";
import type { AgentBackend } from "../agents/agent-backend.js";
import { agentLoop, type LoopAgent } from "../agents/agent-loop.js";
import { attemptAnswer } from "../agents/attempt-answer.js";
import { type OpenExternalAgent, openExternalAgent } from "../agents/external-agent.js";
import { newTaskTrace, notAttempted } from "../agents/new-trace.js";
import type { Rollout } from "../agents/rollout.js";
import type { Suite } from "../agents/task-source.js";
import { NO_EVALS } from "../evals/scoring-evals.js";
import { BudgetReached, forTask, type TaskCalls } from "../models/call-budget.js";
import { ModelError, type PriceOf, type TaskActivity } from "../models/model.js";
import { isProvider, isRemote } from "../models/model-names.js";
import type { RateLimiter, RateLimiterState, RateLimits } from "../models/rate-limiter.js";
import { NO_USAGE } from "../models/usage.js";
import type { AppContext } from "../platform/app-context.js";
import type { JsonObject } from "../platform/json.js";
import { definedProperties } from "../platform/optional-values.js";
import { redactJson } from "../platform/secrets.js";
import { findHostPython } from "../sandbox/run-python.js";
import { createRunJudge, judgeExtras } from "../scoring/judge-settings.js";
import type { Db } from "../store/open-store.js";
import type { LockWait } from "../store/write-transaction.js";
import { type Ending, isFailure } from "../tasks/ending.js";
import type { TaskEpoch } from "../tasks/epoch-key.js";
import type { PlannedTask } from "../tasks/question.js";
import { toTool } from "../tools/load-tools.js";
import type { Mailbox } from "../tools/mailbox.js";
import { type Plant, plantingOf } from "../tools/plant-in-task.js";
import type { SearchPool } from "../tools/search-pool.js";
import { openExternalResources } from "../tools/tool-connections.js";
import type { ToolResources } from "../tools/tool-handler.js";
import type { AttachedTool } from "../tools/tools-store.js";
import type { Judge } from "../traces/judgment.js";
import type { ResultWriter } from "../traces/result-writer.js";
import type { ExecutedRunSettings } from "../traces/run-settings.js";
import type { Trace } from "../traces/trace.js";
import { perturbTools, reword } from "./answer-task/perturb.js";
import type { Budget } from "./budget.js";
import type { AnswerControl } from "./control-protocol.js";
import { failsEveryTask, ServerWatch } from "./detect-dead-server.js";
import type { CreatedModel } from "./model-of-run.js";
import type { RunPlan } from "./plan-run.js";
import { abandonedAttempt, type RunJournal } from "./run-journal.js";
import type { RunRequest } from "./run-options.js";
import { type Scoring, scoringOf, withVerdict } from "./score-traces.js";
import { agentOf } from "./settings-from-options.js";

export interface Answered {
  readonly trace: Trace;
  /** True for a failure without a reply, which counts only if the server answers again. */
  readonly isHeld: boolean;
  /** Earlier attempt with paid replies that `trace` does not contain, or null. */
  readonly abandoned: Trace | null;
}

export interface TaskAnswerer {
  readonly watch: Pick<ServerWatch, "fault" | "isAnswering" | "close">;
  /**
   * Returns the answer, or null if the task was interrupted, the run reached a limit, or no task can succeed anymore. A
   * resume continues the task with the replies in its journal.
   */
  answer(task: PlannedTask, signal: AbortSignal, calls: TaskCalls): Promise<Answered | null>;
  saved?(trace: Trace): void;
  /** Called when no more tasks are running. Stores the paid replies of tasks that other machines did not finish. */
  storeUnfinished?(): Promise<void>;
}

/**
 * Answers a run's tasks, on this machine or on others. All checks that could refuse the run have passed, and no task
 * has started yet.
 */
export interface AnswererOfRun {
  readonly activity: RunActivity;
  readonly onConcurrency: (listener: (tasks: number) => void) => void;
  /**
   * Changes limits while tasks are running. The task timeout applies to tasks that start later. Throws a UserError if
   * the run does not have one of the limits.
   */
  setLimits(changes: AnswerLimits): Promise<void>;
  /** Returns one line about answers without a verdict from the judge, or null if there is nothing to report. */
  shortfall(): string | null;
  start(run: StartedRun): Promise<TaskAnswerer>;
  /** Can be called even if `start` was not. */
  close(): Promise<void>;
}

/** Limits on tasks and calls. Absent fields stay as they are. */
export interface AnswerLimits extends Partial<RateLimits> {
  readonly taskTimeoutMs?: number;
}

/** Everything that the parts of a running run share. */
export interface RunServices {
  readonly db: Db;
  readonly runId: string;
  readonly budget: Budget;
  readonly journal: RunJournal;
  readonly writer: ResultWriter;
  /** How to wait for another program that locks the database. */
  readonly waiting: LockWait;
}

export interface StartedRun extends RunServices {
  readonly mailbox: Mailbox;
  readonly onActivity: OnActivity;
  mayStart(): boolean;
  isPaused(): boolean;
  /** Answers a request to steer the run that arrived over a queue. */
  readonly onControl: AnswerControl;
}

export interface RunActivity {
  readonly throttle: RateLimiter | null;
  readonly workers?: () => WorkersState;
}

export interface WorkersState {
  readonly workers: readonly { readonly name: string; readonly perSecond: number }[];
  readonly active: number;
  readonly waitingFor: NonNullable<RateLimiterState["why"]> | null;
}

interface AnswerContextParts
  extends Pick<AnswerContext, "runId" | "suite" | "taskTimeoutMs" | "backend" | "onActivity"> {
  readonly settings: ExecutedRunSettings;
  readonly model: CreatedModel;
  readonly tools: readonly AttachedTool[];
  readonly judge: Judge | null;
}

/** Everything that a run's tasks share. */
export interface AnswerContext extends LoopAgent {
  readonly runId: string;
  readonly agent: Agent;
  /** Price function for usage without a reported cost. */
  readonly priceOf: PriceOf;
  readonly suite: Pick<Suite, "open">;
  /** Whether the agent receives each question in other words. */
  readonly isReworded?: boolean;
  /** Plants the emails of an attack into the mailbox of a task. Absent without an attack. */
  readonly plant?: Plant;
  /** Returns the current timeout, which can change during the run. */
  readonly taskTimeoutMs: () => number;
  readonly scoring: Scoring;
  /** External agent, or undefined for the agent loop of this process. */
  readonly backend?: AgentBackend | undefined;
  /** Receives the activity of running tasks. Must not throw. */
  readonly onActivity?: OnActivity | undefined;
}

export type OnActivity = (task: TaskEpoch, activity: TaskActivity) => void;

export async function localAnswerer(
  { db, searchThreads }: { readonly db: Db; readonly searchThreads: SearchPool | undefined },
  plan: RunPlan,
  options: RunRequest,
  appContext: AppContext,
): Promise<AnswererOfRun> {
  const { settings, note } = appContext;
  const { runId, model, tools, suite } = plan;
  const timeoutMs = options.requestTimeout * 1_000;
  const judge = await createRunJudge(
    plan.settings,
    model,
    { timeoutMs, note, commandExtras: judgeExtras(options) },
    settings,
  );
  const outside = openExternalResources(settings.env);
  let external: OpenExternalAgent | null = null;
  let { taskTimeoutMs } = plan.settings;
  return {
    activity: { throttle: model.throttle },
    onConcurrency: model.onConcurrency,
    async setLimits({ taskTimeoutMs: timeout = taskTimeoutMs, ...limits }) {
      model.setLimits(limits);
      taskTimeoutMs = timeout;
    },
    shortfall: () => judge?.shortfall() ?? null,
    async start({ mailbox, onActivity }) {
      const resources = resourcesOf(plan.settings, { mailbox, searchThreads, outside });
      if (plan.settings.kind === "external") {
        const how = { model, options, context: appContext, resources };
        external = await openExternalAgent(db, plan.settings, how);
      }
      const parts = { runId, settings: plan.settings, model, tools, suite, judge: judge?.judge ?? null };
      const context = buildAnswerContext(
        { ...parts, taskTimeoutMs: () => taskTimeoutMs, backend: external?.backend, onActivity },
        resources,
      );
      return answerHere(context, new ServerWatch());
    },
    close: async () => void (await Promise.all([outside.close(), external?.close()])),
  };
}

export function answerHere(context: AnswerContext, watch: ServerWatch): TaskAnswerer {
  const watched = watchedBy(context, watch);
  return {
    watch,
    async answer(task, signal, calls) {
      let isHeld = false;
      const trace = await answerTask(watched, task, { signal, calls }, (error) => {
        if (!signal.aborted) isHeld = watch.failed(error, task.task.id);
      }).catch((error) => {
        if (!signal.aborted) throw error;
        return null;
      });
      if (trace === null || trace.ending === "interrupted") return null;
      if (!isFailure(trace.ending)) watch.answered();
      else if (watch.fault !== null) return null;
      return { trace, isHeld, abandoned: abandonedAttempt(trace, calls.journal.unused) };
    },
  };
}

/** Does not watch local models, because a replay fails exactly like its recording. */
function watchedBy(context: AnswerContext, watch: ServerWatch): AnswerContext {
  const { model, backend } = context;
  const [provider = ""] = model.id.split("/");
  if (backend !== undefined) return { ...context, backend: watch.backend(backend) };
  const isHere = isProvider(provider) && !isRemote(provider);
  return isHere ? context : { ...context, model: watch.model(model) };
}

export function resourcesOf(settings: ExecutedRunSettings, shared: ToolResources): ToolResources {
  return settings.kind === "own" && settings.unsafeHostPython ? { ...shared, python: findHostPython } : shared;
}

export function buildAnswerContext(
  { runId, settings, model, tools, suite, judge, taskTimeoutMs, backend, onActivity }: AnswerContextParts,
  resources: ToolResources,
): AnswerContext {
  const perturbation = settings.kind === "own" ? settings.perturbation : undefined;
  return {
    runId,
    agent: agentOf(settings),
    model: model.model,
    priceOf: model.priceOf,
    tools: perturbTools(
      tools.map((tool) => toTool(tool, resources)),
      perturbation,
    ),
    isReworded: perturbation === "reworded",
    ...definedProperties({
      plant: plantingOf(settings.kind === "own" ? settings : {}, model.model.id, resources.mailbox),
    }),
    suite,
    taskTimeoutMs,
    limits: settings.kind === "own" ? settings : { maxTaskCostUsd: null },
    // Evals run when answers are saved.
    scoring: scoringOf(settings.scorers, resources.mailbox, { judge, evals: NO_EVALS }),
    backend,
    onActivity,
  };
}

/**
 * Opens one task, lets the agent answer it, grades the result, closes the task, and has the answer judged if the run
 * has a judge. Errors from the model or its server become the trace's ending and are passed to `onFailure`. They are
 * not thrown. Costs before a failure stay in the trace.
 */
async function answerTask(
  run: AnswerContext,
  plannedTask: PlannedTask,
  { signal, calls }: { readonly signal: AbortSignal; readonly calls: TaskCalls },
  onFailure: (error: unknown) => void,
): Promise<Trace> {
  const startedAt = new Date();
  const { runId, agent, model } = run;
  const fields = { runId, agentId: agent.id, model: model.id, maxTurns: agent.settings.maxTurns };
  const opened = await run.suite.open(plannedTask, signal);
  if (!opened.ok) {
    return newTaskTrace(fields, plannedTask, notAttempted(opened.ending, opened.reason, startedAt), opened.record);
  }
  await run.plant?.(plannedTask, opened.access);
  const { task, epoch } = plannedTask;
  const onActivity = (activity: TaskActivity) => run.onActivity?.({ taskId: task.id, epoch }, activity);
  let trace: Trace;
  try {
    const { instruction, variables, access, secrets = [] } = opened;
    const attempted = await attemptAnswer(
      run.backend ?? agentLoop({ ...run, model: forTask(run.model, calls, "agent", run.priceOf) }),
      {
        task: {
          id: task.id,
          epoch,
          instruction: run.isReworded ? reword(instruction) : instruction,
          variables,
          maxTurns: fields.maxTurns,
          onActivity,
        },
        access,
        timeoutMs: run.taskTimeoutMs(),
        endingOf: endingOfFailure,
      },
      signal,
    );
    if (attempted.thrown !== null) {
      onFailure(attempted.thrown);
      chargeFailedCall(attempted.rollout, attempted.thrown);
    }
    const record = await opened.grade(attempted.rollout, signal);
    trace = withoutSecrets(newTaskTrace(fields, plannedTask, attempted, record), secrets);
  } finally {
    await opened.close();
  }
  if (run.scoring.judge !== null) onActivity({ type: "judging" });
  return withVerdict(trace, run.scoring, signal, calls);
}

/** Redacts secrets. Tools never show them to an agent, but it might have assembled one from its parts. */
function withoutSecrets(trace: Trace, secrets: readonly string[]): Trace {
  return secrets.length === 0 ? trace : (redactJson(trace as unknown as JsonObject, secrets) as unknown as Trace);
}

/** Returns the ending for a failure, or null for a bug in art-e, which must not be recorded as a model failure. */
function endingOfFailure(error: unknown): Ending | null {
  // A replay throws the recorded timeout.
  if (error instanceof DOMException && error.name === "TimeoutError") return "timeout";
  // The task itself is fine. A resume with a working key or model name can answer it.
  if (failsEveryTask(error) !== null || error instanceof BudgetReached) return "interrupted";
  return error instanceof ModelError ? "model_error" : null;
}

/** Adds the attempts of a failed call to the trace as an incomplete turn, because they do not belong to another one. */
function chargeFailedCall({ turns }: Rollout, error: unknown): void {
  if (!(error instanceof ModelError) || (error.retries.length === 0 && error.billed === null)) return;
  const { usage, costUsd } = error.billedInAll ?? { usage: NO_USAGE, costUsd: 0 };
  turns.push({
    startedAt: new Date().toISOString(),
    latencyMs: 0,
    waitedMs: error.retries.reduce((sum, { waitedMs }) => sum + waitedMs, 0),
    finishReason: "other",
    rawFinishReason: error.kind,
    usage,
    costUsd,
    retries: [...error.retries],
    cached: false,
  });
}
