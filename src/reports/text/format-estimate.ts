import type { Estimate } from "../../domain/scores/interval-estimate.js";
import { count, share } from "./format-number.js";

/** `0.795 [0.689, 0.872] n=73`: the value, its 95 % interval if it has one, and its denominator. */
export function estimate({ value, low, high, n }: Estimate): string {
  if (value === null) return "-";
  const interval = low === null || high === null ? "" : ` [${share(low)}, ${share(high)}]`;
  return `${share(value)}${interval} n=${count(n)}`;
}
