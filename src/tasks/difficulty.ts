/** Tags of a task's style of instruction: its goal only, or step by step. */
export const INSTRUCTION_STYLES = ["abstract", "verbose"] as const;

export type InstructionStyle = (typeof INSTRUCTION_STYLES)[number];

/** Null where the tags name none, or both. */
export function instructionStyleOf(tags: readonly string[]): InstructionStyle | null {
  const [first, second] = INSTRUCTION_STYLES.filter((tag) => tags.includes(tag));
  return second === undefined ? (first ?? null) : null;
}

/** Bands of a task's action number, the steps that a person takes. */
export const DIFFICULTIES = ["up to 5", "6 to 15", "above 15", "not given"] as const;

export type Difficulty = (typeof DIFFICULTIES)[number];

export function difficultyOf(actionNumber: number | null): Difficulty {
  if (actionNumber === null) return "not given";
  if (actionNumber <= 5) return "up to 5";
  return actionNumber <= 15 ? "6 to 15" : "above 15";
}
