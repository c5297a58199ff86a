import type { RegressionCase } from "../../domain/evals/eval-definition.js";
import { questionKey } from "../../domain/evals/evaluated-trace.js";
import { TEMPLATES } from "../../evalgen/eval-templates.js";
import { FEATURES } from "../../evalgen/features/feature-table.js";
import { hasGold, regressionCaseOf } from "../../evalgen/regression-cases.js";
import type { MeasuredTemplate, TrainingLabels } from "../../evalgen/selection/measure-templates.js";
import { foldOf, halfOf } from "../../evalgen/training-split.js";
import { viewOf } from "../../evalgen/visible-trace.js";
import type { Db } from "../../store/connection/open-store.js";
import { type EffectiveLabel, iterateLabelled } from "../../store/evals/labels.js";
import { wordFrequency } from "../../store/evals/word-frequency.js";
import { hashLabels } from "./label-counts.js";

interface Training {
  readonly measured: readonly MeasuredTemplate[];
  readonly labels: TrainingLabels;
  /** Names the labels that were read. */
  readonly hash: string;
}

const FOLDS = 5;

/**
 * The features and labels of the training half. Traces are read one at a time: only the values of features stay in
 * memory.
 */
export function measureTraining(db: Db, criterion: string, seed: number): Training {
  const bad: boolean[] = [];
  const questions: string[] = [];
  const used: EffectiveLabel[] = [];
  const columns = TEMPLATES.map((template) => ({ template, values: [] as (number | null)[] }));
  for (const { trace, label } of iterateLabelled(db, criterion)) {
    const question = questionKey(trace);
    if (halfOf(question) !== "training") continue;
    used.push(label);
    bad.push(label.label === "bad");
    questions.push(question);
    const view = viewOf(trace);
    for (const { template, values } of columns) values.push(FEATURES[template.feature]?.of(view).value ?? null);
  }
  const folds = questions.map((question) => foldOf(question, FOLDS, seed));
  return { measured: columns, labels: { bad, questions, folds }, hash: hashLabels(used) };
}

/** A regression case for each question with gold that has a good answer; of several the last. */
export function collectCases(db: Db, criterion: string): RegressionCase[] {
  const frequencyOf = wordFrequency(db);
  const cases = new Map<string, RegressionCase>();
  for (const { trace, label } of iterateLabelled(db, criterion)) {
    if (label.label !== "good" || !hasGold(trace)) continue;
    const made = regressionCaseOf(trace, frequencyOf);
    if (made !== null) cases.set(questionKey(trace), made);
  }
  return [...cases.values()];
}
