// Evals for failure modes, from templates and labels.
import type { Db } from "../store/open-store.js";
import { type Alignment, type Candidate, chooseTemplates } from "./choose-templates.js";
import type { EvalDraft, LabelSources } from "./definition.js";
import { hashLabels, otherSources } from "./effective-labels.js";
import { type SavedEval, saveDraft } from "./store.js";
import { measureTemplates, TraceMeasurements } from "./suggest/measure-templates.js";
import { templateEval } from "./templates.js";
import { requireLabels } from "./test-eval/thresholds.js";

export interface Suggestion {
  readonly good: number;
  readonly bad: number;
  /** These labels by source. Absent if all are by people. */
  readonly sources?: LabelSources;
  readonly candidates: readonly SuggestedTemplate[];
  /** The saved evals, one per chosen template. */
  readonly evals: readonly SavedEval[];
}

/** A template with what its failures say about the labels. */
interface SuggestedTemplate extends Candidate {
  /** Whether the failures are nearly all right but most bad traces pass, as if bad traces had several causes. */
  readonly isOneOfSeveral: boolean;
}

/**
 * Returns a function that chooses templates based on all labels of a mode, and saves them as drafts. Traces are
 * measured once for all modes. No half is held out, because the test of these evals is cross-fitted. The function
 * throws a UserError if there are too few labels.
 */
export function evalSuggester(db: Db, seed: number): (mode: string) => Suggestion {
  const measurements = new TraceMeasurements(db);
  return (criterion) => {
    const { templates, labels, used } = measureTemplates(db, measurements, { criterion, seed });
    const bad = labels.bad.filter((isBad) => isBad).length;
    const good = labels.bad.length - bad;
    requireLabels(db, { half: null, good, bad, criterion });
    const tried = chooseTemplates(templates, labels, seed);
    const origin = { by: "templates", seed, labels: hashLabels(used) } as const;
    const drafts: EvalDraft[] = tried
      .filter(({ rejection }) => rejection === null)
      .map(({ measured: { template }, cut }) => templateEval(template, cut ?? 0, origin));
    const createdAt = new Date().toISOString();
    const evals = drafts.map((draft) => saveDraft(db, draft, createdAt, criterion));
    const candidates = tried.map((one) => ({ ...one, isOneOfSeveral: isOneOfSeveral(one.alignment, bad) }));
    return { good, bad, ...otherSources(used), candidates, evals };
  };
}

const HIGH_PRECISION = 0.8;
const LOW_RECALL = 0.5;

/** Compares the failed traces with the number of labeled bad traces. */
function isOneOfSeveral({ trueNegativeRate, failed }: Alignment, bad: number): boolean {
  return failed > 0 && (trueNegativeRate * bad) / failed >= HIGH_PRECISION && trueNegativeRate < LOW_RECALL;
}
