import type { Score, ScorerEntry } from "../domain/scores/score.js";
import type { TaskGrade } from "../domain/tasks/task.js";

/** The score that a suite's evaluation functions gave; a task that could not be graded has none. */
export function gradeScore({ score, state, reason }: TaskGrade): Score {
  const explanation = reason === "" ? state : `${state}: ${reason}`;
  return { value: score, ...(score === 1 ? {} : { explanation }) };
}

/** Questions about mailboxes are not graded by functions. */
export const taskScore = {
  score: () => ({ value: null, explanation: "only tasks of suites have it" }),
  label: "Task score",
  kind: "mean",
  better: "higher",
  meaning: "How the suite's evaluation functions grade what the agent left behind, 0 to 1.",
  scale: { min: 0, max: 1 },
} as const satisfies ScorerEntry;
