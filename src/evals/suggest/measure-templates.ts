// Measures the features of all templates on labeled traces. `suggest` chooses templates by these values, and the test
// of such an eval repeats the choice on a part of them.
import type { Db } from "../../store/open-store.js";
import { foldOf, type MeasuredTemplate, type TrainingLabels } from "../choose-templates.js";
import { type EffectiveLabel, iterateLabeled } from "../effective-labels.js";
import { FEATURES, viewOf } from "../features.js";
import { TEMPLATES } from "../templates.js";

interface MeasuredLabels {
  readonly templates: readonly MeasuredTemplate[];
  readonly labels: TrainingLabels;
  readonly used: readonly EffectiveLabel[];
}

const FOLDS = 5;

/**
 * Measures the features of the traces that are labeled good or bad, in both halves. Traces are read one at a time, and
 * only the feature values stay in memory.
 */
export function measureTemplates(
  db: Db,
  criterion: string,
  seed: number,
  isUsed: (label: EffectiveLabel) => boolean = () => true,
): MeasuredLabels {
  const bad: boolean[] = [];
  const questions: string[] = [];
  const used: EffectiveLabel[] = [];
  const templates = TEMPLATES.map((template) => ({ template, values: [] as (number | null)[] }));
  for (const { trace, label, question } of iterateLabeled(db, criterion, null)) {
    if (!isUsed(label)) continue;
    used.push(label);
    bad.push(label.label === "bad");
    questions.push(question);
    const view = viewOf(trace);
    for (const { template, values } of templates) values.push(FEATURES[template.feature]?.of(view).value ?? null);
  }
  const folds = questions.map((question) => foldOf(question, FOLDS, seed));
  return { templates, labels: { bad, questions, folds, weights: used.map(({ weight }) => weight) }, used };
}

/** Returns the measured labels of these traces, by index. */
export function selectTraces(
  { templates, labels }: Pick<MeasuredLabels, "templates" | "labels">,
  traces: readonly number[],
): Pick<MeasuredLabels, "templates" | "labels"> {
  const some = <T>(all: readonly T[]) => traces.map((i) => all[i] as T);
  return {
    templates: templates.map(({ template, values }) => ({ template, values: some(values) })),
    labels: {
      bad: some(labels.bad),
      questions: some(labels.questions),
      folds: some(labels.folds),
      weights: some(labels.weights),
    },
  };
}
