import type { Scale, ScoreDescription } from "./score.js";

/** The least and the most that a figure of the score can be; infinite where it has no such end. */
export function scaleOf({ kind, scale }: Pick<ScoreDescription, "kind" | "scale">): Required<Scale> {
  if (kind === "rate") return { min: 0, max: 1 };
  return { min: scale?.min ?? -Infinity, max: scale?.max ?? Infinity };
}

/** `from 0 to 1`, `of at least 1`. */
export function scaleText({ min, max }: Required<Scale>): string {
  if (max === Infinity) return min === -Infinity ? "of any size" : `of at least ${min}`;
  return min === -Infinity ? `of at most ${max}` : `from ${min} to ${max}`;
}
