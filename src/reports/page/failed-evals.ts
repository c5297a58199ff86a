import { isPass } from "../../domain/evals/eval-outcome.js";
import type { ReportHead } from "./report-data.js";

/** Names of the evals that a task fails, in the order of their letters; `scores` in the head's order. */
export function failedEvals(scores: readonly (number | null)[], head: ReportHead): string[] {
  const names = new Map(head.evals.map(({ score, name }) => [score, name]));
  const failed = head.scores.flatMap(({ name: score }, i) => {
    const [name, value = null] = [names.get(score), scores[i]];
    return name !== undefined && value !== null && !isPass(value) ? [name] : [];
  });
  return failed.sort();
}
