import { createHash } from "node:crypto";

export type Half = "training" | "heldout";

/**
 * The half that a question belongs to, by the hash of its key: it never moves as labels come, and all repeats of a
 * question are in the same one.
 */
export function halfOf(questionKey: string): Half {
  return (hashOf(questionKey)[0] ?? 0) % 2 === 0 ? "training" : "heldout";
}

/** The fold of a training question, 0 to `folds` - 1, by its hash with a seed. */
export function foldOf(questionKey: string, folds: number, seed: number): number {
  return hashOf(`${seed} ${questionKey}`).readUInt32BE(0) % folds;
}

function hashOf(text: string): Buffer {
  return createHash("sha256").update(text).digest();
}
