// `art-e evals suggest`: evals from templates and training labels.
import type { AppSettings } from "../platform/app-context.js";
import { UserError } from "../platform/errors.js";
import { type Db, withStore } from "../store/open-store.js";
import {
  type Alignment,
  type Candidate,
  chooseTemplates,
  foldOf,
  type MeasuredTemplate,
  type TrainingLabels,
} from "./choose-templates.js";
import { BY_TEMPLATES, type EvalDraft, type LabelSources, type RegressionCase, type StoredEval } from "./definition.js";
import { type EffectiveLabel, hashLabels, iterateLabeled, otherSources } from "./effective-labels.js";
import { FEATURES, viewOf } from "./features.js";
import { hasGold, regressionCaseOf } from "./run-evals/run-rules.js";
import { saveDraft } from "./store.js";
import { TEMPLATES, templateEval } from "./templates.js";
import { requireLabels } from "./test-eval/thresholds.js";

interface SuggestOptions {
  readonly criterion: string;
  readonly seed: number;
  /** Whether to make regression cases from good answers to questions with gold answers. */
  readonly cases: boolean;
}

export interface Suggestion {
  /** Good traces of the training half. The held-out half is never read. */
  readonly good: number | null;
  readonly bad: number | null;
  /** These labels by source. Absent if all are by people, or if there are too few. */
  readonly sources?: LabelSources;
  /** Why no template was tried, or null. The counts are null if there are too few labels. */
  readonly tooFew: string | null;
  readonly candidates: readonly SuggestedTemplate[];
  /** The saved evals: one per chosen template, and the regression cases. */
  readonly evals: readonly { readonly stored: StoredEval; readonly isNew: boolean }[];
}

/** A template with what its failures say about the labels. */
interface SuggestedTemplate extends Candidate {
  readonly detection: Detection;
}

/** Precision and recall of a template's failures, as fractions of the labeled traces. */
export interface Detection {
  /** Fraction of the failed traces that are bad, or null if it fails none. */
  readonly precision: number | null;
  /** Fraction of the bad traces that fail. */
  readonly recall: number;
  /** Whether the failures are nearly all right but most bad traces pass, as if bad traces had several causes. */
  readonly isOneOfSeveral: boolean;
}

interface TooFew {
  /** The reason why the labels are too few for templates. */
  readonly tooFew: string;
}

interface Training {
  readonly measured: readonly MeasuredTemplate[];
  readonly labels: TrainingLabels;
  readonly good: number;
  readonly bad: number;
  readonly used: readonly EffectiveLabel[];
}

/** Chooses templates based on the labels of the training half, and saves them as drafts. */
export function suggestEvals(options: SuggestOptions, settings: AppSettings): Promise<Suggestion> {
  return withStore(settings, (db) => {
    const cases = options.cases ? collectCases(db, options.criterion) : [];
    const training = measureIfEnough(db, options, cases.length > 0);
    if ("tooFew" in training) return saveCasesOnly(db, cases, training);
    const { measured, labels, good, bad, used } = training;
    const tried = chooseTemplates(measured, labels, options.seed);
    const origin = { by: "templates", seed: options.seed, labels: hashLabels(used) } as const;
    const drafts: EvalDraft[] = tried
      .filter(({ rejection }) => rejection === null)
      .map(({ measured: { template }, cut }) => templateEval(template, cut ?? 0, origin));
    if (cases.length > 0) drafts.push(casesDraft(cases, { ...origin, seed: null }));
    const createdAt = new Date().toISOString();
    const evals = drafts.map((draft) => saveDraft(db, draft, createdAt));
    const candidates = tried.map((one) => ({ ...one, detection: detectionOf(one.alignment, bad) }));
    return { good, bad, ...otherSources(used), tooFew: null, candidates, evals };
  });
}

const HIGH_PRECISION = 0.8;
const LOW_RECALL = 0.5;

/** Derives precision and recall of a candidate from the number of labeled bad traces. */
function detectionOf({ coverage, failed }: Alignment, bad: number): Detection {
  const precision = failed === 0 ? null : (coverage * bad) / failed;
  const isOneOfSeveral = precision !== null && precision >= HIGH_PRECISION && coverage < LOW_RECALL;
  return { precision, recall: coverage, isOneOfSeveral };
}

/** A case needs only one trace, so cases are made even if the labels are too few for templates. */
function measureIfEnough(db: Db, { criterion, seed }: SuggestOptions, hasCases: boolean): Training | TooFew {
  try {
    return measureTraining(db, criterion, seed);
  } catch (error) {
    if (!hasCases || !(error instanceof UserError)) throw error;
    return { tooFew: error.message };
  }
}

function saveCasesOnly(db: Db, cases: readonly RegressionCase[], { tooFew }: TooFew): Suggestion {
  const saved = saveDraft(db, casesDraft(cases, BY_TEMPLATES), new Date().toISOString());
  return { good: null, bad: null, tooFew, candidates: [], evals: [saved] };
}

export const REGRESSION_SUITE = {
  name: "regression_cases",
  criterion:
    "The answer contains what a good answer to the same question contained, and cites an email with the answer.",
} as const;

function casesDraft(cases: readonly RegressionCase[], origin: EvalDraft["origin"]): EvalDraft {
  return { ...REGRESSION_SUITE, kind: "cases", reference: true, cases: [...cases], origin };
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
  requireLabels({ half: "training", good, bad: bad.length - good, criterion });
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

/**
 * Makes a regression case for each question that has a gold answer and an answer labeled good. The last good answer is
 * used.
 */
function collectCases(db: Db, criterion: string): RegressionCase[] {
  const frequencyOf = wordFrequency(db);
  const cases = new Map<string, RegressionCase>();
  for (const { trace, label, question } of iterateLabeled(db, criterion, null)) {
    if (label.label !== "good" || !hasGold(trace)) continue;
    const made = regressionCaseOf(trace, frequencyOf);
    if (made !== null) cases.set(question, made);
  }
  return [...cases.values()];
}

/** A word that occurs in more emails than this is common. Counting stops at this number. */
const COMMON = 1_000;

/** Returns a function that counts the emails that contain a word in any of its forms, up to `COMMON`. */
export function wordFrequency(db: Db): (word: string) => number {
  const count = db
    .prepare("SELECT count(*) FROM (SELECT rowid FROM emails_fts WHERE emails_fts MATCH ? LIMIT ?)")
    .pluck();
  return (word) => count.get(`"${word.replaceAll('"', "")}"`, COMMON) as number;
}
