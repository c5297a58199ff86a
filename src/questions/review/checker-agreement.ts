import { type Estimate, NO_ESTIMATE } from "../../domain/scores/interval-estimate.js";
import { QUESTION_CHECKS, type QuestionCheck } from "../../domain/tasks/question-provenance.js";
import type { ReviewDecision } from "../../domain/tasks/question-review.js";
import { wilson } from "../../statistics/wilson.js";

/** A question that a person has decided about, with what the checks said of it. */
export interface ReviewedChecks {
  readonly decision: ReviewDecision;
  readonly checks: readonly Pick<QuestionCheck, "check" | "passed">[];
}

export interface CheckerAgreement {
  /** How often all checks of a question passed and it was accepted as it stood, or one failed and it was not. */
  readonly all: Estimate;
  /** The same of each check alone, over the questions that had it. */
  readonly byCheck: readonly { readonly check: QuestionCheck["check"]; readonly agreement: Estimate }[];
}

/** How often a person and the checks say the same. A question that was edited was not right as it stood. */
export function checkerAgreement(reviewed: readonly ReviewedChecks[]): CheckerAgreement {
  const checked = reviewed.filter(({ checks }) => checks.length > 0);
  const isSame = ({ decision }: ReviewedChecks, passed: boolean) => passed === (decision === "accepted");
  return {
    all: rateOf(
      checked.map((one) =>
        isSame(
          one,
          one.checks.every(({ passed }) => passed),
        ),
      ),
    ),
    byCheck: QUESTION_CHECKS.flatMap((name) => {
      const same = checked.flatMap((one) => {
        const found = one.checks.find(({ check }) => check === name);
        return found === undefined ? [] : [isSame(one, found.passed)];
      });
      return same.length === 0 ? [] : [{ check: name, agreement: rateOf(same) }];
    }),
  };
}

function rateOf(same: readonly boolean[]): Estimate {
  const n = same.length;
  if (n === 0) return NO_ESTIMATE;
  const agreed = same.filter((one) => one).length;
  return { value: agreed / n, n, ...wilson(agreed, n), method: "wilson" };
}
