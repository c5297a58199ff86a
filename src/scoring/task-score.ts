import type { Score, SuiteScorerEntry } from "../domain/scores/score.js";
import type { TaskGrade } from "../domain/tasks/task.js";

export const taskScore: SuiteScorerEntry = {
  scoreGrade: (grade) => explained(grade.score, grade),
  label: "Task score",
  kind: "mean",
  better: "higher",
  meaning: "How the suite's evaluation functions grade what the agent left behind, 0 to 1, over the graded tasks.",
  scale: { min: 0, max: 1 },
  failedAsWrong: false,
};

export const taskSolved: SuiteScorerEntry = {
  scoreGrade: (grade) => explained(grade.score === null ? null : Number(grade.score === 1), grade),
  label: "Solved",
  kind: "rate",
  better: "higher",
  meaning: "The task score is 1, over the graded tasks.",
  failedAsWrong: false,
};

function explained(value: number | null, { state, reason }: TaskGrade): Score {
  if (value === 1) return { value };
  return { value, explanation: reason === "" ? state : `${state}: ${reason}` };
}
