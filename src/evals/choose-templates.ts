import { createHash } from "node:crypto";
import { seededRandom } from "../statistics/intervals.js";
import { type Condition, MAX_CONDITIONS } from "./definition.js";
import { FEATURES } from "./features.js";
import { isMissed } from "./run-rules.js";
import { conditionOf, type EvalTemplate, TEMPLATES } from "./templates.js";

/** The fold of a training question, 0 to `folds` - 1, by its hash with a seed. */
export function foldOf(question: string, folds: number, seed: number): number {
  return createHash("sha256").update(`${seed} ${question}`).digest().readUInt32BE(0) % folds;
}

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
  let refined = conditions.map((condition, i) => {
    const moved = moveBound(condition, valuesOf(condition.feature), bad);
    // What is right by construction is moved only for something.
    const gain = alignmentWith(conditions.with(i, moved)) - alignmentWith(conditions);
    return gain > (isCut(condition.feature) ? 0 : MIN_GAIN) ? moved : condition;
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

/** The condition with the bound that separates good from bad best; as it was where no good trace has a value. */
function moveBound(condition: Condition, values: readonly (number | null)[], bad: readonly boolean[]): Condition {
  if ("at_most" in condition) return { ...condition, at_most: fitCut(values, bad) ?? condition.at_most };
  const cut = fitCut(
    values.map((value) => (value === null ? null : -value)),
    bad,
  );
  return { ...condition, at_least: cut === null ? condition.at_least : -cut };
}

/** Whether labels set the bound of this feature. */
function isCut(feature: string): boolean {
  return TEMPLATES.some((template) => template.feature === feature && template.bound === "cut");
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

/** A template must fail so many training traces, or it says too little. */
const MIN_SUPPORT = 5;
/** It may fail this share of the good ones. */
const MAX_FALSE_FAILURES = 0.2;
/** The choice ends where the best further template raises alignment by less. */
const MIN_GAIN = 0.02;
/** The most that chance may explain, over all templates together. */
const MAX_CHANCE = 0.02;
const SHUFFLES = 199;

export interface Candidate {
  readonly measured: MeasuredTemplate;
  /** By cross-validation. */
  readonly alignment: Alignment;
  /** Set by all training labels; null: no good trace has a value. */
  readonly cut: number | null;
  /** How often the best of all templates does as well on shuffled labels. */
  readonly chance: number;
  /** Null: chosen. Otherwise why not. */
  readonly rejection: string | null;
}

interface Choice {
  /** All templates, the chosen ones first and in the order of their choice. */
  readonly candidates: readonly Candidate[];
  /** Of the chosen together, by cross-validation. */
  readonly together: Alignment;
}

/**
 * Chooses the templates that fail bad traces and spare good ones, by cross-validation with labels of training traces
 * only. One that does no better than the best of them all on shuffled labels is not chosen.
 */
export function chooseTemplates(all: readonly MeasuredTemplate[], labels: TrainingLabels, seed: number): Choice {
  const { bad } = labels;
  const measured = all.map((template) => {
    const failures = crossValidation(template, labels)(bad);
    return { measured: template, failures, alignment: alignmentOf(bad, failures), cut: cutOf(template, bad) };
  });
  const maxima = maximaByChance(all, labels, seed);
  const candidates = measured.map((one) => ({ ...one, chance: chanceOf(one.alignment.z, maxima) }));
  const eligible = candidates.filter((one) => reasonAgainst(one, bad) === null);
  const chosen: (typeof candidates)[number][] = [];
  let caught = bad.map(() => false);
  let reached = 0;
  while (chosen.length < MAX_CONDITIONS) {
    const next = bestOf(eligible, caught, bad);
    if (next === null || next.alignment - reached < MIN_GAIN) break;
    chosen.push(next.candidate);
    caught = next.caught;
    reached = next.alignment;
  }
  const shown = ({ failures: _, ...one }: (typeof candidates)[number]): Candidate => ({
    ...one,
    rejection: chosen.some(({ measured }) => measured === one.measured)
      ? null
      : (reasonAgainst(one, bad) ?? `it adds less than ${MIN_GAIN} to the alignment of those chosen`),
  });
  const others = candidates.filter((one) => !chosen.includes(one));
  return { candidates: [...chosen, ...others].map(shown), together: alignmentOf(bad, caught) };
}

function bestOf<T extends { failures: readonly boolean[] }>(
  eligible: readonly T[],
  caught: readonly boolean[],
  bad: readonly boolean[],
): { candidate: T; caught: boolean[]; alignment: number } | null {
  let best: { candidate: T; caught: boolean[]; alignment: number } | null = null;
  for (const candidate of eligible) {
    const both = caught.map((isCaught, i) => isCaught || candidate.failures[i] === true);
    const { alignment } = alignmentOf(bad, both);
    if (best === null || alignment > best.alignment) best = { candidate, caught: both, alignment };
  }
  return best;
}

/** The best standard score of any template on labels that were shuffled, for each shuffle, in ascending order. */
function maximaByChance(all: readonly MeasuredTemplate[], labels: TrainingLabels, seed: number): Float64Array {
  const shuffle = labelShuffler(labels, seed);
  const failuresBy = all.map((one) => crossValidation(one, labels));
  const maxima = Float64Array.from({ length: SHUFFLES }, () => {
    const bad = shuffle();
    return Math.max(...failuresBy.map((failures) => alignmentOf(bad, failures(bad)).z));
  });
  return maxima.sort();
}

/** The observed labels count as one of the shuffles, so chance is never 0. */
function chanceOf(z: number, maxima: Float64Array): number {
  const asGood = maxima.reduce((n, maximum) => n + (maximum >= z ? 1 : 0), 0);
  return (asGood + 1) / (maxima.length + 1);
}

function reasonAgainst(
  { alignment, cut, chance }: Pick<Candidate, "alignment" | "cut" | "chance">,
  bad: readonly boolean[],
): string | null {
  if (cut === null) return "no good trace has a value to set its cut by";
  const { failed, falseFailures } = alignment;
  if (failed === 0) return "it fails no labelled trace";
  if (failed === bad.length) return "it fails every labelled trace";
  if (failed < MIN_SUPPORT) return `it fails ${failed} labelled traces, fewer than ${MIN_SUPPORT}`;
  if (falseFailures > MAX_FALSE_FAILURES)
    return `it fails ${Math.round(falseFailures * 100)} % of the good traces, more than ${MAX_FALSE_FAILURES * 100} %`;
  if (chance > MAX_CHANCE)
    return `on shuffled labels some template does as well in ${Math.round(chance * 100)} % of cases`;
  return null;
}

/**
 * Shuffles labels among questions with as many traces, so that the repeats of a question keep theirs together: they
 * are not independent, and shuffled singly they would make chance look rarer than it is.
 */
export function labelShuffler(
  { bad, questions }: { readonly bad: readonly boolean[]; readonly questions: readonly string[] },
  seed: number,
): () => boolean[] {
  const random = seededRandom(seed);
  const traces = new Map<string, number[]>();
  for (const [i, question] of questions.entries()) traces.set(question, [...(traces.get(question) ?? []), i]);
  const bySize = new Map<number, number[][]>();
  for (const indexes of traces.values()) bySize.set(indexes.length, [...(bySize.get(indexes.length) ?? []), indexes]);
  return () => {
    const shuffled = [...bad];
    for (const groups of bySize.values()) {
      const order = groups.map((_, i) => i);
      for (let i = order.length - 1; i > 0; i--) {
        const j = random(i + 1);
        [order[i], order[j]] = [order[j] ?? 0, order[i] ?? 0];
      }
      for (const [i, group] of groups.entries()) {
        const from = groups[order[i] ?? 0] ?? group;
        for (const [k, trace] of group.entries()) shuffled[trace] = bad[from[k] ?? trace] === true;
      }
    }
    return shuffled;
  };
}

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

/** The cut by all labels; 0 for templates that have none. */
function cutOf({ template, values }: MeasuredTemplate, bad: readonly boolean[]): number | null {
  return template.bound === "cut" ? fitCut(values, bad) : 0;
}

/** Which traces a template fails, by labels, where its cut is set by those of the other folds. */
function crossValidation(
  { template, values }: MeasuredTemplate,
  { folds }: TrainingLabels,
): (bad: readonly boolean[]) => boolean[] {
  if (template.bound !== "cut") {
    const condition = conditionOf(template, 0);
    const failures = values.map((value) => isMissed(condition, { value }));
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

/** Cuts are sought among these quantiles of the good traces; of equals the one that fails fewest. */
const QUANTILES = [1, 0.95, 0.9, 0.8];

/** The traces that have a value, in ascending order of it: sorted once for any labels. */
function sortTraces(values: readonly (number | null)[], isUsed: (trace: number) => boolean): readonly number[] {
  const used = values.flatMap((value, i) => (value !== null && isUsed(i) ? [i] : []));
  return used.sort((a, b) => (values[a] ?? 0) - (values[b] ?? 0));
}

/**
 * The largest value that passes, which separates bad from good best; null where no good trace has a value. `sorted` as
 * `sortTraces` gives it.
 */
function fitCut(
  values: readonly (number | null)[],
  bad: readonly boolean[],
  sorted: readonly number[] = sortTraces(values, () => true),
): number | null {
  const goods = sorted.filter((i) => bad[i] === false);
  const bads = sorted.length - goods.length;
  let best: { cut: number; gain: number } | null = null;
  for (const quantile of goods.length === 0 ? [] : QUANTILES) {
    const nearestRank = goods[Math.max(0, Math.ceil(goods.length * quantile) - 1)] ?? 0;
    const cut = roundUp(values[nearestRank] ?? 0);
    let [goodAbove, badAbove] = [0, 0];
    for (let k = sorted.length - 1; k >= 0; k--) {
      const trace = sorted[k] ?? 0;
      if ((values[trace] ?? 0) <= cut) break;
      if (bad[trace] === true) badAbove++;
      else goodAbove++;
    }
    const gain = badAbove / Math.max(1, bads) - goodAbove / goods.length;
    if (best === null || gain > best.gain) best = { cut, gain };
  }
  return best?.cut ?? null;
}

/** To two significant digits, so that a cut says no more than its labels know. */
function roundUp(value: number): number {
  if (value <= 0) return value;
  const unit = 10 ** (Math.floor(Math.log10(value)) - 1);
  // Whole numbers of units; the division has rounding errors.
  return Number((Math.ceil(Number((value / unit).toPrecision(12))) * unit).toPrecision(2));
}

/** What failing some traces and not others is worth, by their labels (Shankar et al. 2024). */
export interface Alignment {
  /** Share of the bad traces that are failed. */
  readonly coverage: number;
  /** Share of the good traces that are failed. */
  readonly falseFailures: number;
  /** The harmonic mean of coverage and 1 - false failures. */
  readonly alignment: number;
  /** Traces that are failed. */
  readonly failed: number;
  /** Standard score of the difference between the two shares; 0 where all or none are failed. */
  readonly z: number;
}

/** `bad` and `fails` are of the same traces. A share of no traces is 0. */
export function alignmentOf(bad: readonly boolean[], fails: readonly boolean[]): Alignment {
  let [bads, badFailed, goodFailed] = [0, 0, 0];
  for (const [i, isBad] of bad.entries()) {
    if (isBad) bads++;
    if (fails[i] !== true) continue;
    if (isBad) badFailed++;
    else goodFailed++;
  }
  const goods = bad.length - bads;
  const coverage = bads === 0 ? 0 : badFailed / bads;
  const falseFailures = goods === 0 ? 0 : goodFailed / goods;
  const alignment = coverage === 0 ? 0 : (2 * coverage * (1 - falseFailures)) / (coverage + 1 - falseFailures);
  const failed = badFailed + goodFailed;
  const pooled = failed / Math.max(1, bad.length);
  const variance = bads === 0 || goods === 0 ? 0 : pooled * (1 - pooled) * (1 / bads + 1 / goods);
  return {
    coverage,
    falseFailures,
    alignment,
    failed,
    z: variance === 0 ? 0 : (coverage - falseFailures) / Math.sqrt(variance),
  };
}
