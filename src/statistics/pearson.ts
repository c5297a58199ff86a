import { type Estimate, NO_ESTIMATE } from "../domain/scores/interval-estimate.js";
import { clusteredError } from "./clustered-error.js";
import { meanOf } from "./mean.js";
import { Z_975 } from "./normal.js";

/**
 * Pearson's correlation. The interval assumes no distribution, as scores and labels have few values: a standard error
 * from influences, on Fisher's z scale. No bounds where the correlation is perfect, and nothing where a list does not
 * vary.
 */
export function pearson(xs: readonly number[], ys: readonly number[], clusters: readonly string[]): Estimate {
  const n = xs.length;
  const zx = standardize(xs);
  const zy = standardize(ys);
  if (zx === null || zy === null) return { ...NO_ESTIMATE, n };
  const products = zx.map((x, i) => x * (zy[i] ?? 0));
  const value = Math.min(1, Math.max(-1, meanOf(products) ?? 0));
  const influences = products.map((product, i) => product - (value / 2) * ((zx[i] ?? 0) ** 2 + (zy[i] ?? 0) ** 2));
  const error = clusteredError(influences, clusters);
  if (error === null || 1 - value ** 2 < 1e-12) return { value, n, low: null, high: null };
  const half = (Z_975 * error) / (1 - value ** 2);
  return { value, n, low: Math.tanh(Math.atanh(value) - half), high: Math.tanh(Math.atanh(value) + half) };
}

/** With mean 0 and variance 1; null where the values do not vary. */
function standardize(values: readonly number[]): number[] | null {
  const mean = meanOf(values);
  if (mean === null) return null;
  const variance = values.reduce((sum, value) => sum + (value - mean) ** 2, 0) / values.length;
  return variance < 1e-24 ? null : values.map((value) => (value - mean) / Math.sqrt(variance));
}
