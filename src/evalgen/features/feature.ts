import type { VisibleTrace } from "../visible-trace.js";

export interface Measurement {
  /** Null: the feature does not apply to the trace, so no bound on it is missed. */
  readonly value: number | null;
  /** What there is to see, named: the number that stands in no mail. */
  readonly detail?: string;
}

/** One number about a trace. */
export interface Feature {
  /** What it is a number of, as a phrase: `numbers of the answer that stand in a mail that was read (share)`. */
  readonly meaning: string;
  readonly of: (trace: VisibleTrace) => Measurement;
}

export const DOES_NOT_APPLY: Measurement = { value: null };

/** The share of `items` that are `fine`, naming the first few that are not; does not apply to no items. */
export function shareOf(items: readonly string[], isFine: (item: string) => boolean): Measurement {
  if (items.length === 0) return DOES_NOT_APPLY;
  const odd = items.filter((item) => !isFine(item));
  if (odd.length === 0) return { value: 1 };
  return { value: (items.length - odd.length) / items.length, detail: listOf(odd) };
}

const LISTED = 3;

/** `a, b, c and 2 more`, each at most a line long. */
export function listOf(items: readonly string[]): string {
  const shown = items.slice(0, LISTED).map((item) => item.replace(/\s+/g, " ").slice(0, 100));
  const more = items.length - shown.length;
  return `${shown.join(", ")}${more > 0 ? ` and ${more} more` : ""}`;
}
