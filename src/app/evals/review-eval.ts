import type { StoredEval } from "../../domain/evals/eval-definition.js";
import { isPass } from "../../domain/evals/eval-outcome.js";
import type { Agreement, Contradiction } from "../../domain/evals/eval-test.js";
import { measureAgreement } from "../../evalgen/proof/measure-agreement.js";
import { getEval, listEvals } from "../../store/evals/evals.js";
import type { AppContext } from "../use-case-context.js";
import { withStore } from "../with-store.js";
import { openEvalBackends, requireRunnable } from "./backends/eval-backends.js";
import { evalsWithoutModels } from "./evals-as-scorers.js";
import { labelledPages } from "./labelled-pages.js";
import { runOnHalf } from "./test-eval.js";

export interface EvalReview {
  readonly stored: StoredEval;
  /** On the training half, which it may have been made from: no proof. */
  readonly agreement: Agreement;
  readonly contradictions: readonly Contradiction[];
}

/** Where an eval and the labels of the training half disagree. The held-out half is not read. */
export function reviewEval(
  name: string,
  criterion: string,
  { settings, signal }: Pick<AppContext, "settings" | "signal">,
): Promise<EvalReview> {
  return withStore(settings, async (db) => {
    const stored = getEval(db, name);
    await requireRunnable([stored.definition], settings);
    const { tested, contradictions } = await runOnHalf(
      db,
      stored,
      { criterion, half: "training", backends: openEvalBackends(settings) },
      signal,
    );
    return { stored, agreement: measureAgreement(tested, stored.id), contradictions };
  });
}

/** A bad trace that no eval fails. */
export interface UncaughtTrace {
  readonly traceId: string;
  readonly runId: string | null;
  readonly note: string | null;
}

/** The bad traces of the training half that no eval in use, and no newest draft, fails: the next criterion to write. */
export function reviewUncaught(
  criterion: string,
  { settings, signal }: Pick<AppContext, "settings" | "signal">,
): Promise<readonly UncaughtTrace[]> {
  return withStore(settings, async (db) => {
    const evals = evalsWithoutModels(newestOf(listEvals(db)));
    const uncaught: UncaughtTrace[] = [];
    for (const labelled of labelledPages(db, criterion, "training")) {
      const bad = labelled.filter(({ label }) => label.label === "bad");
      const outcomes = await evals.run(
        bad.map(({ trace }) => trace),
        signal,
      );
      for (const [i, { trace, label }] of bad.entries()) {
        if (outcomes[i]?.some(({ score }) => score !== null && !isPass(score)) === true) continue;
        uncaught.push({ traceId: trace.traceId, runId: "runId" in trace ? trace.runId : null, note: label.note });
      }
    }
    return uncaught;
  });
}

/** Of each name the version in use, else the newest one that is not retired. */
export function newestOf(all: readonly StoredEval[]): StoredEval[] {
  const byName = new Map<string, StoredEval>();
  for (const stored of all) {
    if (stored.status === "retired") continue;
    const { name } = stored.definition;
    if (byName.get(name)?.status !== "active") byName.set(name, stored);
  }
  return [...byName.values()];
}
