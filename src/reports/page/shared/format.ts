import { share, usd } from "../../text/format-number.js";

/** A score with three digits; a dash where there is none, and a typographic minus. */
export function scoreText(value: number | null | undefined): string {
  return share(value ?? null).replace("-", value === null || value === undefined ? "–" : "−");
}

export function intervalText({ low, high }: { readonly low: number | null; readonly high: number | null }): string {
  return low === null || high === null ? "–" : `${scoreText(low)} to ${scoreText(high)}`;
}

export function costText(value: number | null): string {
  return value === null ? "–" : usd(value);
}

/** `2001-05-14T10:00:00Z` as `2001-05-14 10:00`. */
export function minuteText(date: string | null): string {
  return date === null || date === "" ? "no date" : date.slice(0, 16).replace("T", " ");
}
