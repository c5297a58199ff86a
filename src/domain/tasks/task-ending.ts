/** Why an agent stopped. Every task has exactly one. */
export const ENDINGS = [
  "answered",
  "dont_know",
  "out_of_turns",
  "out_of_budget",
  "timeout",
  "model_error",
  "tool_protocol_error",
  "interrupted",
] as const;

export type Ending = (typeof ENDINGS)[number];

/** A fault of the machinery, not of the agent: counted as failed and never graded. */
const FAILURES: ReadonlySet<Ending> = new Set(["model_error", "timeout", "interrupted"]);

export function isFailure(ending: Ending): boolean {
  return FAILURES.has(ending);
}
