import { errorFunction } from "simple-statistics";

/** The 97.5 % point of the standard normal distribution: what 95 % intervals are made with. */
export const Z_975 = 1.959963984540054;

/** Its 80 % point: the usual power of a comparison. */
export const Z_80 = 0.8416212335729143;

/** Share of the standard normal distribution below z. */
export function belowNormal(z: number): number {
  return (1 + errorFunction(z / Math.SQRT2)) / 2;
}
