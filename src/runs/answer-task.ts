import { randomUUID } from "node:crypto";
import {
  type AgentBackend,
  type AgentTask,
  type OpenedTask,
  renderPrompt,
  type Suite,
  type Transcript,
} from "../agents/agent.js";
import { type AgentRun, listTools, newTranscript, runAgent } from "../agents/agent-loop.js";
import { type AttemptedAnswer, attemptAnswer } from "../agents/attempt-answer.js";
import { NO_EVALS } from "../evals/use-evals.js";
import { BudgetReached, type CallBudget, withCallBudget } from "../models/call-budget.js";
import { type Model, ModelError, NO_USAGE, type PriceOf, type TaskActivity } from "../models/model.js";
import { isProvider, isRemote } from "../models/model-names.js";
import type { RateLimiter, RateLimiterState } from "../models/rate-limiter.js";
import type { AppContext } from "../platform/app-context.js";
import type { JsonObject } from "../platform/json.js";
import { redactJson } from "../platform/secrets.js";
import { findHostPython } from "../sandbox/run-python.js";
import { createRunJudge, judgeExtras } from "../scoring/judge-settings.js";
import type { Db } from "../store/open-store.js";
import { type Ending, isFailure } from "../tasks/ending.js";
import type { PlannedTask, TaskId } from "../tasks/question.js";
import { toTool } from "../tools/load-tools.js";
import type { Mailbox } from "../tools/mailbox.js";
import type { SearchPool } from "../tools/search-pool.js";
import type { Agent, AttachedTool, Tool } from "../tools/tool.js";
import { openExternalResources } from "../tools/tool-connections.js";
import type { ToolResources } from "../tools/tool-handler.js";
import type { ExecutedRunSettings } from "../traces/run-settings.js";
import type { Judge, Trace } from "../traces/trace.js";
import type { Budget } from "./budget.js";
import { failsEveryTask, ServerWatch } from "./detect-dead-server.js";
import type { CreatedModel } from "./model-of-run.js";
import type { OpenAgentTarget } from "./open-external-agent.js";
import type { RunPlan } from "./plan-run.js";
import type { RunOptions } from "./run-options.js";
import { type Scoring, scoringOf, withVerdict } from "./score-traces.js";
import { agentOf } from "./settings-from-options.js";

export async function localAnswerer(
  { db, searchThreads }: { readonly db: Db; readonly searchThreads: SearchPool | undefined },
  plan: RunPlan,
  options: RunOptions,
  appContext: AppContext,
): Promise<AnswererOfRun> {
  const { settings, note } = appContext;
  const { runId, model, tools, suite } = plan;
  const timeoutMs = options.requestTimeout * 1_000;
  const judge = await createRunJudge(plan.settings, model, { timeoutMs, note, given: judgeExtras(options) }, settings);
  const outside = openExternalResources(settings.env);
  let target: OpenAgentTarget | null = null;
  return {
    activity: { throttle: model.throttle },
    onConcurrency: model.onConcurrency,
    shortfall: () => judge?.shortfall() ?? null,
    async start({ mailbox, onActivity }) {
      const resources = resourcesOf(plan.settings, { mailbox, searchThreads, outside });
      if (plan.settings.kind === "external") {
        const { openAgentTarget } = await import("./open-external-agent.js");
        const how = { model, options, context: appContext, resources };
        target = await openAgentTarget(db, plan.settings, how);
      }
      const parts = { runId, settings: plan.settings, model, tools, suite, judge: judge?.judge ?? null };
      const context = buildAnswerContext({ ...parts, backend: target?.backend, onActivity }, resources);
      return answerHere(context, new ServerWatch());
    },
    close: async () => void (await Promise.all([outside.close(), target?.close()])),
  };
}

export interface Answered {
  readonly trace: Trace;
  /** True for a failure without a reply, which counts only if the server answers again. */
  readonly isHeld: boolean;
  /** The run reached a limit during this task. Its cost counts, and a resume answers the task again. */
  readonly isStopped: boolean;
}

export interface TaskAnswerer {
  readonly watch: Pick<ServerWatch, "fault" | "isAnswering" | "close">;
  /**
   * Returns the answer, or null if it was interrupted or no task can succeed anymore. A resume answers the task again.
   */
  answer(task: PlannedTask, signal: AbortSignal, budget: CallBudget): Promise<Answered | null>;
  saved?(trace: Trace): void;
}

/**
 * Answers a run's tasks, on this machine or on others. All checks that could refuse the run have passed, and no task
 * has started yet.
 */
export interface AnswererOfRun {
  readonly activity: RunActivity;
  readonly onConcurrency: (listener: (tasks: number) => void) => void;
  /** Returns one line about answers without a verdict from the judge, or null if there is nothing to report. */
  shortfall(): string | null;
  start(run: StartedRun): Promise<TaskAnswerer>;
  /** Can be called even if `start` was not. */
  close(): Promise<void>;
}

interface StartedRun {
  readonly db: Db;
  readonly mailbox: Mailbox;
  readonly budget: Budget;
  readonly onActivity: OnActivity;
  mayStart(): boolean;
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

export function answerHere(context: AnswerContext, watch: ServerWatch): TaskAnswerer {
  const watched = watchedBy(context, watch);
  return {
    watch,
    async answer(task, signal, budget) {
      let isHeld = false;
      let isStopped = false;
      const trace = await answerTask(watched, task, { signal, budget }, (error) => {
        isStopped = error instanceof BudgetReached;
        if (!signal.aborted) isHeld = watch.failed(error);
      }).catch((error) => {
        if (!signal.aborted) throw error;
        return null;
      });
      if (trace === null) return null;
      if (isStopped) return trace.turns.length === 0 ? null : { trace, isHeld: false, isStopped };
      const isLeft = trace.ending === "interrupted" || (isFailure(trace.ending) && watch.fault !== null);
      return isLeft ? null : { trace, isHeld, isStopped };
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

interface AnswerContextParts extends Pick<AnswerContext, "runId" | "suite" | "backend" | "onActivity"> {
  readonly settings: ExecutedRunSettings;
  readonly model: CreatedModel;
  readonly tools: readonly AttachedTool[];
  readonly judge: Judge | null;
}

export function resourcesOf(settings: ExecutedRunSettings, shared: ToolResources): ToolResources {
  return settings.kind === "own" && settings.unsafeHostPython ? { ...shared, python: findHostPython } : shared;
}

export function buildAnswerContext(
  { runId, settings, model, tools, suite, judge, backend, onActivity }: AnswerContextParts,
  resources: ToolResources,
): AnswerContext {
  return {
    runId,
    agent: agentOf(settings),
    model: model.model,
    priceOf: model.priceOf,
    tools: tools.map((tool) => toTool(tool, resources)),
    suite,
    taskTimeoutMs: settings.taskTimeoutMs,
    maxTaskCostUsd: settings.kind === "own" ? settings.maxTaskCostUsd : null,
    // Evals run when answers are saved.
    scoring: scoringOf(settings.scorers, resources.mailbox, { judge, evals: NO_EVALS }),
    backend,
    onActivity,
  };
}

const JUDGING: TaskActivity = { type: "judging" };

/**
 * Opens one task, lets the agent answer it, grades the result, closes the task, and has the answer judged if the run
 * has a judge. Errors from the model or its server become the trace's ending and are passed to `onFailure`. They are
 * not thrown. Costs before a failure stay in the trace.
 */
async function answerTask(
  run: AnswerContext,
  planned: PlannedTask,
  { signal, budget }: { readonly signal: AbortSignal; readonly budget: CallBudget },
  onFailure: (error: unknown) => void,
): Promise<Trace> {
  const startedAt = new Date();
  const shared = { ...run, model: withCallBudget(run.model, budget, run.priceOf) };
  const { runId, agent, model } = shared;
  const fields = { runId, agentId: agent.id, model: model.id, maxTurns: agent.settings.maxTurns };
  const opening = await shared.suite.open(planned, signal);
  if (!opening.ok) {
    return {
      ...traceFields(fields, planned, notAttempted(opening.ending, opening.reason, startedAt)),
      ...opening.record,
    };
  }
  const { opened } = opening;
  let trace: Trace;
  try {
    const attempted = await attempt(shared, planned, opened, signal);
    if (attempted.thrown !== null) {
      onFailure(attempted.thrown);
      chargeFailedCall(attempted.rollout, attempted.thrown);
    }
    const record = await opened.grade(attempted.rollout, signal);
    trace = withoutSecrets(Object.assign(traceFields(fields, planned, attempted), record), opened.secrets ?? []);
  } finally {
    await opened.close();
  }
  if (shared.scoring.judge !== null) shared.onActivity?.({ id: planned.task.id, epoch: planned.epoch }, JUDGING);
  return withVerdict(trace, shared.scoring, signal, budget);
}

/** Redacts secrets. Tools never show them to an agent, but it might have assembled one from its parts. */
function withoutSecrets(trace: Trace, secrets: readonly string[]): Trace {
  return secrets.length === 0 ? trace : (redactJson(trace as unknown as JsonObject, secrets) as unknown as Trace);
}

function attempt(
  shared: AnswerContext,
  { task: { id }, epoch }: PlannedTask,
  { instruction, variables, access }: OpenedTask,
  signal: AbortSignal,
): Promise<AttemptedAnswer> {
  const { maxTurns } = shared.agent.settings;
  const backend = shared.backend ?? agentLoopBackend(shared);
  return attemptAnswer(
    {
      timeoutMs: shared.taskTimeoutMs,
      run(transcript, taskSignal, workspace) {
        const context = { signal: taskSignal, workspace, ...access };
        const onActivity = (activity: TaskActivity) => shared.onActivity?.({ id, epoch }, activity);
        return backend.answer({ id, epoch, instruction, variables, maxTurns, context, onActivity }, transcript);
      },
      endingOf: endingOfFailure,
    },
    signal,
  );
}

type Attempted = Pick<AttemptedAnswer, "times" | "rollout" | "error">;

export function traceFields(
  { runId, agentId, model, maxTurns }: Pick<Trace, "runId" | "agentId" | "model" | "maxTurns">,
  { task, epoch }: PlannedTask,
  { times, rollout, error }: Attempted,
) {
  return {
    traceId: `trace_${randomUUID()}`,
    sessionId: `session_${randomUUID()}`,
    runId,
    taskId: task.id,
    epoch,
    agentId,
    model,
    ...times,
    ...rollout,
    error,
    maxTurns,
    sources: [...rollout.sources],
    scores: {},
    judge: null,
  };
}

export function notAttempted(ending: Ending, reason: string, startedAt = new Date()): Attempted {
  const ended = new Date();
  const times = {
    startedAt: startedAt.toISOString(),
    endedAt: ended.toISOString(),
    durationMs: ended.getTime() - startedAt.getTime(),
  };
  const transcript = { messages: [], toolCalls: [], turns: [] };
  return { times, rollout: { ...transcript, ending, answer: null, sources: [] }, error: reason };
}

/** Returns the ending for a failure, or null for a bug in art-e, which must not be recorded as a model failure. */
function endingOfFailure(thrown: unknown): Ending | null {
  // A replay throws the recorded timeout.
  if (thrown instanceof DOMException && thrown.name === "TimeoutError") return "timeout";
  // The task itself is fine. A resume with a working key or model name can answer it.
  if (failsEveryTask(thrown) !== null || thrown instanceof BudgetReached) return "interrupted";
  return thrown instanceof ModelError ? "model_error" : null;
}

/** Adds the attempts of a failed call to the trace as an incomplete turn, because they do not belong to another one. */
function chargeFailedCall(transcript: Transcript, thrown: unknown): void {
  if (!(thrown instanceof ModelError) || (thrown.retries.length === 0 && thrown.billed === null)) return;
  const { usage, costUsd } = thrown.billedInAll ?? { usage: NO_USAGE, costUsd: 0 };
  transcript.turns.push({
    startedAt: new Date().toISOString(),
    latencyMs: 0,
    waitedMs: thrown.retries.reduce((sum, { waitedMs }) => sum + waitedMs, 0),
    finishReason: "other",
    rawFinishReason: thrown.kind,
    usage,
    costUsd,
    retries: [...thrown.retries],
    cached: false,
  });
}

function agentLoopBackend(shared: AnswerContext): AgentBackend {
  return {
    answer(task, transcript) {
      const run = agentRun(shared, task);
      transcript.messages.push(...newTranscript(run).messages);
      return runAgent(run, transcript);
    },
  };
}

function agentRun(
  { agent, model, tools, maxTaskCostUsd }: AnswerContext,
  { id, epoch, instruction, variables, context, onActivity }: AgentTask,
): AgentRun {
  return {
    model,
    tools,
    system: promptFor(agent, tools, variables, agent.settings.maxTurns),
    question: instruction,
    task: { id, epoch },
    settings: agent.settings,
    context,
    maxCostUsd: maxTaskCostUsd,
    onActivity,
  };
}

export function promptFor(
  { prompt }: Agent,
  tools: readonly Tool[],
  variables: AgentTask["variables"],
  maxTurns: number,
): string {
  return renderPrompt(prompt, {
    ...variables,
    max_turns: maxTurns,
    // The tool list is computed only if the prompt uses it.
    get tools() {
      return listTools(tools);
    },
  });
}

/** Everything that a run's tasks share. */
export interface AnswerContext {
  readonly runId: string;
  readonly agent: Agent;
  readonly model: Model;
  /** Price function for usage without a reported cost. */
  readonly priceOf: PriceOf;
  readonly tools: readonly Tool[];
  readonly suite: Pick<Suite, "open">;
  readonly taskTimeoutMs: number;
  readonly maxTaskCostUsd: number | null;
  readonly scoring: Scoring;
  /** External agent, or undefined for the agent loop of this process. */
  readonly backend?: AgentBackend | undefined;
  /** Receives the activity of running tasks. Must not throw. */
  readonly onActivity?: OnActivity | undefined;
}

export type OnActivity = (task: { readonly id: TaskId; readonly epoch: number }, activity: TaskActivity) => void;
