/**
 * Why an agent stopped. `not_started`: its task could not be set up; `not_runnable`: what the task needs is not here.
 * Every task has exactly one.
 */
export const ENDINGS = [
  "answered",
  "dont_know",
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
