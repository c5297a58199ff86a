// Draws likely failures more often than other traces, each with a known probability.
import { createHash } from "node:crypto";
import { yieldBetween } from "../../platform/batches.js";
import { compact } from "../../platform/optional-values.js";
import { quantile } from "../../statistics/quantile.js";
import type { Db } from "../../store/open-store.js";
import { isFailure } from "../../tasks/ending.js";
import { readTraces } from "../../traces/traces-store.js";
import { BY_TEMPLATES, type DataEval, type EvaluatedTrace, isDataEval, isEvalScore } from "../definition.js";
import { isPass } from "../eval-outcome.js";
import { FEATURES, viewOf } from "../features.js";
import { labelByJudge, labelByScore } from "../import-labels.js";
import { runDataEvals } from "../run-evals/run-rules.js";
import { listEvals } from "../store.js";
import { TEMPLATES, templateEval } from "../templates.js";

/** A trace in the order of drawing. */
export interface DrawnTrace {
  readonly traceId: string;
  /** Number of traces that could be drawn. */
  readonly drawnFrom: number;
  /** Probability of this trace among them. */
  readonly probability: number;
}

/** Signals of failure in a trace without a person's label. */
interface Signals {
  readonly traceId: string;
  /** How bad the judge or the score calls the trace, 0 to 1. */
  readonly doubt: number;
  /** Whether an active eval fails it. */
  readonly failsActive: boolean;
  /** The templates that it fails. */
  readonly failed: readonly string[];
  /** Number of words of the answer, or null for a failed task. */
  readonly words: number | null;
  /** Turns, seconds, words and other amounts, by the template that bounds each. Null if the template does not apply. */
  readonly amounts: Readonly<Record<string, number | null>>;
}

/** Draws all traces one after another. While reading them, lets other work run. */
export async function drawEnriched(
  db: Db,
  ids: readonly string[],
  { score, seed }: { readonly score: string | null; readonly seed: string },
): Promise<DrawnTrace[]> {
  const active = listEvals(db).flatMap(({ status, definition }) =>
    status === "active" && isDataEval(definition) ? [definition] : [],
  );
  const signals: Signals[] = [];
  for await (const trace of yieldBetween(readTraces<EvaluatedTrace>(db, ids)))
    signals.push(signalsOf(trace, active, score));
  return drawInOrder(drawWeights(signals), seed);
}

/** The templates that do not need labels. */
const UNFITTED: readonly DataEval[] = TEMPLATES.filter(({ bound }) => bound !== "cut").map((template) => ({
  ...templateEval(template, 0, BY_TEMPLATES),
  version: 1,
}));

/** The templates whose threshold needs labels. */
const FITTED = TEMPLATES.filter(({ bound }) => bound === "cut");

function signalsOf(trace: EvaluatedTrace, active: readonly DataEval[], score: string | null): Signals {
  const { traceId } = trace;
  // The trace is known to be bad, so its label would not be informative.
  if (isFailure(trace.ending)) return { traceId, doubt: 0, failsActive: false, failed: [], words: null, amounts: {} };
  const outcomes = runDataEvals([...active, ...UNFITTED], trace);
  const view = viewOf(trace);
  const isFailed = (i: number) => outcomes[i]?.score != null && !isPass(outcomes[i].score);
  const stored = Object.entries(trace.kind === "chat" ? {} : trace.scores).some(
    ([name, { value }]) => isEvalScore(name) && value !== null && !isPass(value),
  );
  return {
    traceId,
    doubt: doubtOf(trace, score),
    failsActive: stored || active.some((_, i) => isFailed(i)),
    failed: UNFITTED.filter((_, i) => isFailed(active.length + i)).map(({ name }) => name),
    words: (trace.answer ?? "").split(/\s+/).length,
    amounts: Object.fromEntries(FITTED.map(({ name, feature }) => [name, FEATURES[feature]?.of(view).value ?? null])),
  };
}

const DOUBT = { good: 0, neutral: 0.5, bad: 1, skip: 0 } as const;

function doubtOf(trace: EvaluatedTrace, score: string | null): number {
  if (trace.kind === "chat") return 0;
  const derived = labelByJudge(trace) ?? (score === null ? null : labelByScore(trace, score));
  return derived === null ? 0 : DOUBT[derived.label];
}

/** Additional weight for traces that the judge or the score calls bad. */
const DOUBT_WEIGHT = 3;
/**
 * Additional weight for traces that fail an active eval, or a template that few traces fail. With four failure modes at
 * 8% each and 5% wrong notes, a pass of 150 traces turns 78% of the modes into evals with a weight of 12, and 85% with
 * 3. Higher weights find more bad traces, but then the few drawn traces without a sign of failure stand for so many
 * others that a single one of them decides whether an eval misses bad traces.
 */
const FAILURE_WEIGHT = 3;
/** A template that a larger fraction of the traces fails says less about each of them. */
const FEW = 0.05;
/** Fraction of the traces whose amounts count as unusually large, and of the answers that count as unusually short. */
const EXTREMES = 0.1;

/**
 * Returns the relative chance of each trace: 1 without any sign of a failure, at most 7. The less often the traces
 * fail a template, the more a failure counts.
 */
export function drawWeights(signals: readonly Signals[]): ReadonlyMap<string, number> {
  const limitOf = (amountOf: (one: Signals) => number | null | undefined, p: number) =>
    quantile(
      signals.flatMap((one) => amountOf(one) ?? []),
      p,
    ) ?? Number.NaN;
  const short = limitOf(({ words }) => words, EXTREMES);
  const large = FITTED.map(({ name }) => ({ name, limit: limitOf(({ amounts }) => amounts[name], 1 - EXTREMES) }));
  const failed = signals.map(({ failed: names, words, amounts }) => [
    ...names,
    ...compact([words !== null && words < short && "short"]),
    ...large.filter(({ name, limit }) => (amounts[name] ?? Number.NaN) > limit).map(({ name }) => name),
  ]);
  const counts = new Map<string, number>();
  for (const name of failed.flat()) counts.set(name, (counts.get(name) ?? 0) + 1);
  const rarities = new Map([...counts].map(([name, count]) => [name, rarityOf(count / signals.length)]));
  return new Map(
    signals.map(({ traceId, doubt, failsActive }, i) => {
      const rarity = Math.max(0, ...compact((failed[i] ?? []).map((name) => rarities.get(name))));
      return [traceId, 1 + DOUBT_WEIGHT * doubt + FAILURE_WEIGHT * Math.max(Number(failsActive), rarity)];
    }),
  );
}

/** Returns 1 if few traces fail a template, and 0 if all do. */
function rarityOf(fraction: number): number {
  return Math.min(1, (FEW / fraction) * ((1 - fraction) / (1 - FEW)));
}

/**
 * Draws all traces without replacement, each with the probability of its weight among the remaining ones: the order of
 * exponential variates divided by the weights (Efraimidis and Spirakis 2006).
 */
export function drawInOrder(weights: ReadonlyMap<string, number>, seed: string): DrawnTrace[] {
  const keyed = [...weights].map(([traceId, weight]) => ({
    traceId,
    weight,
    key: exponential(seed, traceId) / weight,
  }));
  keyed.sort((a, b) => b.key - a.key);
  let remaining = 0;
  const reversed = keyed.map(({ traceId, weight }, i): DrawnTrace => {
    remaining += weight;
    return { traceId, drawnFrom: i + 1, probability: weight / remaining };
  });
  return reversed.reverse();
}

/** Returns an exponential variate that depends on the seed and the trace only. */
function exponential(seed: string, traceId: string): number {
  const digest = createHash("sha256").update(`${seed} ${traceId}`).digest();
  return -Math.log((digest.readUIntBE(0, 6) + 0.5) / 2 ** 48);
}
