// The difference that paired data can detect, and the pairs that are missing to confirm an observed one.
import { mean, sampleStandardDeviation } from "simple-statistics";
import { Z_80, Z_975 } from "./intervals/distributions.js";

interface Power {
  /**
   * Number of additional pairs that a two-sided 5% test needs to detect the observed difference with 80% power, if that
   * difference is the true one. 0 if there are enough pairs. Null if no difference was observed, if all differences are
   * equal, or if there are fewer than two pairs.
   */
  readonly moreNeeded: number | null;
  /** The smallest true difference that the pairs detect with 80% power. Null if all differences are equal. */
  readonly detectable: number | null;
}

/** @param designEffect of the differences */
export function computePower(differences: readonly number[], designEffect = 1): Power {
  const n = differences.length;
  if (n < 2) return { moreNeeded: null, detectable: null };
  const observed = Math.abs(mean([...differences]));
  const scaledDeviation = (Z_975 + Z_80) * Math.sqrt(designEffect) * sampleStandardDeviation([...differences]);
  if (scaledDeviation === 0) return { moreNeeded: null, detectable: null };
  const moreNeeded = observed < 1e-12 ? null : Math.max(0, Math.ceil((scaledDeviation / observed) ** 2) - n);
  return { moreNeeded, detectable: scaledDeviation / Math.sqrt(n) };
}
