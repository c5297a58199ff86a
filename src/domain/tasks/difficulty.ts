/** Bands of a task's action number, the steps that a person takes. */
export const DIFFICULTIES = ["up to 5", "6 to 15", "above 15", "not given"] as const;

export type Difficulty = (typeof DIFFICULTIES)[number];

export function difficultyOf(actionNumber: number | null): Difficulty {
  if (actionNumber === null) return "not given";
  if (actionNumber <= 5) return "up to 5";
  return actionNumber <= 15 ? "6 to 15" : "above 15";
}
