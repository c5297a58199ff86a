import type { AppSettings } from "../platform/app-context.js";
import { commandLine } from "../platform/command-line.js";
import { UserError } from "../platform/errors.js";
import { type Db, withStore } from "../store/open-store.js";
import {
  type Alignment,
  type Candidate,
  chooseTemplates,
  criterionOf,
  foldOf,
  type MeasuredTemplate,
  refineRules,
  type TrainingLabels,
} from "./choose-templates.js";
import type { EvalDraft, RegressionCase, StoredEval } from "./definition.js";
import { FEATURES, viewOf } from "./features.js";
import { type EffectiveLabel, hashLabels, iterateLabelled } from "./labels.js";
import { hasGold, regressionCaseOf } from "./run-rules.js";
import { getEval, saveDraft } from "./store.js";
import { TEMPLATES, templateEval } from "./templates.js";
import { requireLabels } from "./thresholds.js";

interface SuggestOptions {
  readonly criterion: string;
  readonly seed: number;
  /** Name of the eval of all chosen conditions together. */
  readonly name: string;
  /** Make regression cases of good answers to questions with gold. */
  readonly cases: boolean;
}

export interface Suggestion {
  /** Of the training half: nothing else was looked at. */
  readonly good: number;
  readonly bad: number;
  readonly candidates: readonly Candidate[];
  readonly together: Alignment;
  /** The evals made: one for each chosen template, all together where there are several, and the regression cases. */
  readonly evals: readonly { readonly stored: StoredEval; readonly isNew: boolean }[];
}

/** Chooses templates by the labels of the training half, and saves them as drafts. */
export function suggestEvals(options: SuggestOptions, settings: AppSettings): Promise<Suggestion> {
  return withStore(settings, (db) => {
    const { measured, labels, good, bad, hash } = measureTraining(db, options.criterion, options.seed);
    const choice = chooseTemplates(measured, labels, options.seed);
    const origin = { by: "templates", seed: options.seed, labels: hash, parent: null } as const;
    const chosen = choice.candidates
      .filter(({ rejection }) => rejection === null)
      .map(({ measured: { template }, cut }) => ({ template, cut: cut ?? 0 }));
    const drafts: EvalDraft[] = chosen.map((one) => templateEval(one.template.name, [one], origin));
    if (chosen.length > 1) drafts.push(templateEval(options.name, chosen, origin));
    const cases = options.cases ? collectCases(db, options.criterion) : [];
    if (cases.length > 0) drafts.push(casesDraft(cases, { ...origin, seed: null }));
    const createdAt = new Date().toISOString();
    const evals = drafts.map((draft) => saveDraft(db, draft, createdAt));
    return { good, bad, candidates: choice.candidates, together: choice.together, evals };
  });
}

function casesDraft(cases: readonly RegressionCase[], origin: EvalDraft["origin"]): EvalDraft {
  return {
    name: "regression_cases",
    kind: "cases",
    reference: true,
    criterion: "The answer holds what a good answer to the same question held, and cites a mail with the answer.",
    cases: [...cases],
    origin,
  };
}

interface RefinedEval {
  readonly parent: StoredEval;
  /** Null: the training labels give no reason to change it. */
  readonly refined: StoredEval | null;
}

/** Makes a new version of an eval from what contradicts it in the training half. */
export function refineEval(name: string, criterion: string, seed: number, settings: AppSettings): Promise<RefinedEval> {
  return withStore(settings, (db) => {
    const parent = getEval(db, name);
    const { definition } = parent;
    if (definition.kind !== "rules") {
      throw new UserError(
        "eval_unrefinable",
        `${definition.name} is no rule, so labels set nothing in it.`,
        definition.kind === "cases"
          ? `${commandLine`art-e evals suggest --cases`} makes its cases anew.`
          : `Change its file and import it, or have a model write others: ${commandLine`art-e evals generate`}`,
      );
    }
    const { measured, labels, hash } = measureTraining(db, criterion, seed);
    const all = refineRules(definition.pass.all, measured, labels, seed);
    if (JSON.stringify(all) === JSON.stringify(definition.pass.all)) return { parent, refined: null };
    const { version: _, ...draft } = definition;
    const { stored } = saveDraft(
      db,
      {
        ...draft,
        criterion: criterionOf(all),
        pass: { all },
        origin: { by: "templates", seed, labels: hash, parent: definition.version },
      },
      new Date().toISOString(),
    );
    return { parent, refined: stored };
  });
}

interface Training {
  readonly measured: readonly MeasuredTemplate[];
  readonly labels: TrainingLabels;
  readonly good: number;
  readonly bad: number;
  /** Names the labels that were read. */
  readonly hash: string;
}

const FOLDS = 5;

/**
 * The features and labels of the training half. Traces are read one at a time: only the values of features stay in
 * memory. Throws where there are too few labels.
 */
function measureTraining(db: Db, criterion: string, seed: number): Training {
  const bad: boolean[] = [];
  const questions: string[] = [];
  const used: EffectiveLabel[] = [];
  const columns = TEMPLATES.map((template) => ({ template, values: [] as (number | null)[] }));
  for (const { trace, label, question } of iterateLabelled(db, criterion, "training")) {
    if (label.drawn === "hard") continue;
    used.push(label);
    bad.push(label.label === "bad");
    questions.push(question);
    const view = viewOf(trace);
    for (const { template, values } of columns) values.push(FEATURES[template.feature]?.of(view).value ?? null);
  }
  const good = bad.filter((isBad) => !isBad).length;
  requireLabels("training", good, bad.length - good, criterion);
  const folds = questions.map((question) => foldOf(question, FOLDS, seed));
  const labels = { bad, questions, folds };
  return { measured: columns, labels, good, bad: bad.length - good, hash: hashLabels(used) };
}

/** A regression case for each question with gold that has a good answer; of several the last. */
function collectCases(db: Db, criterion: string): RegressionCase[] {
  const frequencyOf = wordFrequency(db);
  const cases = new Map<string, RegressionCase>();
  for (const { trace, label, question } of iterateLabelled(db, criterion, null)) {
    if (label.label !== "good" || !hasGold(trace)) continue;
    const made = regressionCaseOf(trace, frequencyOf);
    if (made !== null) cases.set(question, made);
  }
  return [...cases.values()];
}

/** In more mails than this a word counts as common, and is not counted further. */
const COMMON = 1_000;

/** Counts the mails that hold a word, in any of its forms, up to `COMMON`. */
export function wordFrequency(db: Db): (word: string) => number {
  const count = db
    .prepare("SELECT count(*) FROM (SELECT rowid FROM emails_fts WHERE emails_fts MATCH ? LIMIT ?)")
    .pluck();
  return (word) => count.get(`"${word.replaceAll('"', "")}"`, COMMON) as number;
}
