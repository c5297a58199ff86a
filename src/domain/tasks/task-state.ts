export const TASK_STATES = [
  "success",
  "max_steps",
  "timeout",
  "agent_error",
  "setup_error",
  "eval_error",
  "unsupported",
  "needs_account",
] as const;

/** How a task of a suite ended. A score of null goes with `unsupported`, `needs_account` and the errors. */
export type TaskState = (typeof TASK_STATES)[number];
