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
  return 1 + (remaining / (drawnFrom - 1)) * (1 / (drawnFrom * probability) - 1);
}
