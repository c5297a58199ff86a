import { describe, expect, it } from "vitest";
import { type ReliabilityTask, reliabilityCard } from "../../src/analysis/reliability.js";
import { definitionsOf } from "../../src/reports/reliability-text.js";

const task = (changes: Partial<ReliabilityTask> = {}): ReliabilityTask => ({
  taskId: 1,
  score: 1,
  isAnswered: true,
  hasAbstained: false,
  turns: 3,
  tools: ["email_search", "email_get"],
  tokens: 100,
  attack: null,
  ...changes,
});

const RATE = { scorer: "judgeCorrect", isRate: true };

function rowsOf(...args: Parameters<typeof reliabilityCard>) {
  return Object.fromEntries(reliabilityCard(...args).rows.map(({ name, estimate }) => [name, estimate]));
}

describe("reliabilityCard", () => {
  it("returns 1 for equal epochs", () => {
    const rows = rowsOf([task(), task(), task({ taskId: 2, score: 0 }), task({ taskId: 2, score: 0 })], [], RATE);
    for (const name of ["overall", "outcome", "agreement", "tools", "tool order", "resources"])
      expect(rows[name]).toMatchObject({ value: 1, n: 2 });
    expect(rows["all 2 right"]).toMatchObject({ value: 0.5, n: 2 });
  });

  it("reports resistance by kind, and false alarms, over the tasks in which the agent saw an email", () => {
    const seen = (taskId: number, kind: "order" | "flood", isControl: boolean, resisted: number) =>
      task({ taskId, attack: { kind, isControl, resisted } });
    const attacked = [
      seen(1, "order", false, 1),
      seen(2, "order", false, 0),
      seen(3, "flood", false, 1),
      task({ taskId: 4 }),
    ];
    const perturbed = [
      { perturbation: "hostile" as const, runId: "a", tasks: attacked },
      {
        perturbation: "hostile-control" as const,
        runId: "b",
        tasks: [seen(1, "order", true, 1), seen(2, "flood", true, 0)],
      },
    ];
    const plain = [1, 2, 3, 4].map((taskId) => task({ taskId }));
    const rows = rowsOf(plain, perturbed, RATE);
    expect(rows.resisted).toMatchObject({ value: 2 / 3, n: 3 });
    expect(rows["resisted order"]).toMatchObject({ value: 0.5, n: 2 });
    expect(rows["resisted flood"]).toMatchObject({ value: 1, n: 1 });
    expect(rows["no false alarm"]).toMatchObject({ value: 0.5, n: 2 });
    // Both kinds share a definition.
    const defined = definitionsOf(reliabilityCard(plain, perturbed, RATE)).map(({ term }) => term);
    expect(defined.filter((term) => term.includes("resisted"))).toEqual(["resisted", "resisted KIND"]);
    expect(new Set(defined).size).toBe(defined.length);
  });

  it("computes each property by its definition", () => {
    const tasks = [
      // Two of three epochs are right: of three pairs, one agrees.
      task({ score: 1, tools: ["a", "b"], tokens: 100 }),
      task({ score: 1, tools: ["b", "a"], tokens: 200 }),
      task({ score: 0, tools: ["a"], tokens: 300 }),
    ];
    const rows = rowsOf(tasks, [], RATE);
    expect(rows.agreement?.value).toBeCloseTo(1 / 3);
    // (2 * 2/3 - 1)^2
    expect(rows.outcome?.value).toBeCloseTo(1 / 9);
    expect(rows["all 3 right"]?.value).toBe(0);
    // {a, b} against {a}: p = (1/2, 1/2), q = (1, 0), middle (3/4, 1/4).
    const divergence = 0.5 * (0.5 * Math.log2(0.5 / 0.75) + 0.5 * Math.log2(0.5 / 0.25)) + 0.5 * Math.log2(1 / 0.75);
    expect(rows.tools?.value).toBeCloseTo((1 + 2 * (1 - divergence)) / 3);
    // ab to ba takes two edits, ab to a and ba to a one each; the longer sequence has two tools.
    expect(rows["tool order"]?.value).toBeCloseTo((0 + 0.5 + 0.5) / 3);
    // Tokens: mean 200, sample standard deviation 100. Tool calls 2, 2, 1: mean 5/3, sample variance 1/3. Turns are
    // equal.
    const variations = [100 / 200, Math.sqrt(1 / 3) / (5 / 3), 0];
    const resources = Math.exp(-variations.reduce((sum, variation) => sum + variation, 0) / 3);
    expect(rows.resources?.value).toBeCloseTo(resources);
    const trajectory = ((1 + 2 * (1 - divergence)) / 3 + 1 / 3) / 2;
    expect(rows.overall?.value).toBeCloseTo((1 / 9 + trajectory + resources) / 3);
  });

  it("divides perturbed by plain scores over the common questions, at most 1", () => {
    const plain = [1, 2, 3, 4].map((taskId) => task({ taskId, score: taskId <= 2 ? 1 : 0 }));
    const of = (scores: readonly number[]) => [
      {
        perturbation: "shuffled" as const,
        runId: "r",
        tasks: [...scores.map((score, i) => task({ taskId: i + 1, score })), task({ taskId: 99, score: 1 })],
      },
    ];
    expect(rowsOf(plain, of([1, 0, 0, 0]), RATE).shuffled).toMatchObject({ value: 0.5, n: 4 });
    expect(rowsOf(plain, of([1, 1, 1, 1]), RATE).shuffled?.value).toBe(1);
    // Only questions of both runs count: the one that became wrong is not among them.
    expect(rowsOf(plain, of([1]), RATE).shuffled).toMatchObject({ value: 1, n: 1, low: null });
  });

  it("returns intervals that contain the true value in about 95% of simulated runs", () => {
    let state = 7;
    const random = () => {
      state = (state * 1_103_515_245 + 12_345) % 2_147_483_648;
      return state / 2_147_483_648;
    };
    // Each question has its own probability of a right answer: two epochs agree with p² + (1 - p)².
    const probabilities = Array.from({ length: 60 }, (_, i) => [0.1, 0.5, 0.9, 1][i % 4] ?? 0);
    const agree = probabilities.reduce((sum, p) => sum + p ** 2 + (1 - p) ** 2, 0) / probabilities.length;
    const kept = 0.8;
    let [outcome, shuffled] = [0, 0];
    const draws = 300;
    for (let i = 0; i < draws; i++) {
      const answer = (taskId: number, p: number) => task({ taskId, score: Number(random() < p) });
      const plain = probabilities.flatMap((p, id) => [answer(id, p), answer(id, p), answer(id, p)]);
      const tasks = probabilities.map((p, id) => answer(id, p * kept));
      const rows = rowsOf(plain, [{ perturbation: "shuffled", runId: "r", tasks }], RATE);
      const covers = (name: string, value: number) => {
        const { low, high } = rows[name] ?? {};
        return low != null && high != null && low <= value && value <= high;
      };
      outcome += Number(covers("agreement", agree));
      shuffled += Number(covers("shuffled", kept));
    }
    expect(outcome / draws).toBeGreaterThan(0.92);
    expect(shuffled / draws).toBeGreaterThan(0.9);
  });

  it("lists the properties that it cannot compute, with the reason", () => {
    const { rows, missing } = reliabilityCard([task({ score: 0, isAnswered: false }), task({ taskId: 2 })], [], RATE);
    expect(rows.map(({ name, estimate }) => [name, estimate.value])).toEqual([
      ["coverage", 0.5],
      ["when answered", 1],
      ["warned", 0],
    ]);
    expect(missing.join("\n")).toMatch(/several epochs[\s\S]*perturbed repeat[\s\S]*confidence/);
    const never = [task({ score: 0 })];
    const perturbed = [{ perturbation: "latency" as const, runId: "r", tasks: never }];
    expect(reliabilityCard(never, perturbed, RATE).missing.join("\n")).toMatch(/judgeCorrect is 0 without/);
    const untraced = [task({ tools: null }), task({ tools: null })];
    expect(reliabilityCard(untraced, [], RATE).missing[0]).toMatch(/needs traces/);
  });
});
