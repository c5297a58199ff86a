/** high > 0.8, medium 0.5 to 0.8, low < 0.5. */
export function bandOf(score: number | null): "high" | "medium" | "low" | "unscored" {
  if (score === null) return "unscored";
  if (score > 0.8) return "high";
  return score >= 0.5 ? "medium" : "low";
}

/** The tenth a question's realism lies in, by its lower bound; 0.699999988 of a float32 is 0.7. */
export function realismBand(howRealistic: number): string {
  return (Math.floor(howRealistic * 10 + 1e-6) / 10).toFixed(1);
}
