/**
 * Why an agent stopped; every task has exactly one. `refused`: the model or its provider declined to answer, which is
 * graded as a wrong answer. `not_started`: the task's setup failed. `not_runnable`: the task is unsupported on this
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

/** A fault of the machinery, not of the agent: counted as failed and never graded. */
const FAILURES: ReadonlySet<Ending> = new Set(["model_error", "timeout", "interrupted", "not_started"]);

export function isFailure(ending: Ending): boolean {
  return FAILURES.has(ending);
}

/** Whether a later attempt may answer the task: of those that cannot be run here, once what they need is here. */
export function canBeRetried(ending: Ending): boolean {
  return isFailure(ending) || ending === "not_runnable";
}
