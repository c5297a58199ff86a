/** The 97.5 % quantile of the standard normal distribution. */
const Z = 1.959963984540054;

/**
 * The 95 % interval of a rate by Wilson's score (Wilson 1927, without continuity correction): `successes` of `n`. Bounds from 0 to 1; null
 * where n is 0.
 */
export function wilson(successes: number, n: number): { low: number | null; high: number | null } {
  if (n === 0) return { low: null, high: null };
  const rate = successes / n;
  const spread = Z * Math.sqrt((rate * (1 - rate) + Z ** 2 / (4 * n)) / n);
  const centre = rate + Z ** 2 / (2 * n);
  const scale = 1 + Z ** 2 / n;
  return {
    low: successes === 0 ? 0 : Math.max(0, (centre - spread) / scale),
    high: successes === n ? 1 : Math.min(1, (centre + spread) / scale),
  };
}
