/** What turns took, in tokens and money. */
import { addUsage, NO_USAGE, type Usage } from "./model.js";
import type { Turn } from "./trace.js";

export function usageOf(turns: readonly Pick<Turn, "usage">[]): Usage {
  return turns.reduce((sum, { usage }) => addUsage(sum, usage ?? NO_USAGE), NO_USAGE);
}

export function costOf(turns: readonly Pick<Turn, "costUsd">[]): number | null {
  return turns.reduce<number | null>((sum, { costUsd }) => addCost(sum, costUsd), 0);
}

/** Unknown as soon as one of them is: half a sum would pass for the whole. */
export function addCost(a: number | null, b: number | null): number | null {
  return a === null || b === null ? null : a + b;
}
