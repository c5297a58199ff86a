/**
 * A rate or a mean with its 95 % interval. All null where there is nothing to take it over; the bounds alone are null where
 * there is too little to tell how sure it is.
 */
export interface Estimate {
  readonly value: number | null;
  /** How many tasks it is taken over. */
  readonly n: number;
  readonly low: number | null;
  readonly high: number | null;
}
