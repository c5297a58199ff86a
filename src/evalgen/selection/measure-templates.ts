import { MAX_CONDITIONS } from "../../domain/evals/eval-definition.js";
import { conditionOf, type EvalTemplate } from "../eval-templates.js";
import { isMissed } from "../run-rules.js";
import { fitCut, sortTraces } from "./fit-cut.js";

/** A template with its feature's value of each training trace. */
export interface MeasuredTemplate {
  readonly template: EvalTemplate;
  readonly values: readonly (number | null)[];
}

/** What is known of the training traces besides features; all lists are in the order of the traces. */
export interface TrainingLabels {
  readonly bad: readonly boolean[];
  /** The question of each: repeats have the same. */
  readonly questions: readonly string[];
  /** The fold of each question's traces. */
  readonly folds: readonly number[];
}

/** Which traces a template fails with the cut that these labels set; none where they set no cut. */
export function failuresOf({ template, values }: MeasuredTemplate, cut: number | null): boolean[] {
  if (cut === null) return values.map(() => false);
  const condition = conditionOf(template, cut);
  return values.map((value) => isMissed(condition, { value }));
}

/** The cut by all labels; 0 for templates that have none. */
export function cutOf({ template, values }: MeasuredTemplate, bad: readonly boolean[]): number | null {
  return template.bound === "cut" ? fitCut(values, bad) : 0;
}

/** Which traces a template fails, by labels, where its cut is set by those of the other folds. */
export function crossValidation(
  measured: MeasuredTemplate,
  { folds }: Pick<TrainingLabels, "folds">,
): (bad: readonly boolean[]) => boolean[] {
  const { template, values } = measured;
  if (template.bound !== "cut") {
    const failures = failuresOf(measured, 0);
    return () => failures;
  }
  const parts = [...new Set(folds)].map((fold) => ({
    members: folds.flatMap((other, i) => (other === fold ? [i] : [])),
    others: sortTraces(values, (i) => folds[i] !== fold),
  }));
  return (bad) => {
    const failures = values.map(() => false);
    for (const { members, others } of parts) {
      const cut = fitCut(values, bad, others);
      if (cut === null) continue;
      for (const i of members) failures[i] = isMissed(conditionOf(template, cut), { value: values[i] ?? null });
    }
    return failures;
  };
}

/** At most as many templates as one eval may have conditions. */
export const MAX_CHOSEN = MAX_CONDITIONS;
