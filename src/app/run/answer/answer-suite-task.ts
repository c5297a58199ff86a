import { type AgentRun, newTranscript, runAgent } from "../../../agents/loop/agent-loop.js";
import { listTools } from "../../../agents/loop/list-tools.js";
import type { Rollout } from "../../../domain/agents/agent-backend.js";
import { renderPrompt } from "../../../domain/agents/prompt.js";
import type { ToolContext } from "../../../domain/agents/tool.js";
import type { SuiteTrace } from "../../../domain/runs/trace.js";
import type { PlannedSuiteTask, PlannedTask } from "../../../domain/tasks/planned-task.js";
import type { Grade, TaskState } from "../../../domain/tasks/suite-task.js";
import type { SuiteTaskFacts, TaskGrade } from "../../../domain/tasks/task.js";
import type { Ending } from "../../../domain/tasks/task-ending.js";
import { HOME } from "../../../domain/tasks/task-machine.js";
import { collectLeftBehind } from "../../../suites/left-behind/collect-left-behind.js";
import { type AttemptedAnswer, attemptAnswer } from "../../answer/attempt-answer.js";
import type { OpenedSuiteTask } from "../../suites/open-suite-task.js";
import type { Answering, SuiteTasks } from "./answering.js";
import { chargeFailedRetries, endingOfFailure } from "./model-failure.js";
import { traceFields } from "./trace-fields.js";

/**
 * Sets a task's machine up, lets the agent work in it, and grades what it left behind, also where its turns or time
 * ran out. As with questions, errors of the model become the trace's ending and are passed to `onFailure`.
 */
export async function answerSuiteTask(
  shared: Answering,
  suite: SuiteTasks,
  planned: PlannedTask<PlannedSuiteTask>,
  signal: AbortSignal,
  onFailure: (error: unknown) => void,
): Promise<SuiteTrace> {
  const startedAt = new Date();
  const opening = await suite.open(planned.task, signal);
  if (!opening.ok) {
    const { state, reason } = opening;
    const grade = { score: null, state, reason };
    return { ...traceFields(shared, planned, notStarted(startedAt, reason)), task: factsOf(planned.task), grade };
  }
  const { opened } = opening;
  const documents = suite.documentsOf(planned.task);
  const begun = new Date();
  try {
    const attempted = await attemptAnswer(
      {
        timeoutMs: shared.taskTimeoutMs,
        run(transcript, taskSignal, workspace) {
          const context = {
            inbox: null,
            cutoff: null,
            signal: taskSignal,
            workspace,
            machine: opened.machine,
            documents,
          };
          const run = agentRun(shared, planned, context);
          transcript.messages.push(...newTranscript(run).messages);
          return runAgent(run, transcript);
        },
        endingOf: endingOfFailure,
      },
      signal,
    );
    if (attempted.thrown !== null) {
      onFailure(attempted.thrown);
      chargeFailedRetries(attempted.rollout, attempted.thrown);
    }
    const left = await collectLeftBehind(opened.machine, begun, signal);
    const grade = await gradeOf(opened, attempted.rollout, signal);
    const trace = { ...traceFields(shared, planned, attempted), task: factsOf(planned.task), grade };
    return left === null ? trace : { ...trace, left };
  } finally {
    await documents.close();
    await opened.close();
  }
}

function agentRun(shared: Answering, { task, epoch }: PlannedTask<PlannedSuiteTask>, context: ToolContext): AgentRun {
  const { agent, tools } = shared;
  return {
    model: shared.model,
    tools,
    system: renderPrompt(agent.prompt, {
      max_turns: agent.settings.maxTurns,
      snapshot: task.snapshot,
      home: HOME,
      get tools() {
        return listTools(tools);
      },
    }),
    question: task.instruction,
    task: { id: task.id, epoch },
    settings: agent.settings,
    context,
    maxCostUsd: shared.maxTaskCostUsd,
  };
}

/** How suites name what ended an agent's work; what was graded well is a success whatever the agent said. */
const STATES: Readonly<Record<Ending, TaskState>> = {
  answered: "success",
  dont_know: "success",
  out_of_turns: "max_steps",
  out_of_budget: "max_steps",
  timeout: "timeout",
  model_error: "agent_error",
  tool_protocol_error: "agent_error",
  interrupted: "agent_error",
  not_started: "setup_error",
};

async function gradeOf(opened: OpenedSuiteTask, { ending }: Rollout, signal: AbortSignal): Promise<TaskGrade> {
  // A fault of the model's server says nothing of the agent, and an interrupted task is done again.
  if (ending === "model_error" || ending === "interrupted") return { score: null, state: STATES[ending], reason: "" };
  const grade: Grade = await opened.grade(signal);
  return { ...grade, state: grade.state === "success" ? STATES[ending] : grade.state };
}

type Attempted = Pick<AttemptedAnswer, "times" | "rollout" | "error">;

function notStarted(startedAt: Date, reason: string): Attempted {
  const ended = new Date();
  const times = {
    startedAt: startedAt.toISOString(),
    endedAt: ended.toISOString(),
    durationMs: ended.getTime() - startedAt.getTime(),
  };
  const rollout: Rollout = {
    messages: [],
    toolCalls: [],
    turns: [],
    ending: "not_started",
    answer: null,
    sources: [],
  };
  return { times, rollout, error: reason };
}

function factsOf(task: PlannedSuiteTask): SuiteTaskFacts {
  const { id, suite, dialect, tool, instruction, snapshot, tags, relatedApps, actionNumber, counterpart } = task;
  return {
    id,
    suite: suite.name,
    ...{ dialect, tool, instruction, snapshot, tags, relatedApps, actionNumber, counterpart },
  };
}
