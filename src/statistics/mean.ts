import { mean } from "simple-statistics";

/** The arithmetic mean; null of no values. */
export function meanOf(values: readonly number[]): number | null {
  return values.length === 0 ? null : mean(values as number[]);
}
