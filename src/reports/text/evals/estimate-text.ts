import type { Estimate } from "../../../domain/scores/interval-estimate.js";
import { share } from "../format-number.js";

/** `0.912 (0.77 to 0.97)`; a dash where there is nothing to tell. */
export function estimateText({ value, low, high }: Estimate): string {
  if (value === null) return "-";
  return low === null || high === null ? share(value) : `${share(value)} (${low.toFixed(2)} to ${high.toFixed(2)})`;
}
