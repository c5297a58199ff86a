// Groups of tasks that reports show separate figures for.

/** Tags that mark a task's instruction style: only the goal, or step by step. */
export const INSTRUCTION_STYLES = ["abstract", "verbose"] as const;

export type InstructionStyle = (typeof INSTRUCTION_STYLES)[number];

/** Bands of the action number, which is the number of steps a person takes. */
export const DIFFICULTIES = ["up to 5", "6 to 15", "above 15", "not given"] as const;

export type Difficulty = (typeof DIFFICULTIES)[number];

/** The style in the tags, or null if they name neither style or both. */
export function instructionStyleOf(tags: readonly string[]): InstructionStyle | null {
  const [first, second] = INSTRUCTION_STYLES.filter((tag) => tags.includes(tag));
  return second === undefined ? (first ?? null) : null;
}

export function difficultyOf(actionNumber: number | null): Difficulty {
  if (actionNumber === null) return "not given";
  if (actionNumber <= 5) return "up to 5";
  return actionNumber <= 15 ? "6 to 15" : "above 15";
}

/**
 * Returns the tenth that a question's realism falls into, as in the dataset's figures. A realism of 0.7 is read as
 * 0.699999988, because the dataset stores it in 32 bits.
 */
export function realismBand(howRealistic: number): string {
  const tenth = Math.min(9, Math.floor(howRealistic * 10 + 1e-5));
  return `${tenth / 10}-${(tenth + 1) / 10}`;
}
