/** Tags of a task's style of instruction: its goal only, or step by step. */
export const INSTRUCTION_STYLES = ["abstract", "verbose"] as const;

export type InstructionStyle = (typeof INSTRUCTION_STYLES)[number];

/** Null where the tags name none, or both. */
export function instructionStyleOf(tags: readonly string[]): InstructionStyle | null {
  const [first, second] = INSTRUCTION_STYLES.filter((tag) => tags.includes(tag));
  return second === undefined ? (first ?? null) : null;
}
