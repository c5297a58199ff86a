import { ClaimTest, pairedGains } from "../src/analysis/sequential-comparison.js";
import { confidenceSequence, EProcess } from "../src/statistics/confidence-sequence.js";
import { seededRandom } from "../src/statistics/seeded-random.js";
import { table } from "../src/text/format.js";

/** A one-sided test after each gain, with an error of 5% over all looks. */
export interface LookingTest {
  add(gain: number): void;
  isBetter(): boolean;
}

const LEVEL = 0.05;

/** The tests to choose from. All but `asymptotic` are valid for any number of looks. */
export const CANDIDATES: Readonly<Record<string, () => LookingTest>> = {
  "betting, mixture of 3 (art-e)": () => bettingMixture(),
  "betting, mixture of 4": () => bettingMixture([0.1, 0.2, 0.4, 0.8]),
  "betting, uniform mixture": () => bettingMixture(Array.from({ length: 20 }, (_, i) => (i + 0.5) / 20)),
  "betting, predictable plug-in": predictableBets,
  "empirical Bernstein": empiricalBernstein,
  "normal mixture, asymptotic": asymptoticMixture,
};

function bettingMixture(bets?: readonly number[]): LookingTest {
  const process = new EProcess(0, bets);
  return { add: (gain) => process.add(gain), isBetter: () => process.eValue() >= 1 / LEVEL };
}

/** Waudby-Smith and Ramdas (2024), equation 26: each bet follows from the variance so far. */
function predictableBets(): LookingTest {
  const past = runningVariance();
  let log = 0;
  return {
    add(gain) {
      const bet = Math.min(1.5, past.bet());
      log += Math.log(1 + bet * (gain / 2));
      past.add((gain + 1) / 2);
    },
    isBetter: () => log >= Math.log(1 / LEVEL),
  };
}

/** Waudby-Smith and Ramdas (2024), theorem 2: the predictable plug-in empirical Bernstein confidence sequence. */
function empiricalBernstein(): LookingTest {
  const past = runningVariance();
  let [bets, weighted, penalty] = [0, 0, 0];
  return {
    add(gain) {
      const x = (gain + 1) / 2;
      const bet = Math.min(0.5, past.bet());
      bets += bet;
      weighted += bet * x;
      penalty += (x - past.mean()) ** 2 * (-Math.log(1 - bet) - bet);
      past.add(x);
    },
    isBetter: () => (weighted - Math.log(1 / LEVEL) - penalty) / bets > 0.5,
  };
}

/** Waudby-Smith et al. (2024), "Time-uniform central limit theory and asymptotic confidence sequences", one-sided. */
function asymptoticMixture(): LookingTest {
  const PLANNED = 200;
  const scale = (-2 * Math.log(2 * LEVEL) + Math.log(-2 * Math.log(2 * LEVEL) + 1)) / PLANNED;
  let [n, sum, squares] = [0, 0, 0];
  return {
    add(gain) {
      n++;
      sum += gain;
      squares += gain * gain;
    },
    isBetter() {
      const variance = squares / n - (sum / n) ** 2;
      if (n < 20 || variance <= 0) return false;
      const spread = n * scale + 1;
      const half = Math.sqrt(((2 * spread) / (n * n * scale)) * Math.log(Math.sqrt(spread) / (2 * LEVEL)));
      return sum / n > Math.sqrt(variance) * half;
    },
  };
}

/** Running mean and variance of values in [0, 1], regularized with one value of 1/2. */
function runningVariance() {
  let [n, sum, squares] = [0, 0.5, 0.25];
  const mean = () => sum / (n + 1);
  return {
    mean,
    bet() {
      const t = n + 1;
      return Math.sqrt((2 * Math.log(1 / LEVEL)) / ((squares / t) * t * Math.log(1 + t)));
    },
    add(x: number) {
      n++;
      sum += x;
      squares += (x - mean()) ** 2;
    },
  };
}

/** Typical for questions about mailboxes. */
export interface Setting {
  readonly accuracy: number;
  readonly correlation: number;
  readonly effect: number;
}

export const TYPICAL: Setting = { accuracy: 0.8, correlation: 0.5, effect: 0.05 };

/** Returns the number of pairs with which the 5% z test for a fixed number detects the effect with this power. */
export function fixedNumber({ accuracy, correlation, effect }: Setting, power: 0.8 | 0.9, sides: 1 | 2 = 2): number {
  const other = accuracy + effect;
  const [a, b] = [accuracy * (1 - accuracy), other * (1 - other)];
  const variance = a + b - 2 * correlation * Math.sqrt(a * b);
  const z = (sides === 2 ? 1.959964 : 1.644854) + (power === 0.8 ? 0.841621 : 1.281552);
  return Math.ceil((z ** 2 * variance) / effect ** 2);
}

export interface Simulated {
  /** Fraction of the runs that are called better before all pairs are seen. */
  readonly better: number;
  /** Mean fraction of the pairs that are needed. */
  readonly used: number;
}

/** Simulates runs of up to `pairs` pairs with a look after each one. */
export function simulateStops(
  open: () => LookingTest,
  setting: Setting,
  { pairs, runs, seed }: { readonly pairs: number; readonly runs: number; readonly seed: number },
): Simulated {
  const draw = pairedGains(setting.accuracy, setting.effect, setting.correlation, seededRandom(seed));
  let [better, used] = [0, 0];
  for (let run = 0; run < runs; run++) {
    const test = open();
    let n = 0;
    let isBetter = false;
    while (n < pairs && !isBetter) {
      test.add(draw());
      n++;
      isBetter = test.isBetter();
    }
    if (isBetter) better++;
    used += n;
  }
  return { better: better / runs, used: used / runs / pairs };
}

/** The claim of `art-e run --until "better than RUN"` as a test. */
export function claimTest(): LookingTest {
  const test = new ClaimTest({ relation: "better", by: 0, notBy: 0 });
  return { add: (gain) => test.add(gain), isBetter: () => test.decided?.verdict === "established" };
}

/**
 * Returns the fraction of runs in which the interval contains the true effect at all of its looks: after each of the
 * first 50 pairs, then after every tenth.
 */
export function simultaneousCoverage(
  setting: Setting,
  { pairs, runs, seed }: { readonly pairs: number; readonly runs: number; readonly seed: number },
): number {
  const draw = pairedGains(setting.accuracy, setting.effect, setting.correlation, seededRandom(seed));
  let covered = 0;
  for (let run = 0; run < runs; run++) {
    const gains: number[] = [];
    let isCovered = true;
    for (let n = 1; n <= pairs && isCovered; n++) {
      gains.push(draw());
      if (n > 50 && n % 10 !== 0) continue;
      const { low, high } = confidenceSequence(gains);
      isCovered = (low ?? -1) <= setting.effect && setting.effect <= (high ?? 1);
    }
    if (isCovered) covered++;
  }
  return covered / runs;
}

interface SequentialBench {
  readonly runs: number;
  readonly pairs: { readonly power80: number; readonly power90: number; readonly oneSided90: number };
  readonly candidates: readonly {
    readonly name: string;
    readonly falseBetter: number;
    readonly power80: Simulated;
    readonly power90: Simulated;
    readonly oneSided90: Simulated;
  }[];
  readonly coverage: { readonly null: number; readonly effect: number };
}

/** Number of pairs in the simulations without an effect. More looks give more chances to be wrong. */
const NULL_PAIRS = 1_000;

function benchSequential(runs: number): SequentialBench {
  const none = { ...TYPICAL, effect: 0 };
  const pairs = {
    power80: fixedNumber(TYPICAL, 0.8),
    power90: fixedNumber(TYPICAL, 0.9),
    oneSided90: fixedNumber(TYPICAL, 0.9, 1),
  };
  return {
    runs,
    pairs,
    candidates: Object.entries(CANDIDATES).map(([name, open]) => ({
      name,
      falseBetter: simulateStops(open, none, { pairs: NULL_PAIRS, runs, seed: 1 }).better,
      power80: simulateStops(open, TYPICAL, { pairs: pairs.power80, runs, seed: 2 }),
      power90: simulateStops(open, TYPICAL, { pairs: pairs.power90, runs, seed: 3 }),
      oneSided90: simulateStops(open, TYPICAL, { pairs: pairs.oneSided90, runs, seed: 6 }),
    })),
    coverage: {
      null: simultaneousCoverage(none, { pairs: NULL_PAIRS, runs, seed: 4 }),
      effect: simultaneousCoverage(TYPICAL, { pairs: NULL_PAIRS, runs, seed: 5 }),
    },
  };
}

export function printSequentialBench(runs: number, isJson: boolean): void {
  const bench = benchSequential(runs);
  if (isJson) {
    console.log(JSON.stringify(bench, null, 2));
    return;
  }
  const { accuracy, correlation, effect } = TYPICAL;
  const percent = (fraction: number) => `${(100 * fraction).toFixed(1)}%`;
  console.log(
    [
      `${runs} simulated runs with a look after each pair: accuracy ${accuracy}, correlation ${correlation}, gain ${effect}.`,
      `The two-sided test for a fixed number needs ${bench.pairs.power80} pairs for 80% power, ${bench.pairs.power90} for 90%.`,
      `The one-sided test needs ${bench.pairs.oneSided90} pairs for 90%.`,
      "",
      table(
        ["test", "false better", "tasks of 80%", "power", "tasks of 90%", "power", "tasks of one-sided 90%", "power"],
        bench.candidates.map(({ name, falseBetter, power80, power90, oneSided90 }) => [
          name,
          percent(falseBetter),
          ...[power80, power90, oneSided90].flatMap(({ used, better }) => [percent(used), percent(better)]),
        ]),
      ),
      "",
      `Simultaneous coverage of the 95% interval: ${percent(bench.coverage.null)} without a gain, ${percent(bench.coverage.effect)} with it.`,
    ].join("\n"),
  );
}
