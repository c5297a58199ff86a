/** Bands of a score from 0 to 1: high > 0.8, medium 0.5 to 0.8, low < 0.5. */
export const BANDS = ["high", "medium", "low"] as const;

export type Band = (typeof BANDS)[number];

/** Score range of each band, and the artifacts to make from its traces. */
export const BAND_USES: Readonly<Record<Band, { readonly range: string; readonly use: readonly string[] }>> = {
  high: { range: "above 0.8", use: ["successful patterns", "positive cases", "regression cases"] },
  medium: { range: "from 0.5 to 0.8", use: ["partial successes", "improvement opportunities", "edge cases"] },
  low: { range: "below 0.5", use: ["failure modes", "bug reproductions", "targeted evals"] },
};

export function bandOf(score: number | null): Band | "unscored" {
  if (score === null) return "unscored";
  if (score > 0.8) return "high";
  return score >= 0.5 ? "medium" : "low";
}
