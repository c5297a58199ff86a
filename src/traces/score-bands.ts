/** Bands of the semantic score: high > 0.8, medium 0.5 to 0.8, low < 0.5. */
export const BANDS = ["high", "medium", "low"] as const;

export type Band = (typeof BANDS)[number];

export function bandOf(score: number | null): Band | "unscored" {
  if (score === null) return "unscored";
  if (score > 0.8) return "high";
  return score >= 0.5 ? "medium" : "low";
}
