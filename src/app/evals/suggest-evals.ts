import type { EvalDefinition, EvalOf, RegressionCase, StoredEval } from "../../domain/evals/eval-definition.js";
import { conditionOf, type EvalTemplate } from "../../evalgen/eval-templates.js";
import type { Alignment } from "../../evalgen/selection/alignment.js";
import { type Candidate, chooseTemplates } from "../../evalgen/selection/choose-templates.js";
import { saveDraft } from "../../store/evals/evals.js";
import type { AppSettings } from "../use-case-context.js";
import { withStore } from "../with-store.js";
import { requireLabels } from "./label-counts.js";
import { collectCases, measureTraining } from "./measure-training.js";

export interface SuggestOptions {
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
    const { measured, labels, hash } = measureTraining(db, options.criterion, options.seed);
    const good = labels.bad.filter((isBad) => !isBad).length;
    const bad = labels.bad.length - good;
    requireLabels("training", good, bad, options.criterion);
    const choice = chooseTemplates(measured, labels, options.seed);
    const origin = { by: "templates", seed: options.seed, labels: hash, parent: null } as const;
    const chosen = choice.candidates.filter(({ rejection }) => rejection === null);
    const drafts: Omit<EvalDefinition, "version">[] = chosen.map(({ measured: { template }, cut }) =>
      rulesDraft(template.name, [{ template, cut: cut ?? 0 }], origin),
    );
    if (chosen.length > 1) {
      const all = chosen.map(({ measured: { template }, cut }) => ({ template, cut: cut ?? 0 }));
      drafts.push(rulesDraft(options.name, all, origin));
    }
    const cases = options.cases ? collectCases(db, options.criterion) : [];
    if (cases.length > 0) drafts.push(casesDraft(cases, { ...origin, seed: null }));
    const createdAt = new Date().toISOString();
    const evals = drafts.map((draft) => saveDraft(db, draft, createdAt));
    return { good, bad, candidates: choice.candidates, together: choice.together, evals };
  });
}

function rulesDraft(
  name: string,
  parts: readonly { readonly template: EvalTemplate; readonly cut: number }[],
  origin: EvalDefinition["origin"],
): Omit<EvalOf<"rules">, "version"> {
  return {
    name,
    kind: "rules",
    reference: false,
    criterion: parts.map(({ template }) => template.criterion).join(" "),
    pass: { all: parts.map(({ template, cut }) => conditionOf(template, cut)) },
    origin,
  };
}

function casesDraft(
  cases: readonly RegressionCase[],
  origin: EvalDefinition["origin"],
): Omit<EvalOf<"cases">, "version"> {
  return {
    name: "regression_cases",
    kind: "cases",
    reference: true,
    criterion: "The answer holds what a good answer to the same question held, and cites a mail with the answer.",
    cases: [...cases],
    origin,
  };
}
