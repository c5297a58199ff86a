// Chooses templates and thresholds that agree with training labels, using cross-validation and a shuffling test.
import { createHash } from "node:crypto";
import { seededRandom } from "../statistics/seeded-random.js";
import { MAX_CONDITIONS } from "./definition.js";
import { isMissed } from "./run-evals/run-rules.js";
import { conditionOf, type EvalTemplate } from "./templates.js";

export interface Candidate {
  readonly measured: MeasuredTemplate;
  /** From cross-validation. */
  readonly alignment: Alignment;
  /** The threshold fitted to all training labels, or null if no good trace has a value. */
  readonly cut: number | null;
  /** Fraction of shuffles in which the best template does equally well, 0 to 1. */
  readonly chance: number;
  /** Why the template was not chosen, or null if it was. */
  readonly rejection: string | null;
}

/** A template with its feature's value for each training trace. */
export interface MeasuredTemplate {
  readonly template: EvalTemplate;
  readonly values: readonly (number | null)[];
}

/** Facts about the training traces besides features, in the order of the traces. */
export interface TrainingLabels {
  readonly bad: readonly boolean[];
  /** The question of each trace. Repetitions of a question have the same value. */
  readonly questions: readonly string[];
  /** The fold of each trace's question. */
  readonly folds: readonly number[];
  /** The weight of each label: 1 if every trace had the same chance to be labeled. */
  readonly weights: readonly number[];
}

/** How well failed traces match the bad labels (Shankar et al. 2024, https://arxiv.org/abs/2404.12272). */
export interface Alignment {
  /** Fraction of the bad traces that fail. */
  readonly trueNegativeRate: number;
  /** Fraction of the good traces that fail. */
  readonly falseFailureRate: number;
  /** Harmonic mean of the true positive and the true negative rate. */
  readonly alignment: number;
  /** Number of failed traces. */
  readonly failed: number;
  /** Standard score of the difference between the two fractions. 0 if all or no traces fail. */
  readonly z: number;
}

/** Returns the fold of a training question, 0 to `folds` - 1, from its hash with a seed. */
export function foldOf(question: string, folds: number, seed: number): number {
  return createHash("sha256").update(`${seed} ${question}`).digest().readUInt32BE(0) % folds;
}

/** Minimum number of training traces that a template must fail to be informative. */
const MIN_SUPPORT = 4;
/** Maximum fraction of good traces that a template can fail. */
const MAX_FALSE_FAILURE_RATE = 0.2;
/** Minimum gain in alignment from each additional template. */
const MIN_GAIN = 0.02;
/** Maximum probability that a result is due to chance, for all templates together. */
const MAX_CHANCE = 0.02;
const SHUFFLES = 199;

/**
 * Chooses templates that fail bad traces and pass good ones, by cross-validation on training labels. A template is
 * rejected if the best of all templates often does equally well on shuffled labels. Returns the chosen templates in the
 * order of choice, followed by the rejected ones.
 */
export function chooseTemplates(all: readonly MeasuredTemplate[], labels: TrainingLabels, seed: number): Candidate[] {
  const { bad } = labels;
  const measured = all.map((template) => {
    const failures = crossValidation(template, labels)(bad);
    return {
      measured: template,
      failures,
      alignment: alignmentOf(bad, failures, labels.weights),
      cut: cutOf(template, bad),
    };
  });
  const maxima = maximaByChance(all, labels, seed);
  const candidates = measured.map((one) => ({ ...one, chance: chanceOf(one.alignment.z, maxima) }));
  const eligible = candidates.filter((one) => reasonAgainst(one, bad) === null);
  const chosen: (typeof candidates)[number][] = [];
  let caught = bad.map(() => false);
  let reached = 0;
  while (chosen.length < MAX_CONDITIONS) {
    const next = bestOf(eligible, caught, labels);
    if (next === null || next.alignment - reached < MIN_GAIN) break;
    chosen.push(next.candidate);
    caught = next.caught;
    reached = next.alignment;
  }
  const shown = ({ failures: _, ...one }: (typeof candidates)[number]): Candidate => ({
    ...one,
    rejection: chosen.some(({ measured }) => measured === one.measured)
      ? null
      : (reasonAgainst(one, bad) ?? `it adds less than ${MIN_GAIN} to the alignment of the chosen templates`),
  });
  const others = candidates.filter((one) => !chosen.includes(one));
  return [...chosen, ...others].map(shown);
}

function bestOf<T extends { failures: readonly boolean[] }>(
  eligible: readonly T[],
  caught: readonly boolean[],
  { bad, weights }: TrainingLabels,
): { candidate: T; caught: boolean[]; alignment: number } | null {
  let best: { candidate: T; caught: boolean[]; alignment: number } | null = null;
  for (const candidate of eligible) {
    const both = caught.map((isCaught, i) => isCaught || candidate.failures[i] === true);
    const { alignment } = alignmentOf(bad, both, weights);
    if (best === null || alignment > best.alignment) best = { candidate, caught: both, alignment };
  }
  return best;
}

/** Returns the best standard score of any template for each shuffle of the labels, in ascending order. */
function maximaByChance(all: readonly MeasuredTemplate[], labels: TrainingLabels, seed: number): Float64Array {
  const shuffle = labelShuffler(labels, seed);
  const failuresBy = all.map((one) => crossValidation(one, labels));
  const maxima = Float64Array.from({ length: SHUFFLES }, () => {
    const bad = shuffle();
    return Math.max(...failuresBy.map((failures) => alignmentOf(bad, failures(bad), labels.weights).z));
  });
  return maxima.sort();
}

/** The actual labels count as one of the shuffles, so the result is never 0. */
function chanceOf(z: number, maxima: Float64Array): number {
  const asGood = maxima.reduce((n, maximum) => n + (maximum >= z ? 1 : 0), 0);
  return (asGood + 1) / (maxima.length + 1);
}

function reasonAgainst(
  { alignment, cut, chance }: Pick<Candidate, "alignment" | "cut" | "chance">,
  bad: readonly boolean[],
): string | null {
  if (cut === null) return "no good trace has a value for its threshold";
  const { failed, falseFailureRate } = alignment;
  if (failed === 0) return "it passes every labeled trace";
  if (failed === bad.length) return "it fails every labeled trace";
  if (failed < MIN_SUPPORT) return `it fails only ${failed} of the labeled traces (minimum ${MIN_SUPPORT})`;
  if (falseFailureRate > MAX_FALSE_FAILURE_RATE)
    return `it fails ${Math.round(falseFailureRate * 100)}% of the good traces (maximum ${MAX_FALSE_FAILURE_RATE * 100}%)`;
  if (chance > MAX_CHANCE)
    return `on shuffled labels, some template does equally well in ${Math.round(chance * 100)}% of the cases`;
  return null;
}

/**
 * Returns a function that shuffles labels among questions with the same number of traces. The labels of a question's
 * repetitions stay together. Repetitions are dependent, so shuffling them individually would underestimate chance.
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

/** Returns the threshold fitted to all labels, or 0 for templates with a fixed bound. */
function cutOf({ template, values }: MeasuredTemplate, bad: readonly boolean[]): number | null {
  return template.bound === "cut"
    ? fitCut(
        sortTraces(values, () => true),
        bad,
      )
    : 0;
}

/**
 * Returns which traces a template fails as a function of the labels. The threshold for each fold is fitted to the other
 * folds.
 */
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
      const cut = fitCut(others, bad);
      if (cut === null) continue;
      for (const i of members) failures[i] = isMissed(conditionOf(template, cut), { value: values[i] ?? null });
    }
    return failures;
  };
}

/**
 * Quantiles of the good traces that are candidate thresholds. If several separate equally well, the threshold with the
 * fewest failed traces is used.
 */
const QUANTILES = [1, 0.95, 0.9, 0.8];

/** The index of a trace, with its value. */
interface ValuedTrace {
  readonly trace: number;
  readonly value: number;
}

/**
 * Returns the traces with a value, sorted by this value in ascending order. The same order is used for all labelings.
 */
function sortTraces(values: readonly (number | null)[], isUsed: (trace: number) => boolean): readonly ValuedTrace[] {
  return values
    .flatMap((value, trace) => (value !== null && isUsed(trace) ? [{ trace, value }] : []))
    .sort((a, b) => a.value - b.value);
}

/**
 * Returns the threshold that best separates bad from good traces (the largest value that passes), or null if no good
 * trace has a value. `sorted` comes from `sortTraces`.
 */
function fitCut(sorted: readonly ValuedTrace[], bad: readonly boolean[]): number | null {
  const goods = sorted.filter(({ trace }) => bad[trace] === false);
  const bads = sorted.length - goods.length;
  let best: { cut: number; gain: number } | null = null;
  for (const quantile of QUANTILES) {
    const nearestRank = goods[Math.ceil(goods.length * quantile) - 1];
    if (nearestRank === undefined) return null;
    const cut = roundUp(nearestRank.value);
    const above = sorted.slice(sorted.findLastIndex(({ value }) => value <= cut) + 1);
    const badAbove = above.filter(({ trace }) => bad[trace]).length;
    // Not a number without bad traces, so the first threshold is kept.
    const gain = badAbove / bads - (above.length - badAbove) / goods.length;
    if (best === null || gain > best.gain) best = { cut, gain };
  }
  return best?.cut ?? null;
}

/** Rounds up to two significant digits, because labels do not justify more precision. */
function roundUp(value: number): number {
  if (value <= 0) return value;
  const unit = 10 ** (Math.floor(Math.log10(value)) - 1);
  // The division can have a rounding error.
  return Number((Math.ceil(Number((value / unit).toPrecision(12))) * unit).toPrecision(2));
}

/** Compares failures with labels of the same traces, as weighted fractions. A fraction of zero traces is 0. */
export function alignmentOf(bad: readonly boolean[], fails: readonly boolean[], weights: readonly number[]): Alignment {
  const [goods, bads] = [new WeightSums(), new WeightSums()];
  let failed = 0;
  for (const [i, isBad] of bad.entries()) {
    const isFailed = fails[i] === true;
    (isBad ? bads : goods).add(weights[i] ?? 1, isFailed);
    if (isFailed) failed++;
  }
  const [trueNegativeRate, falseFailureRate] = [bads.failedShare, goods.failedShare];
  const alignment =
    trueNegativeRate === 0
      ? 0
      : (2 * trueNegativeRate * (1 - falseFailureRate)) / (trueNegativeRate + 1 - falseFailureRate);
  const [n, m] = [bads.effective, goods.effective];
  const pooled = (trueNegativeRate * n + falseFailureRate * m) / (n + m);
  // Without good or bad traces, this is infinite or not a number.
  const variance = pooled * (1 - pooled) * (1 / n + 1 / m);
  const z = variance > 0 ? (trueNegativeRate - falseFailureRate) / Math.sqrt(variance) : 0;
  return { trueNegativeRate, falseFailureRate, alignment, failed, z };
}

/** Sums over the traces with one label. */
class WeightSums {
  private all = 0;
  private squares = 0;
  private failed = 0;

  add(weight: number, isFailed: boolean): void {
    this.all += weight;
    this.squares += weight ** 2;
    if (isFailed) this.failed += weight;
  }

  get failedShare(): number {
    return this.all === 0 ? 0 : this.failed / this.all;
  }

  /** Number of equally weighted traces with the same information (Kish 1965). */
  get effective(): number {
    return this.squares === 0 ? 0 : this.all ** 2 / this.squares;
  }
}
