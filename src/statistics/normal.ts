import { errorFunction } from "simple-statistics";

/** The 97.5 % quantile of the standard normal distribution, for 95 % intervals. */
export const Z_975 = 1.959963984540054;

/** The 80 % quantile, for a power of 80 %. */
export const Z_80 = 0.8416212335729143;

/** Cumulative distribution function of the standard normal distribution. */
export function belowNormal(z: number): number {
  return (1 + errorFunction(z / Math.SQRT2)) / 2;
}
