import { randomUUID } from "node:crypto";
import { type AgentRun, newTranscript, runAgent } from "../../agents/loop/agent-loop.js";
import { listTools } from "../../agents/loop/list-tools.js";
import type { Agent } from "../../domain/agents/agent.js";
import type { AgentBackend, AgentTask, Transcript } from "../../domain/agents/agent-backend.js";
import { renderPrompt } from "../../domain/agents/prompt.js";
import type { Tool } from "../../domain/agents/tool.js";
import type { Workspace } from "../../domain/agents/workspace.js";
import { type Model, ModelError, NO_USAGE } from "../../domain/models/model.js";
import type { Trace } from "../../domain/runs/trace.js";
import type { PlannedTask } from "../../domain/tasks/planned-task.js";
import type { Question } from "../../domain/tasks/question.js";
import type { Ending } from "../../domain/tasks/task-ending.js";
import { endOfDay } from "../../store/search/date-range.js";
import { attemptAnswer } from "../answer/attempt-answer.js";
import { type Scoring, withVerdict } from "../score/score-trace.js";
import { failsEveryTask } from "./detect-dead-server.js";

/** What all questions of a run have in common. */
export interface Answering {
  readonly runId: string;
  readonly agent: Agent;
  readonly model: Model;
  readonly tools: readonly Tool[];
  readonly cutoff: "query_date" | "off";
  readonly taskTimeoutMs: number;
  readonly maxTaskCostUsd: number | null;
  readonly scoring: Scoring;
  /** An external agent; undefined: the agent loop of this process. */
  readonly backend?: AgentBackend | undefined;
}

/**
 * Answers one question, and has the answer judged where there is a judge. Errors of the model or its server become
 * the trace's ending and are passed to `onFailure`; they are not thrown. What was spent before a failure stays in the
 * trace.
 */
export async function answerQuestion(
  shared: Answering,
  { task: question, epoch }: PlannedTask<Question>,
  signal: AbortSignal,
  onFailure: (error: unknown) => void,
): Promise<Trace> {
  const { times, rollout, error, thrown } = await attemptAnswer(
    {
      timeoutMs: shared.taskTimeoutMs,
      run(transcript, taskSignal, workspace) {
        const task = agentTask(shared, { task: question, epoch }, taskSignal, workspace);
        return (shared.backend ?? inProcess(shared)).answer(task, transcript);
      },
      endingOf,
    },
    signal,
  );
  if (thrown !== null) {
    onFailure(thrown);
    chargeFailedRetries(rollout, thrown);
  }
  const trace: Trace = {
    traceId: `trace_${randomUUID()}`,
    sessionId: `session_${randomUUID()}`,
    runId: shared.runId,
    taskId: question.id,
    epoch,
    agentId: shared.agent.id,
    model: shared.model.id,
    ...times,
    ...rollout,
    error,
    maxTurns: shared.agent.settings.maxTurns,
    sources: [...rollout.sources],
    scores: {},
    judge: null,
    task: question,
  };
  return withVerdict(trace, shared.scoring, signal);
}

function agentTask(
  shared: Answering,
  { task: question, epoch }: PlannedTask<Question>,
  signal: AbortSignal,
  workspace: Workspace,
): AgentTask {
  return {
    question,
    epoch,
    maxTurns: shared.agent.settings.maxTurns,
    context: {
      inbox: question.inbox_address,
      cutoff: shared.cutoff === "off" ? null : endOfDay(question.query_date),
      signal,
      workspace,
    },
  };
}

/** The agent loop as a backend. */
function inProcess(shared: Answering): AgentBackend {
  return {
    answer(task, transcript) {
      const run = agentRun(shared, task);
      transcript.messages.push(...newTranscript(run).messages);
      return runAgent(run, transcript);
    },
  };
}

function agentRun(shared: Answering, { question, epoch, context }: AgentTask): AgentRun {
  return {
    model: shared.model,
    tools: shared.tools,
    system: renderPrompt(shared.agent.prompt, {
      inbox_address: question.inbox_address,
      query_date: question.query_date,
      max_turns: shared.agent.settings.maxTurns,
      // Computed only where the prompt uses them.
      get tools() {
        return listTools(shared.tools);
      },
    }),
    question: question.question,
    task: { id: question.id, epoch },
    settings: shared.agent.settings,
    context,
    maxCostUsd: shared.maxTaskCostUsd,
  };
}

/** Null: a bug of this program, which must not be recorded as a failure of the model. */
function endingOf(thrown: unknown): Ending | null {
  // A replay throws the time-out that was recorded.
  if (thrown instanceof DOMException && thrown.name === "TimeoutError") return "timeout";
  // The task itself is fine: it is left for a resume with a working key or model name.
  if (failsEveryTask(thrown) !== null) return "interrupted";
  return thrown instanceof ModelError ? "model_error" : null;
}

/** Attempts before a final failure belong to no turn: the trace records them as an incomplete one. */
function chargeFailedRetries(transcript: Transcript, thrown: unknown): void {
  if (!(thrown instanceof ModelError) || thrown.retries.length === 0) return;
  transcript.turns.push({
    startedAt: new Date().toISOString(),
    latencyMs: 0,
    waitedMs: thrown.retries.reduce((sum, { waitedMs }) => sum + waitedMs, 0),
    finishReason: "other",
    rawFinishReason: thrown.kind,
    usage: NO_USAGE,
    costUsd: 0,
    retries: [...thrown.retries],
    cached: false,
  });
}
