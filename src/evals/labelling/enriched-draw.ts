// Draws likely failures more often than other traces, each with a known probability.
import { createHash } from "node:crypto";
import { yieldBetween } from "../../platform/batches.js";
import type { Db } from "../../store/open-store.js";
import { isFailure } from "../../tasks/ending.js";
import { readTraces } from "../../traces/traces-store.js";
import { type DataEval, type EvaluatedTrace, isDataEval, isEvalScore } from "../definition.js";
import { isPass } from "../eval-outcome.js";
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

/** What is known about a trace without a person's label. */
interface Signals {
  readonly traceId: string;
  /** How bad the judge or the score calls the trace, 0 to 1. */
  readonly doubt: number;
  /** Whether an eval in use fails it. */
  readonly failsInUse: boolean;
  /** The templates that it fails. */
  readonly failed: readonly string[];
  /** Number of words of the answer. */
  readonly words: number;
}

/** Draws all traces one after another. While reading them, lets other work run. */
export async function drawEnriched(
  db: Db,
  ids: readonly string[],
  { score, seed }: { readonly score: string | null; readonly seed: string },
): Promise<DrawnTrace[]> {
  const inUse = listEvals(db).flatMap(({ status, definition }) => (status === "active" ? [definition] : []));
  const definitions = inUse.filter(isDataEval);
  const signals: Signals[] = [];
  for await (const trace of yieldBetween(readTraces<EvaluatedTrace>(db, ids)))
    signals.push(signalsOf(trace, definitions, score));
  return drawInOrder(drawWeights(signals), seed);
}

const NO_ORIGIN = { by: "templates", seed: null, labels: null, parent: null } as const;

/** The templates that do not need labels. */
const UNFITTED: readonly DataEval[] = TEMPLATES.filter(({ bound }) => bound !== "cut").map((template) => ({
  ...templateEval(template, 0, NO_ORIGIN),
  version: 1,
}));

function signalsOf(trace: EvaluatedTrace, inUse: readonly DataEval[], score: string | null): Signals {
  const { traceId } = trace;
  // It is known to be bad, so that its label would tell nothing.
  if (isFailure(trace.ending)) return { traceId, doubt: 0, failsInUse: false, failed: [], words: 0 };
  const outcomes = runDataEvals([...inUse, ...UNFITTED], trace);
  const isFailed = (i: number) => outcomes[i]?.score != null && !isPass(outcomes[i].score);
  const stored = Object.entries(trace.kind === "chat" ? {} : trace.scores).some(
    ([name, { value }]) => isEvalScore(name) && value !== null && !isPass(value),
  );
  return {
    traceId,
    doubt: doubtOf(trace, score),
    failsInUse: stored || inUse.some((_, i) => isFailed(i)),
    failed: UNFITTED.filter((_, i) => isFailed(inUse.length + i)).map(({ name }) => name),
    words: (trace.answer ?? "").split(/\s+/).length,
  };
}

const DOUBT = { good: 0, neutral: 0.5, bad: 1, skip: 0 } as const;

function doubtOf(trace: EvaluatedTrace, score: string | null): number {
  if (trace.kind === "chat") return 0;
  const derived = labelByJudge(trace) ?? (score === null ? null : labelByScore(trace, score));
  return derived === null ? 0 : DOUBT[derived.label];
}

/**
 * Additional weight for the judge or the score, for the evals in use, and for rare failures of templates. With 120 labels
 * of 360 traces, 10% bad, and a score that finds 70% of them, a half had 10 bad traces in 58% of samples with a weight of
 * 3, in 73% with 5 and in 84% with 12. With higher weights, the bad traces that no signal finds count too much: the
 * interval of a run's rate is 4% wider with 5 and 9% with 12.
 */
const WEIGHT = 5;
/** Fraction of the answers that count as unusually short, and as unusually long. */
const EXTREME_LENGTHS = 0.1;

/**
 * Returns the relative chance of each trace: 1 without any sign of a failure, at most 16. The less often the traces fail
 * a template, the more a failure counts.
 */
export function drawWeights(signals: readonly Signals[]): ReadonlyMap<string, number> {
  const lengths = signals.map(({ words }) => words).sort((a, b) => a - b);
  const tail = Math.floor(signals.length * EXTREME_LENGTHS);
  const [short = 0, long = 0] = [lengths[tail], lengths.at(-1 - tail)];
  const failed = signals.map(({ failed: names, words }) => [
    ...names,
    ...(words < short ? ["short"] : []),
    ...(words > long ? ["long"] : []),
  ]);
  const counts = new Map<string, number>();
  for (const name of failed.flat()) counts.set(name, (counts.get(name) ?? 0) + 1);
  const surprises = failed.map((names) =>
    names.reduce((sum, name) => sum + Math.log(signals.length / (counts.get(name) ?? 1)), 0),
  );
  // Number of less surprising traces, by surprise.
  const ranks = new Map<number, number>();
  for (const [i, surprise] of surprises.toSorted((a, b) => a - b).entries())
    if (!ranks.has(surprise)) ranks.set(surprise, i);
  return new Map(
    signals.map(({ traceId, doubt, failsInUse }, i) => {
      const rank = (ranks.get(surprises[i] ?? 0) ?? 0) / signals.length;
      return [traceId, 1 + WEIGHT * (doubt + Number(failsInUse) + rank ** 2)];
    }),
  );
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
