import { isPass } from "../../domain/evals/eval-outcome.js";
import type { EvalLabel } from "../../domain/evals/label.js";

/** How urgently a person should look at a trace; higher first. */
export function labellingPriority(
  outcomes: readonly { readonly score: number | null }[],
  derived: EvalLabel | null,
): number {
  const scores = outcomes.flatMap(({ score }) => score ?? []);
  const failed = scores.filter((score) => !isPass(score)).length;
  // Called bad by a score or a judge, and no eval says why: either the label is wrong, or an eval is missing.
  if (derived === "bad" && failed === 0) return 2;
  // 1 where half of the evals fail it and half do not.
  return scores.length === 0 ? 0 : 1 - Math.abs((2 * failed) / scores.length - 1);
}
