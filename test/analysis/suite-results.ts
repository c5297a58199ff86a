import { SUITE_SCORERS } from "../../src/scoring/scorers.js";
import type { Ending } from "../../src/tasks/ending.js";
import type { TaskState } from "../../src/tasks/suite-task.js";
import type { TaskResult } from "../../src/traces/task-result.js";
import { finished } from "../traces/saved-runs.js";

/** Results of suite tasks. */

type SuiteFacts = NonNullable<TaskResult["suite"]>;

const ENDING: Readonly<Record<TaskState, Ending>> = {
  success: "answered",
  max_steps: "out_of_turns",
  timeout: "timeout",
  agent_error: "model_error",
  setup_error: "not_started",
  eval_error: "answered",
  unsupported: "not_runnable",
  needs_account: "not_runnable",
  needs_server: "not_runnable",
  not_ready: "not_runnable",
  missing_files: "not_runnable",
  no_oracle: "not_runnable",
};

/** Returns a task with this score as `run --suite` records it. Null means not graded. */
export function suiteResult(
  taskId: string,
  score: number | null,
  facts: Partial<SuiteFacts> = {},
  changes: Partial<TaskResult> = {},
): TaskResult {
  const state = facts.state ?? (score === null ? "unsupported" : "success");
  const suite: SuiteFacts = {
    name: "demo",
    tool: "terminal",
    snapshot: "base",
    tags: ["cli", "abstract"],
    relatedApps: ["terminal"],
    actionNumber: 3,
    counterpart: null,
    score,
    reason: score === 1 ? "" : "compare_csv gives 0",
    ...facts,
    state,
  };
  const scores = Object.entries(SUITE_SCORERS).map(([name, { scoreGrade }]) => [name, scoreGrade(suite).value]);
  return {
    ...finished("run_1", 1, null).result,
    taskId,
    inbox: "",
    queryDate: null,
    howRealistic: null,
    goldSources: 0,
    groundTruth: "",
    question: `Do ${taskId}`,
    ending: ENDING[state],
    suite,
    scores: Object.fromEntries(scores),
    ...changes,
  };
}
