import type { Rollout } from "../../domain/agents/agent-backend.js";
import type { SuiteTrace } from "../../domain/runs/trace.js";
import type { PlannedSuiteTask } from "../../domain/tasks/planned-task.js";
import type { Grade } from "../../domain/tasks/suite-task.js";
import type { SuiteTaskFacts } from "../../domain/tasks/task.js";
import type { Ending } from "../../domain/tasks/task-ending.js";
import type { TaskState } from "../../domain/tasks/task-state.js";
import { questionOfTask } from "../../suites/email/email-answer.js";

type SuiteTaskRecord = Pick<SuiteTrace, "task" | "grade">;

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

/** What a trace keeps of a task, graded also where the agent's turns or time ran out. */
export async function gradeRollout(
  task: PlannedSuiteTask,
  { ending }: Rollout,
  grade: () => Promise<Grade>,
): Promise<SuiteTaskRecord> {
  // A fault of the model's server says nothing of the agent, and an interrupted task is done again.
  if (ending === "model_error" || ending === "interrupted") {
    return ungraded(task, { state: STATES[ending], reason: "" });
  }
  const graded = await grade();
  const state = graded.state === "success" ? STATES[ending] : graded.state;
  return { task: factsOf(task), grade: { ...graded, state } };
}

/** What a trace keeps of a task that says nothing of the agent. */
export function ungraded(
  task: PlannedSuiteTask,
  { state, reason }: { readonly state: TaskState; readonly reason: string },
): SuiteTaskRecord {
  return { task: factsOf(task), grade: { score: null, state, reason } };
}

function factsOf(task: PlannedSuiteTask): SuiteTaskFacts {
  const { id, suite, dialect, tool, instruction, snapshot, tags, relatedApps, actionNumber, counterpart } = task;
  const emailQuestion = questionOfTask(task);
  return {
    id,
    suite: suite.name,
    ...{ dialect, tool, instruction, snapshot, tags, relatedApps, actionNumber, counterpart },
    ...(emailQuestion === null ? {} : { emailQuestion }),
  };
}
