import { share } from "./format-number.js";

/** `+0.120 [0.010, 0.230]`: a difference with its 95 % interval. */
export function differenceText(
  { value, low, high }: { readonly value: number | null; readonly low: number | null; readonly high: number | null },
  format: (value: number) => string = share,
): string {
  if (value === null) return "-";
  const bounds = low === null || high === null ? "" : ` [${format(low)}, ${format(high)}]`;
  return `${value > 0 ? "+" : ""}${format(value)}${bounds}`;
}

export function pText(p: number | null): string {
  if (p === null) return "-";
  return p < 0.001 ? "<0.001" : share(p);
}
