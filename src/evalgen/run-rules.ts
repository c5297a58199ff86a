import type { Condition, EvalOf } from "../domain/evals/eval-definition.js";
import type { EvalOutcome } from "../domain/evals/eval-outcome.js";
import type { Measurement } from "./features/feature.js";
import { featureOf } from "./features/feature-table.js";
import type { VisibleTrace } from "./visible-trace.js";

/** Whether a measured value misses a bound. A feature that does not apply misses none. */
export function isMissed(condition: Condition, { value }: Measurement): boolean {
  if (value === null) return false;
  return "at_least" in condition ? value < condition.at_least : value > condition.at_most;
}

/** 1 where the trace meets all conditions, else 0 with the first that it misses. */
export function runRules({ name, pass }: Pick<EvalOf<"rules">, "name" | "pass">, trace: VisibleTrace): EvalOutcome {
  let applies = 0;
  for (const condition of pass.all) {
    const measured = featureOf(condition.feature, `eval ${name}`).of(trace);
    if (isMissed(condition, measured)) return { score: 0, reason: missedText(condition, measured), error: null };
    if (measured.value !== null) applies++;
  }
  return { score: 1, reason: applies === 0 ? "it says nothing of this trace" : "all conditions are met", error: null };
}

/** `numbers_in_mail is 0.5, at least 1 wanted: 4,200` */
function missedText(condition: Condition, { value, detail }: Measurement): string {
  const bound = "at_least" in condition ? `at least ${condition.at_least}` : `at most ${condition.at_most}`;
  const shown = Number((value ?? 0).toPrecision(4));
  return `${condition.feature} is ${shown}, ${bound} wanted${detail ? `: ${detail}` : ""}`;
}
