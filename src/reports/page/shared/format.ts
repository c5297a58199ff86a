import { count, duration, share, usd } from "../../text/format-number.js";
import type { Figure } from "../data.js";

export { count, duration, usd };

/** A score as it is printed everywhere: three digits, a dash where there is none. */
export function scoreText(value: number | null | undefined): string {
  return share(value ?? null).replace("-", value === null || value === undefined ? "–" : "−");
}

export function intervalText({ low, high }: Figure): string {
  return low === null || high === null ? "–" : `${scoreText(low)} to ${scoreText(high)}`;
}

export function costText(value: number | null): string {
  return value === null ? "–" : usd(value);
}
