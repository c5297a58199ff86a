import { type ReliabilityTask, reliabilityCard } from "../src/analysis/reliability.js";
import { seededRandom } from "../src/statistics/seeded-random.js";
import { table } from "../src/text/format.js";

/**
 * Measures how often the intervals of the reliability card contain the true value. Each simulated run has its own
 * questions, because the intervals are about other questions of the same kind.
 */

interface World {
  readonly name: string;
  readonly questions: number;
  readonly epochs: number;
  /** Fraction of right epochs of a question, drawn with a number from 0 to 1. */
  readonly probability: (uniform: number) => number;
  /** Fraction of the right answers that stay right with the perturbation. */
  readonly kept: number;
}

const mixed = (uniform: number) => [0.1, 0.5, 0.9, 1][Math.floor(4 * uniform)] ?? 1;

const WORLDS: readonly World[] = [
  { name: "uneven questions", questions: 100, epochs: 3, probability: mixed, kept: 0.8 },
  { name: "uneven questions", questions: 20, epochs: 5, probability: mixed, kept: 0.8 },
  { name: "nearly always right", questions: 73, epochs: 3, probability: () => 0.98, kept: 0.98 },
  { name: "always right", questions: 20, epochs: 3, probability: () => 1, kept: 1 },
  { name: "rarely right", questions: 73, epochs: 3, probability: (uniform) => 0.4 * uniform, kept: 0.5 },
];

/** Prints the coverage of each interval, in percent of the simulated runs. */
export function printReliabilityBench(runs: number, asJson: boolean): void {
  const lines = WORLDS.map((world, seed) => ({ ...world, coverage: coverageIn(world, runs, seed + 1) }));
  if (asJson) {
    console.log(JSON.stringify({ runs, lines }, null, 2));
    return;
  }
  const percent = (share: number) => `${(100 * share).toFixed(1)}%`;
  console.log(
    table(
      ["questions", "n", "epochs", "outcome", "agreement", "pass^k", "robustness"],
      lines.map(({ name, questions, epochs, coverage }) => {
        const { outcome, agreement, allRight, robustness } = coverage;
        const figures = [outcome, agreement, allRight, robustness].map(percent);
        return [name, String(questions), String(epochs), ...figures];
      }),
    ),
  );
}

function coverageIn(world: World, runs: number, seed: number) {
  const { questions, epochs, probability, kept } = world;
  const truth = truthOf(world);
  const random = seededRandom(seed);
  const uniform = () => random(2 ** 30) / 2 ** 30;
  const covered = { outcome: 0, agreement: 0, allRight: 0, robustness: 0 };
  for (let run = 0; run < runs; run++) {
    const tasks: ReliabilityTask[] = [];
    const perturbed: ReliabilityTask[] = [];
    for (let taskId = 1; taskId <= questions; taskId++) {
      const p = probability(uniform());
      for (let epoch = 0; epoch < epochs; epoch++) tasks.push(answer(taskId, uniform() < p));
      perturbed.push(answer(taskId, uniform() < p * kept));
    }
    const { rows } = reliabilityCard(tasks, [{ perturbation: "shuffled", runId: "r", tasks: perturbed }], {
      scorer: "judgeCorrect",
      isRate: true,
    });
    const covers = (name: string, value: number) => {
      const { low, high } = rows.find((row) => row.name === name)?.estimate ?? {};
      return low != null && high != null && low - 1e-12 <= value && value <= high + 1e-12 ? 1 / runs : 0;
    };
    covered.outcome += covers("outcome", truth.outcome);
    covered.agreement += covers("agreement", truth.agreement);
    covered.allRight += covers(`all ${epochs} right`, truth.allRight);
    covered.robustness += covers("shuffled", kept);
  }
  return covered;
}

/** The expected value of each property over all questions, by integration over their probabilities. */
function truthOf({ probability, epochs }: World) {
  const STEPS = 100_000;
  let [disagreement, allRight] = [0, 0];
  for (let i = 0; i < STEPS; i++) {
    const p = probability((i + 0.5) / STEPS);
    disagreement += (2 * p * (1 - p)) / STEPS;
    allRight += p ** epochs / STEPS;
  }
  // The mean variance within a few epochs is (epochs - 1) / epochs of the true one.
  const outcome = 1 - 2 * disagreement * ((epochs - 1) / epochs);
  return { outcome, agreement: 1 - disagreement, allRight };
}

function answer(taskId: number, isRight: boolean): ReliabilityTask {
  return {
    taskId,
    score: Number(isRight),
    isAnswered: true,
    hasAbstained: false,
    tools: ["email_search"],
    tokens: 100,
    turns: 2,
    attack: null,
  };
}
