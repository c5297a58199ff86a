/** Why an agent stopped; `not_started`: its task could not be set up. Every task has exactly one. */
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
] as const;

export type Ending = (typeof ENDINGS)[number];

/** A fault of the machinery, not of the agent: counted as failed and never graded. */
const FAILURES: ReadonlySet<Ending> = new Set(["model_error", "timeout", "interrupted", "not_started"]);

export function isFailure(ending: Ending): boolean {
  return FAILURES.has(ending);
}
