// Evals for one failure mode, from templates and training labels.
import type { AppSettings } from "../platform/app-context.js";
import { type Db, withStore } from "../store/open-store.js";
import {
  type Alignment,
  type Candidate,
  chooseTemplates,
  foldOf,
  type MeasuredTemplate,
  type TrainingLabels,
} from "./choose-templates.js";
import type { EvalDraft, LabelSources } from "./definition.js";
import { type EffectiveLabel, hashLabels, iterateLabeled, otherSources } from "./effective-labels.js";
import { FEATURES, viewOf } from "./features.js";
import { type SavedEval, saveDraft } from "./store.js";
import { TEMPLATES, templateEval } from "./templates.js";
import { requireLabels } from "./test-eval/thresholds.js";

interface SuggestOptions {
  readonly criterion: string;
  readonly seed: number;
}

export interface Suggestion {
  /** Good traces of the training half. The held-out half is never read. */
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

interface Training {
  readonly measured: readonly MeasuredTemplate[];
  readonly labels: TrainingLabels;
  readonly good: number;
  readonly bad: number;
  readonly used: readonly EffectiveLabel[];
}

/** Chooses templates based on the labels of the training half, and saves them as drafts. */
export function suggestEvals({ criterion, seed }: SuggestOptions, settings: AppSettings): Promise<Suggestion> {
  return withStore(settings, (db) => {
    const { measured, labels, good, bad, used } = measureTraining(db, criterion, seed);
    const tried = chooseTemplates(measured, labels, seed);
    const origin = { by: "templates", seed, labels: hashLabels(used) } as const;
    const drafts: EvalDraft[] = tried
      .filter(({ rejection }) => rejection === null)
      .map(({ measured: { template }, cut }) => templateEval(template, cut ?? 0, origin));
    const createdAt = new Date().toISOString();
    const evals = drafts.map((draft) => saveDraft(db, draft, createdAt, criterion));
    const candidates = tried.map((one) => ({ ...one, isOneOfSeveral: isOneOfSeveral(one.alignment, bad) }));
    return { good, bad, ...otherSources(used), candidates, evals };
  });
}

const HIGH_PRECISION = 0.8;
const LOW_RECALL = 0.5;

/** Compares the failed traces with the number of labeled bad traces. */
function isOneOfSeveral({ trueNegativeRate, failed }: Alignment, bad: number): boolean {
  return failed > 0 && (trueNegativeRate * bad) / failed >= HIGH_PRECISION && trueNegativeRate < LOW_RECALL;
}

const FOLDS = 5;

/**
 * Measures the features on the training half. Traces are read one at a time, and only the feature values stay in
 * memory. Throws a UserError if there are too few labels.
 */
function measureTraining(db: Db, criterion: string, seed: number): Training {
  const bad: boolean[] = [];
  const questions: string[] = [];
  const used: EffectiveLabel[] = [];
  const columns = TEMPLATES.map((template) => ({ template, values: [] as (number | null)[] }));
  for (const { trace, label, question } of iterateLabeled(db, criterion, "training")) {
    used.push(label);
    bad.push(label.label === "bad");
    questions.push(question);
    const view = viewOf(trace);
    for (const { template, values } of columns) values.push(FEATURES[template.feature]?.of(view).value ?? null);
  }
  const good = bad.filter((isBad) => !isBad).length;
  requireLabels(db, { half: "training", good, bad: bad.length - good, criterion });
  const folds = questions.map((question) => foldOf(question, FOLDS, seed));
  const labels = { bad, questions, folds, weights: used.map(({ weight }) => weight) };
  return {
    measured: columns,
    labels,
    good,
    bad: bad.length - good,
    used,
  };
}
