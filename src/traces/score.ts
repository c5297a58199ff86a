// A score's value and its description: scale, direction, and whether a failed task counts as 0.
import type { Scale } from "../statistics/estimate.js";
import type { Exposure } from "../tasks/attack.js";
import type { AskedFor } from "../tasks/question.js";
import type { QuestionTrace } from "./trace.js";

/** A null `value` means that the score could not be determined, with the reason in `explanation`. Means exclude it. */
export type Score = QuestionTrace["scores"][string];

/** The facts about a question that determine which scores it can have. */
export interface ScorableQuestion {
  readonly goldAnswer: string;
  readonly goldMails: number;
  readonly asksFor: AskedFor;
  /** Planted emails that the agent saw. Default: none. */
  readonly exposure?: Exposure;
}

/**
 * Explains a score to readers. A `rate` is 0 or 1 per task and a `mean` is any number. The score's name is the usual
 * term (exactMatch, tokenF1), and everywhere serves as the key for its figures.
 */
export interface ScoreDescription {
  readonly label: string;
  readonly kind: "rate" | "mean";
  readonly better: "higher" | "lower";
  /** Explains the score and the tasks that it covers in one sentence. */
  readonly meaning: string;
  /** For a mean. A rate always goes from 0 to 1. */
  readonly scale?: Scale;
  /**
   * Whether the score applies to a question. Other questions never have it, even if they failed. If absent, the score
   * applies to all questions.
   */
  readonly appliesTo?: (question: ScorableQuestion) => boolean;
  /** Whether a gate requires the bound of the interval to reach its limit, and not only the value. Absent for no. */
  readonly gatedByBound?: true;
}

/** Whether a failed task counts as 0, which must be the worst value. */
export function isFailureZero(score: Pick<ScoreDescription, "kind" | "better" | "scale">): boolean {
  const { min, max } = scaleOf(score);
  return score.better === "higher" && min === 0 && max === 1;
}

/** Returns the lowest and highest possible value of the score, which are infinite if it is unlimited. */
export function scaleOf({ kind, scale }: Pick<ScoreDescription, "kind" | "scale">): Required<Scale> {
  if (kind === "rate") return { min: 0, max: 1 };
  return { min: scale?.min ?? -Infinity, max: scale?.max ?? Infinity };
}

/** Formats a scale, such as `from 0 to 1` or `of at least 1`. */
export function scaleText({ min, max }: Required<Scale>): string {
  if (max === Infinity) return min === -Infinity ? "of any size" : `of at least ${min}`;
  return min === -Infinity ? `of at most ${max}` : `from ${min} to ${max}`;
}
