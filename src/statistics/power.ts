import { mean, sampleStandardDeviation } from "simple-statistics";
import { Z_80, Z_975 } from "./normal.js";

export interface Power {
  /**
   * Pairs more that a two-sided test at 5 % would need to find the observed difference with a power of 80 %, were it the
   * true one. 0: there are enough; null: no difference was observed, or too few pairs to tell.
   */
  readonly moreNeeded: number | null;
  /** The smallest true difference that this many pairs find with that power; null with fewer than two pairs. */
  readonly detectable: number | null;
}

export function computePower(differences: readonly number[]): Power {
  const n = differences.length;
  if (n < 2) return { moreNeeded: null, detectable: null };
  const observed = Math.abs(mean([...differences]));
  const scaledDeviation = (Z_975 + Z_80) * sampleStandardDeviation([...differences]);
  const moreNeeded = observed < 1e-12 ? null : Math.max(0, Math.ceil((scaledDeviation / observed) ** 2) - n);
  return { moreNeeded, detectable: scaledDeviation / Math.sqrt(n) };
}
