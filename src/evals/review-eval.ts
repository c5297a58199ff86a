// Reviews evals on the training half: labels that an eval contradicts, and bad traces that every eval passes.
import type { AppContext } from "../platform/app-context.js";
import { yieldBetween } from "../platform/batches.js";
import { withStore } from "../store/open-store.js";
import type { Agreement, Contradiction, StoredEval } from "./definition.js";
import { labeledPages } from "./effective-labels.js";
import { isPass } from "./eval-outcome.js";
import { outcomesBar, requireRunnable } from "./run-evals.js";
import { evalsWithoutModels } from "./scoring-evals.js";
import { getEval, listEvals } from "./store.js";
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

/** A bad trace that passes every eval. */
export interface UncaughtTrace {
  readonly traceId: string;
  readonly runId: string | null;
  readonly note: string | null;
}

/** Lists the contradictions between an eval and the training labels. Never reads the held-out half. */
export function reviewEval(
  name: string,
  criterion: string,
  { settings, signal, progress }: Pick<AppContext, "settings" | "signal" | "progress">,
): Promise<EvalReview> {
  return withStore(settings, async (db) => {
    const stored = getEval(db, name);
    await requireRunnable([stored.definition], settings);
    const bar = outcomesBar(progress("Reviewing"));
    const request = { criterion, half: "training", settings, onOutcome: bar.onOutcome } as const;
    const { tested, contradictions } = await runOnHalf(db, stored, request, signal).finally(bar.stop);
    return { stored, agreement: measureAgreement(tested), contradictions };
  });
}

/** Lists the bad training traces that no eval in use and no newest draft fails. They suggest the next criterion. */
export function reviewUncaught(
  criterion: string,
  { settings, signal }: Pick<AppContext, "settings" | "signal">,
): Promise<readonly UncaughtTrace[]> {
  return withStore(settings, async (db) => {
    const evals = evalsWithoutModels(newestOf(listEvals(db)));
    const uncaught: UncaughtTrace[] = [];
    for await (const labeled of yieldBetween(labeledPages(db, criterion, "training"))) {
      signal.throwIfAborted();
      const bad = labeled.filter(({ label }) => label.label === "bad");
      const outcomes = await evals.run(
        bad.map(({ trace }) => trace),
        signal,
      );
      for (const [i, { trace, label }] of bad.entries()) {
        if (outcomes[i]?.some(({ score }) => score !== null && !isPass(score)) === true) continue;
        uncaught.push({ traceId: trace.traceId, runId: trace.kind === "chat" ? null : trace.runId, note: label.note });
      }
    }
    return uncaught;
  });
}

/** Returns the version in use of each eval, otherwise the newest version that is not retired. */
export function newestOf(all: readonly StoredEval[]): StoredEval[] {
  const byName = new Map<string, StoredEval>();
  for (const stored of all) {
    if (stored.status === "retired") continue;
    const { name } = stored.definition;
    if (byName.get(name)?.status !== "active") byName.set(name, stored);
  }
  return [...byName.values()];
}
