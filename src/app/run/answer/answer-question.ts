import { type AgentRun, newTranscript, runAgent } from "../../../agents/loop/agent-loop.js";
import { listTools } from "../../../agents/loop/list-tools.js";
import type { AgentBackend, AgentTask } from "../../../domain/agents/agent-backend.js";
import { renderPrompt } from "../../../domain/agents/prompt.js";
import type { Workspace } from "../../../domain/agents/workspace.js";
import type { QuestionTrace, Trace } from "../../../domain/runs/trace.js";
import type { PlannedTask } from "../../../domain/tasks/planned-task.js";
import type { Question } from "../../../domain/tasks/question.js";
import { endOfDay } from "../../../store/search/date-range.js";
import { attemptAnswer } from "../../answer/attempt-answer.js";
import { withVerdict } from "../../score/score-trace.js";
import type { Answering } from "./answering.js";
import { chargeFailedRetries, endingOfFailure } from "./model-failure.js";
import { traceFields } from "./trace-fields.js";

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
  const attempted = await attemptAnswer(
    {
      timeoutMs: shared.taskTimeoutMs,
      run(transcript, taskSignal, workspace) {
        const task = agentTask(shared, { task: question, epoch }, taskSignal, workspace);
        return (shared.backend ?? inProcess(shared)).answer(task, transcript);
      },
      endingOf: endingOfFailure,
    },
    signal,
  );
  if (attempted.thrown !== null) {
    onFailure(attempted.thrown);
    chargeFailedRetries(attempted.rollout, attempted.thrown);
  }
  const trace: QuestionTrace = { ...traceFields(shared, { task: question, epoch }, attempted), task: question };
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
