/** Cuts are sought among these quantiles of the good traces; of equals the one that fails fewest. */
const QUANTILES = [1, 0.95, 0.9, 0.8];

/** The traces that have a value, in ascending order of it: sorted once for any labels. */
export function sortTraces(values: readonly (number | null)[], isUsed: (trace: number) => boolean): readonly number[] {
  const used = values.flatMap((value, i) => (value !== null && isUsed(i) ? [i] : []));
  return used.sort((a, b) => (values[a] ?? 0) - (values[b] ?? 0));
}

/**
 * The largest value that passes, which separates bad from good best; null where no good trace has a value. `sorted` as
 * `sortTraces` gives it.
 */
export function fitCut(
  values: readonly (number | null)[],
  bad: readonly boolean[],
  sorted: readonly number[] = sortTraces(values, () => true),
): number | null {
  const goods = sorted.filter((i) => bad[i] === false);
  const bads = sorted.length - goods.length;
  let best: { cut: number; gain: number } | null = null;
  for (const quantile of goods.length === 0 ? [] : QUANTILES) {
    const nearestRank = goods[Math.max(0, Math.ceil(goods.length * quantile) - 1)] ?? 0;
    const cut = roundUp(values[nearestRank] ?? 0);
    let [goodAbove, badAbove] = [0, 0];
    for (let k = sorted.length - 1; k >= 0; k--) {
      const trace = sorted[k] ?? 0;
      if ((values[trace] ?? 0) <= cut) break;
      if (bad[trace] === true) badAbove++;
      else goodAbove++;
    }
    const gain = badAbove / Math.max(1, bads) - goodAbove / goods.length;
    if (best === null || gain > best.gain) best = { cut, gain };
  }
  return best?.cut ?? null;
}

/** To two significant digits, so that a cut says no more than its labels know. */
function roundUp(value: number): number {
  if (value <= 0) return value;
  const unit = 10 ** (Math.floor(Math.log10(value)) - 1);
  // Whole numbers of units; the division has rounding errors.
  return Number((Math.ceil(Number((value / unit).toPrecision(12))) * unit).toPrecision(2));
}
