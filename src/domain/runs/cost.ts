/** Tokens and cost of turns and tasks. */
import { addUsage, NO_USAGE, type Usage } from "../models/model.js";
import type { TaskResult } from "./task-result.js";
import type { Trace, Turn } from "./trace.js";

/** A task's share of a run's budget. */
export type TaskCost = Pick<TaskResult, "spent" | "judgeCostUsd">;

export function taskCost({ turns, judge }: Pick<Trace, "turns" | "judge">): TaskCost {
  const uncached = turns.filter((turn) => !turn.cached);
  return {
    spent: { usage: sumUsage(uncached), costUsd: sumCost(uncached) },
    judgeCostUsd: judge === null ? 0 : judge.costUsd,
  };
}

export function sumUsage(turns: readonly Pick<Turn, "usage">[]): Usage {
  return turns.reduce((sum, { usage }) => addUsage(sum, usage ?? NO_USAGE), NO_USAGE);
}

export function sumCost(turns: readonly Pick<Turn, "costUsd">[]): number | null {
  return turns.reduce<number | null>((sum, { costUsd }) => addCost(sum, costUsd), 0);
}

/** Null if any cost is unknown: a partial sum would look complete. */
export function addCost(a: number | null, b: number | null): number | null {
  return a === null || b === null ? null : a + b;
}
