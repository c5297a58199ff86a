// Sets of enriched labels with known answers, on which a judge is tested.
import { drawInOrder } from "../../src/evals/labeling/enriched-draw.js";
import { measureAgreement } from "../../src/evals/test-eval/agreement.js";
import { rejectionsOf } from "../../src/evals/test-eval/thresholds.js";
import { samplingWeight } from "../../src/statistics/sampling-weight.js";
import { worlds } from "../statistics/simulated-runs.js";

const TRACES = 1_000;

export interface World {
  readonly labels: number;
  /** Fraction of bad traces. */
  readonly bad: number;
  readonly truePositive: number;
  readonly trueNegative: number;
  /** Additional chance of a trace that the judge calls wrong, and of one that another signal finds. */
  readonly doubt: number;
  readonly signal: number;
  /** Repetitions of each question. The judge's results for them are independent, or all right or all wrong. */
  readonly repeats?: { readonly n: number; readonly alike: boolean };
}

/** Draws labels like `evals label --enriched`, and tests the judge that decided the draws on the held-out half of them. */
function judgeTest(world: World, seed: number) {
  const { chance } = worlds(seed);
  const { n: repeats, alike } = world.repeats ?? { n: 1, alike: false };
  const judge = () => ({ good: chance(world.truePositive) === 1, bad: chance(1 - world.trueNegative) === 1 });
  const byQuestion = Array.from({ length: Math.ceil(TRACES / repeats) }, judge);
  const questionOf = (i: number) => Math.floor(i / repeats);
  const traces = new Map(
    Array.from({ length: TRACES }, (_, i) => {
      const bad = chance(world.bad) === 1;
      const passed = (alike ? (byQuestion[questionOf(i)] ?? judge()) : judge())[bad ? "bad" : "good"];
      const signal = chance(bad ? 0.4 : 0.05) * world.signal;
      return [String(i), { bad, passed, weight: 1 + (passed ? 0 : world.doubt) + signal }] as const;
    }),
  );
  const weights = new Map([...traces].map(([id, { weight }]) => [id, weight]));
  const drawn = drawInOrder(weights, String(seed)).slice(0, world.labels);
  const tested = drawn.flatMap((one) => {
    const trace = traces.get(one.traceId);
    if (trace === undefined || chance(0.5) === 1) return [];
    const weight = samplingWeight(one, TRACES - world.labels);
    const { bad, passed } = trace;
    const question = String(questionOf(Number(one.traceId)));
    return [{ question, bad, source: "person" as const, weight, score: Number(passed), error: null }];
  });
  return measureAgreement(tested);
}

/** Counts the label sets with at least seven labels of each kind, and what held in them. */
export function simulateLabelSets(world: World, sets: number) {
  const sums = { n: 0, accepted: 0, truePositive: 0, trueNegative: 0 };
  for (let seed = 1; seed <= sets; seed++) {
    const agreement = judgeTest(world, seed);
    if (Math.min(agreement.good, agreement.bad) < 7) continue;
    const { truePositiveRate: positive, trueNegativeRate: negative } = agreement;
    const holds = ({ low, high }: typeof positive, truth: number) =>
      Number((low ?? 0) <= truth && truth <= (high ?? 1));
    sums.n++;
    sums.truePositive += holds(positive, world.truePositive);
    sums.trueNegative += holds(negative, world.trueNegative);
    sums.accepted += Number(rejectionsOf("usable", { agreement, kind: "judge", readsByThisEval: 1 }).length === 0);
  }
  return sums;
}
