/** A draw of one item from the items that were not drawn before. */
export interface SequentialDraw {
  /** Number of items that could be drawn. */
  readonly drawnFrom: number;
  /** Probability of the drawn item among them. */
  readonly probability: number;
}

/**
 * Returns the weight of an item that was drawn with another probability than the others, after draws without
 * replacement that left `remaining` items: 1 for a uniform draw. With these weights, means over the drawn items are
 * unbiased for all items, also if the probabilities depend on earlier draws. Source: R_LURE of Farquhar, Gal and
 * Rainforth (2021), arXiv 2101.11665.
 */
export function samplingWeight({ drawnFrom, probability }: SequentialDraw, remaining: number): number {
  if (drawnFrom === 1) return 1;
  const weight = 1 + (remaining / (drawnFrom - 1)) * (1 / (drawnFrom * probability) - 1);
  return Math.min(MAX_CHANCES, Math.max(1 / MAX_CHANCES, weight));
}

/**
 * Maximum ratio between the chances of two items, and so between their weights. Higher weights would decide every
 * figure alone. The draws of art-e stay below 20.
 */
export const MAX_CHANCES = 1_000;
