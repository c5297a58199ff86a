// Disagreements of an eval with the labels of the training half.
import type { AppContext } from "../platform/app-context.js";
import { withStore } from "../store/open-store.js";
import { OVERALL } from "./criteria.js";
import type { Agreement, Contradiction, StoredEval } from "./definition.js";
import { outcomesBar, requireRunnable } from "./run-evals.js";
import { getEval, modesOfEval } from "./store.js";
import { measureAgreement } from "./test-eval/agreement.js";
import { runOnHalf } from "./test-eval/run-on-half.js";

interface EvalReview {
  readonly stored: StoredEval;
  /**
   * Agreement with the training half. This is not a validation, because the eval might have been made from these
   * labels.
   */
  readonly agreement: Agreement;
  readonly contradictions: readonly Contradiction[];
}

/** Lists the contradictions between an eval and the training labels. Never reads the held-out half. */
export function reviewEval(
  name: string,
  criterion: string | undefined,
  { settings, signal, progress }: Pick<AppContext, "settings" | "signal" | "progress">,
): Promise<EvalReview> {
  return withStore(settings, async (db) => {
    const stored = getEval(db, name);
    await requireRunnable([stored.definition], settings);
    const bar = outcomesBar(progress("Reviewing"));
    const made = modesOfEval(db, stored);
    const mode = criterion ?? stored.validatedFor ?? (made.length === 1 ? made[0] : undefined) ?? OVERALL;
    const request = { criterion: mode, half: "training", settings, onOutcome: bar.onOutcome } as const;
    const { tested, contradictions } = await runOnHalf(db, stored, request, signal).finally(bar.stop);
    return { stored, agreement: measureAgreement(tested), contradictions };
  });
}
