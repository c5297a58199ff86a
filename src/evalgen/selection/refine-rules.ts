import { type Condition, MAX_CONDITIONS } from "../../domain/evals/eval-definition.js";
import { conditionOf, TEMPLATES } from "../eval-templates.js";
import { FEATURES } from "../features/feature-table.js";
import { isMissed } from "../run-rules.js";
import { alignmentOf } from "./alignment.js";
import { chooseTemplates, MIN_GAIN } from "./choose-templates.js";
import { fitCut } from "./fit-cut.js";
import type { MeasuredTemplate, TrainingLabels } from "./measure-templates.js";

/**
 * Changes conditions where training labels contradict them: cuts are set again, a condition without which the others
 * align as well goes, and the chosen templates that raise alignment are added. The same list where nothing is better.
 */
export function refineRules(
  conditions: readonly Condition[],
  all: readonly MeasuredTemplate[],
  labels: TrainingLabels,
  seed: number,
): Condition[] {
  const { bad } = labels;
  const valuesOf = (feature: string) =>
    all.find(({ template }) => template.feature === feature)?.values ?? bad.map(() => null);
  const alignmentWith = (some: readonly Condition[]) =>
    alignmentOf(
      bad,
      bad.map((_, i) =>
        some.some((condition) => isMissed(condition, { value: valuesOf(condition.feature)[i] ?? null })),
      ),
    ).alignment;
  let refined = conditions.map((condition) => {
    if (!("at_most" in condition) || !isCut(condition.feature)) return condition;
    const cut = fitCut(valuesOf(condition.feature), bad);
    const moved = { ...condition, at_most: cut ?? condition.at_most };
    return alignmentWith(replace(conditions, condition, moved)) > alignmentWith(conditions) ? moved : condition;
  });
  for (const condition of refined.length > 1 ? [...refined] : []) {
    const others = refined.filter((other) => other !== condition);
    if (others.length > 0 && alignmentWith(others) >= alignmentWith(refined)) refined = others;
  }
  for (const { measured, cut, rejection } of chooseTemplates(all, labels, seed).candidates) {
    if (rejection !== null || refined.length >= MAX_CONDITIONS) continue;
    const added = conditionOf(measured.template, cut ?? 0);
    if (refined.some(({ feature }) => feature === added.feature)) continue;
    if (alignmentWith([...refined, added]) - alignmentWith(refined) >= MIN_GAIN) refined = [...refined, added];
  }
  return refined;
}

/** Whether labels set the bound of this feature. */
function isCut(feature: string): boolean {
  return TEMPLATES.some((template) => template.feature === feature && template.bound === "cut");
}

function replace(conditions: readonly Condition[], old: Condition, by: Condition): Condition[] {
  return conditions.map((condition) => (condition === old ? by : condition));
}

/** The criterion of conditions, from the templates they are of, else from what their features measure. */
export function criterionOf(conditions: readonly Condition[]): string {
  return conditions
    .map(
      ({ feature }) =>
        TEMPLATES.find((template) => template.feature === feature)?.criterion ??
        `The bound on ${FEATURES[feature]?.meaning ?? feature} is met.`,
    )
    .join(" ");
}
