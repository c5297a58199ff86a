/**
 * Why an agent stopped. Every task has exactly one ending. `refused`: the model or its provider declined to answer,
 * graded as a wrong answer. `not_started`: the task setup failed. `not_runnable`: the task is unsupported on this
 * machine.
 */
export const ENDINGS = [
  "answered",
  "dont_know",
  "refused",
  "out_of_turns",
  "out_of_budget",
  "timeout",
  "model_error",
  "tool_protocol_error",
  "interrupted",
  "not_started",
  "not_runnable",
] as const;

export type Ending = (typeof ENDINGS)[number];

/** Infrastructure faults. They count as failed and are never graded. */
const FAILURES: ReadonlySet<Ending> = new Set(["model_error", "timeout", "interrupted", "not_started"]);

export function isFailure(ending: Ending): boolean {
  return FAILURES.has(ending);
}

/**
 * Whether a later attempt can answer the task. An unsupported task can be retried once its requirements are installed.
 */
export function canBeRetried(ending: Ending): boolean {
  return isFailure(ending) || ending === "not_runnable";
}

/** Whether comparisons and gates count failed tasks as wrong or leave them out. */
export const FAILED_TASKS = ["wrong", "exclude"] as const;

export type FailedTasks = (typeof FAILED_TASKS)[number];
