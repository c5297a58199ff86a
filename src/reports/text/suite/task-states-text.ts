import type { SuiteTotals } from "../../../domain/runs/benchmark-result.js";
import { count } from "../format-number.js";

/** `success 12, timeout 3 (1 not graded), unsupported 4 (not graded)`: the most frequent state first. */
export function statesText(states: SuiteTotals["states"]): string {
  const sorted = Object.entries(states).sort(([, a], [, b]) => b.tasks - a.tasks);
  return sorted.map(([state, counts]) => `${state} ${count(counts.tasks)}${ungradedText(counts)}`).join(", ") || "-";
}

function ungradedText({ tasks, graded }: { readonly tasks: number; readonly graded: number }): string {
  if (graded === tasks) return "";
  return graded === 0 ? " (not graded)" : ` (${count(tasks - graded)} not graded)`;
}
