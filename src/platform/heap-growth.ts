// Keeps the heap of long commands small by collecting garbage more often.
import { setFlagsFromString } from "node:v8";

/**
 * Percentage by which V8 lets a heap grow over its live size before it collects garbage. The default grows it up to
 * fourfold: a run with 60 MB live then uses 370 to 650 MB. With 100 it uses 280 MB for 1% more CPU time, with 50 it
 * uses 270 MB for 4% more.
 */
const GROWTH_PERCENT = 100;

/**
 * Limits heap growth in commands that run for hours or read endless replies. V8 reads this flag at each collection, so
 * it takes effect immediately, in all threads. Initial heap sizes can no longer be set afterwards.
 */
export function limitHeapGrowth(): void {
  setFlagsFromString(`--heap-growing-percent=${GROWTH_PERCENT}`);
}
