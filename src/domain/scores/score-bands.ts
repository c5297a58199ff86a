/** Of the semantic score: high > 0.8, medium 0.5 to 0.8, low < 0.5. */
export const BANDS = ["high", "medium", "low"] as const;

export type Band = (typeof BANDS)[number];

export function bandOf(score: number | null): Band | "unscored" {
  if (score === null) return "unscored";
  if (score > 0.8) return "high";
  return score >= 0.5 ? "medium" : "low";
}

/**
 * The tenth a question's realism lies in, as in the dataset's figures. The dataset's 0.7 reads as 0.699999988: it was
 * kept in 32 bits.
 */
export function realismBand(howRealistic: number): string {
  const tenth = Math.min(9, Math.floor(howRealistic * 10 + 1e-5));
  return `${tenth / 10}-${(tenth + 1) / 10}`;
}
