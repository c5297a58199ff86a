/** Two-sided 95 % of the normal distribution. */
const Z = 1.959963984540054;

/**
 * The 95 % score interval of a share, after Wilson (1927): `successes` of `n`, both counts. It holds between 0 and 1 for small
 * `n` and for shares near 0 and 1, where the usual p ± 1.96 se does not. Null where there is nothing to go by.
 */
export function wilson(successes: number, n: number): { low: number | null; high: number | null } {
  if (n === 0) return { low: null, high: null };
  const share = successes / n;
  const z2 = Z * Z;
  const centre = (share + z2 / (2 * n)) / (1 + z2 / n);
  const half = (Z / (1 + z2 / n)) * Math.sqrt((share * (1 - share)) / n + z2 / (4 * n * n));
  return { low: Math.max(0, centre - half), high: Math.min(1, centre + half) };
}
