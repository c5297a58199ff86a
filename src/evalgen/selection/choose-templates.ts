import { type Alignment, alignmentOf } from "./alignment.js";
import { crossValidation, cutOf, MAX_CHOSEN, type MeasuredTemplate, type TrainingLabels } from "./measure-templates.js";
import { labelShuffler } from "./shuffle-labels.js";

/** A template must fail so many training traces, or it says too little. */
export const MIN_SUPPORT = 5;
/** It may fail this share of the good ones. */
export const MAX_FALSE_FAILURES = 0.2;
/** The choice ends where the best further template raises alignment by less. */
export const MIN_GAIN = 0.02;
/** The most that chance may explain, over all templates together. */
export const MAX_CHANCE = 0.02;
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

export interface Choice {
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
  while (chosen.length < MAX_CHOSEN) {
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
