/** What failing some traces and not others is worth, by their labels (Shankar et al. 2024). */
export interface Alignment {
  /** Share of the bad traces that are failed. */
  readonly coverage: number;
  /** Share of the good traces that are failed. */
  readonly falseFailures: number;
  /** The harmonic mean of coverage and 1 - false failures. */
  readonly alignment: number;
  /** Traces that are failed. */
  readonly failed: number;
  /** Standard score of the difference between the two shares; 0 where all or none are failed. */
  readonly z: number;
}

/** `bad` and `fails` are of the same traces. A share of no traces is 0. */
export function alignmentOf(bad: readonly boolean[], fails: readonly boolean[]): Alignment {
  let [bads, badFailed, goodFailed] = [0, 0, 0];
  for (const [i, isBad] of bad.entries()) {
    if (isBad) bads++;
    if (fails[i] !== true) continue;
    if (isBad) badFailed++;
    else goodFailed++;
  }
  const goods = bad.length - bads;
  const coverage = bads === 0 ? 0 : badFailed / bads;
  const falseFailures = goods === 0 ? 0 : goodFailed / goods;
  const alignment = coverage === 0 ? 0 : (2 * coverage * (1 - falseFailures)) / (coverage + 1 - falseFailures);
  const failed = badFailed + goodFailed;
  const pooled = failed / Math.max(1, bad.length);
  const variance = bads === 0 || goods === 0 ? 0 : pooled * (1 - pooled) * (1 / bads + 1 / goods);
  return {
    coverage,
    falseFailures,
    alignment,
    failed,
    z: variance === 0 ? 0 : (coverage - falseFailures) / Math.sqrt(variance),
  };
}
