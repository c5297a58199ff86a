import { describe, expect, it } from "vitest";
import { drawInOrder } from "../../src/evals/labeling/enriched-draw.js";
import { measureAgreement } from "../../src/evals/test-eval/agreement.js";
import { rejectionsOf } from "../../src/evals/test-eval/thresholds.js";
import { samplingWeight } from "../../src/statistics/sampling-weight.js";
import { slow } from "../machine-requirements.js";
import { expectBetween, TIMES, worlds } from "../statistics/simulated-runs.js";

const TRACES = 1_000;

interface World {
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

/** Fractions of the label sets with at least seven labels of each kind. */
function simulate(world: World, sets: number) {
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

describe("the test of a judge on enriched labels", () => {
  const sets = 60 * TIMES;
  const JUDGES = [
    { bad: 0.1, truePositive: 0.97, trueNegative: 0.51 },
    { bad: 0.2, truePositive: 0.93, trueNegative: 0.51 },
    { bad: 0.2, truePositive: 0.95, trueNegative: 0.85 },
  ];
  const DRAWS = [
    { labels: 200, doubt: 5, signal: 0 },
    { labels: 200, doubt: 17, signal: 12 },
  ];
  /** Every judge once, and with the other draws in the slow tests. */
  const cells = (first: number) => JUDGES.map((judge, i) => ({ ...judge, ...(DRAWS[(first + i) % 2] as Draw) }));
  type Draw = (typeof DRAWS)[number];

  const separates = (world: World) => {
    const { n, accepted, truePositive, trueNegative } = simulate(world, sets);
    const what = JSON.stringify(world);
    expect(n).toBeGreaterThan(sets / 2);
    expectBetween(0.88, 1, `coverage of the true positive rate, ${what}`, truePositive / n);
    expectBetween(0.88, 1, `coverage of the true negative rate, ${what}`, trueNegative / n);
    if (world.trueNegative < 0.7) expectBetween(0, 0.05, `accepted, ${what}`, accepted / n);
  };
  const NAME =
    "has intervals that contain the true rates, and rejects a bad judge: $trueNegative of $bad bad, doubt $doubt";
  it.each(cells(1))(NAME, { timeout: 600_000 }, separates);
  it.each(cells(0))(NAME, { timeout: 600_000, ...slow() }, separates);

  const GOOD_JUDGE = { bad: 0.3, truePositive: 0.96, trueNegative: 0.95, labels: 300, doubt: 5, signal: 0 };

  it("accepts a good judge if there are enough labels", () => {
    const { n, accepted } = simulate(GOOD_JUDGE, sets);
    expectBetween(0.8, 1, "accepted good judge", accepted / n);
  }, 600_000);

  it("accepts a good judge if questions are repeated, but its results for them are independent", () => {
    const { n, accepted } = simulate({ ...GOOD_JUDGE, repeats: { n: 40, alike: false } }, sets);
    expectBetween(0.8, 1, "accepted good judge", accepted / n);
  }, 600_000);

  it("rejects a bad judge that is right or wrong about all repetitions of a question", () => {
    const judge = { bad: 0.2, truePositive: 0.95, trueNegative: 0.51, labels: 300, doubt: 5, signal: 0 };
    const { n, accepted } = simulate({ ...judge, repeats: { n: 5, alike: true } }, sets);
    expectBetween(0, 0.05, "accepted bad judge", accepted / n);
  }, 600_000);
});
