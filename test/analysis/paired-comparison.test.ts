import { describe, expect, it } from "vitest";
import {
  type ComparableRun,
  comparableRun,
  comparePairs,
  compareRuns,
  incomparable,
  pairOutcomes,
  pairsOf,
  sharedScores,
} from "../../src/analysis/paired-comparison.js";
import { comparisonText } from "../../src/reports/comparison-text.js";
import type { TaskResult } from "../../src/traces/task-result.js";
import { expectBetween, LONG, TIMES, worlds } from "../statistics/simulated-runs.js";
import { figures, head, run, task } from "./runs.js";
import { suiteResult } from "./suite-results.js";

const compare = (a: ComparableRun, b: ComparableRun, flips = 10) => compareRuns(a, b, ["exactMatch"], flips);

const times = (n: number, value: number) => Array.from({ length: n }, () => value);

describe("compareRuns", () => {
  const before = run([...times(20, 1), ...times(10, 0), ...times(70, 1)]);
  const after = run([...times(5, 0), ...times(15, 1), ...times(10, 1), ...times(70, 1)], { runId: "run_b" });

  it("compares two runs question by question", () => {
    const { metrics, questions } = compare(before, after);
    expect(questions).toEqual({ common: 100, onlyBaseline: 0, onlyCandidate: 0 });
    expect(metrics[0]).toMatchObject({
      metric: "exactMatch",
      label: "Exact match",
      baseline: 0.9,
      candidate: 0.95,
      difference: { value: 0.05, n: 100, method: "paired_wilson" },
      test: "mcnemar",
      wins: 10,
      losses: 5,
      ties: 85,
      verdict: null,
    });
    // binomtest(5, 15).pvalue of SciPy 1.17.1.
    expect(metrics[0]?.p).toBeCloseTo(0.3017578125, 10);
    // ((1.95996 + 0.84162) * std(d, ddof=1) / 0.05)**2 is 467.8: 368 more.
    expect(metrics[0]?.moreQuestions).toBe(368);
  });

  it("reports a difference, in either direction, if both the interval and the test show it", () => {
    const better = run([...times(20, 1), ...times(10, 1), ...times(70, 1)]);
    expect(compare(before, better).metrics[0]).toMatchObject({ verdict: "better", moreQuestions: 0 });
    expect(compare(better, before).metrics[0]).toMatchObject({ verdict: "worse", wins: 0, losses: 10 });
    const scores = { exactMatch: figures({ better: "lower" }) };
    const lower = { ...before, head: head({ scores }) };
    expect(compare(lower, better).metrics[0]).toMatchObject({ verdict: "worse", wins: 0, losses: 10 });
  });

  it("compares the common questions, counts the others, and counts failed tasks as wrong unless they are excluded", () => {
    const [before, after] = [run([1, 1, null, 1, 0], { failedTasks: 1 }), run([1, null, 0], { failedTasks: 1 })];
    const { metrics, questions, failed } = compare(before, after);
    expect(questions).toEqual({ common: 3, onlyBaseline: 2, onlyCandidate: 0 });
    expect(failed).toEqual({ counted: "wrong", baseline: 1, candidate: 1 });
    expect(metrics[0]).toMatchObject({ baseline: 2 / 3, candidate: 1 / 3, losses: 1, ties: 2 });
    expect(metrics[0]?.otherwise).toMatchObject({ value: 0, n: 1 });
    const [excluded] = compareRuns(before, after, ["exactMatch"], 9, "exclude").metrics;
    expect(excluded).toMatchObject({ baseline: 1, candidate: 1, difference: { n: 1 }, otherwise: { n: 3 } });
  });

  it.each([2, 3])("returns an interval with a width for %d questions that are all tied or all lost", (n) => {
    const [tied] = compare(run(times(n, 1)), run(times(n, 1))).metrics;
    expect(tied?.difference.low).toBeLessThan(-0.5);
    expect(tied?.difference.high).toBeGreaterThan(0.5);
    const [lost] = compare(run(times(n, 1)), run(times(n, 0))).metrics;
    expect(lost?.difference.high).toBeGreaterThan(-0.3);
    expect([tied?.verdict, lost?.verdict]).toEqual([null, null]);
  });

  it("returns null values and no verdict if there are no common questions", () => {
    const { metrics } = compareRuns(run([null, null]), run([1, 1]), ["exactMatch"], 9, "exclude");
    expect(metrics[0]).toMatchObject({ baseline: null, candidate: null, p: null, verdict: null, moreQuestions: null });
  });

  it("compares the mean per question if there are several epochs", () => {
    const repeats = (values: readonly number[][]) =>
      comparableRun(
        head(),
        values.flatMap((epochs, i) => epochs.map((value, e) => task(i, { exactMatch: value }, { epoch: e + 1 }))),
      );
    const [metric] = compare(
      repeats([
        [1, 0],
        [1, 1],
      ]),
      repeats([
        [1, 1],
        [1, 0, 0, 0],
      ]),
    ).metrics;
    expect(metric).toMatchObject({ baseline: 0.75, candidate: 0.625, test: "sign_flip", wins: 1, losses: 1 });
    expect(metric?.difference).toMatchObject({ value: -0.125, n: 2 });
  });

  it("also compares cost, time and turns, for which lower values are better", () => {
    const at = (costUsd: number | null, turns: number) =>
      comparableRun(
        head(),
        [1, 2, 3].map((id) =>
          task(id, {}, { costUsd, turns, modelTimeMs: 90 * turns, toolTimeMs: 10 * turns, executionTimeMs: 9_999 }),
        ),
      );
    const [, cost, time, turns] = compare(at(0.02, 3), at(0.01, 4)).metrics;
    expect(cost).toMatchObject({ metric: "costUsd", wins: 3, losses: 0, difference: { value: -0.01, n: 3 } });
    expect(time).toMatchObject({ metric: "modelAndToolTimeMs", difference: { value: 100 }, losses: 3 });
    expect(turns).toMatchObject({ metric: "turns", baseline: 3, candidate: 4 });
    expect(compare(at(null, 3), at(0.01, 3)).metrics[1]).toMatchObject({ baseline: null, difference: { n: 0 } });
  });

  it("lists the scores that only one run has, and does not compare them", () => {
    const described = { exactMatch: figures(), found: figures({ label: "Gold mail found" }) };
    const at = (scores: { exactMatch: number; found?: number }, turns: number | null) =>
      comparableRun(
        head({ scores: Object.fromEntries(Object.entries(described).filter(([name]) => name in scores)) }),
        [1, 2, 3].map((id) => task(id, scores, { turns })),
      );
    const seen = at({ exactMatch: 1, found: 1 }, 3);
    const unseen = at({ exactMatch: 1 }, null);
    const forth = compare(seen, unseen);
    expect(forth.onlyIn).toEqual({ baseline: ["Gold mail found", "Turns per task"], candidate: [] });
    expect(compare(unseen, seen).onlyIn).toEqual({ baseline: [], candidate: ["Gold mail found", "Turns per task"] });
    expect(forth.metrics.find(({ metric }) => metric === "turns")).toMatchObject({ p: null, difference: { n: 0 } });
    expect(comparisonText([seen.head, unseen.head], [forth])).toContain(
      "\nUnknown in the second, so not compared: Gold mail found; Turns per task.\n",
    );
  });

  it("compares the scores of a run whose tasks all failed as wrong, unless failed tasks are excluded", () => {
    const overAll = { value: 0, n: 3, low: 0, high: 0.6 };
    const none = figures({ value: null, n: 0, low: null, high: null, overAll });
    const before = run([1, 1, 0], { scores: { exactMatch: figures() } });
    const after = run([null, null, null], { completedTasks: 0, failedTasks: 3, scores: { exactMatch: none } });
    expect(sharedScores(before.head, after.head)).toEqual({ exactMatch: { n: 3 } });
    expect(compare(before, after)).toMatchObject({
      metrics: [{ metric: "exactMatch", baseline: 2 / 3, candidate: 0, losses: 2 }, {}, {}, {}],
      onlyIn: { baseline: expect.not.arrayContaining(["Exact match"]), candidate: [] },
    });
    expect(comparisonText([before.head, after.head], [compare(before, after)])).not.toContain("Without them");
    expect(sharedScores(before.head, after.head, "exclude")).toEqual({});
  });

  it("compares model and tool time without waiting time", () => {
    const at = (times: Partial<TaskResult>) =>
      comparableRun(
        head(),
        [1, 2, 3].map((id) => task(id, {}, times)),
      );
    const throttled = at({ modelTimeMs: 1_000, toolTimeMs: 200, waitingTimeMs: 3_900, executionTimeMs: 5_100 });
    const free = at({ modelTimeMs: 1_000, toolTimeMs: 200, waitingTimeMs: 0, executionTimeMs: 1_200 });
    const timeOf = (a: ComparableRun, b: ComparableRun) => compare(a, b).metrics[2];
    expect(timeOf(throttled, free)).toMatchObject({
      baseline: 1_200,
      difference: { value: 0 },
      ties: 3,
      verdict: null,
    });
  });

  it("ignores rounding differences in sums", () => {
    const mean = (epochs: readonly number[], costs: readonly number[]) =>
      comparableRun(
        head(),
        [1, 2, 3].flatMap((id) =>
          epochs.map((value, e) => task(id, { exactMatch: value }, { epoch: e + 1, costUsd: costs[e] ?? 0 })),
        ),
      );
    const before = mean([0.1, 0.2, 0.3], [1e-7, 2e-7, 3e-7]);
    const after = mean([0.3, 0.2, 0.1], [3e-7, 2e-7, 1e-7]);
    expect(before.questions.get(1)?.values.exactMatch).not.toBe(after.questions.get(1)?.values.exactMatch);
    const { metrics, flips } = compare(before, after);
    for (const metric of metrics.slice(0, 2)) {
      expect(metric).toMatchObject({ wins: 0, losses: 0, ties: 3, p: 1, difference: { value: 0 } });
    }
    expect(flips).toMatchObject({ won: [], lost: [] });
    const cheaper = mean([0.1, 0.2, 0.3], [1e-7, 2e-7, 2.9e-7]);
    expect(compare(before, cheaper).metrics[1]).toMatchObject({ wins: 3 });
  });

  it("lists the changed questions up to the limit, largest changes first", () => {
    const { flips } = compare(run([1, 0, 1, 1]), run([0, 1, 0, 1]), 1);
    expect(flips.metric).toBe("exactMatch");
    expect(flips.lost).toEqual([
      expect.objectContaining({ taskId: 1, baseline: 1, candidate: 0, question: expect.any(String) }),
    ]);
    expect(flips.won.map(({ taskId }) => taskId)).toEqual([2]);
  });
});

describe("incomparable", () => {
  it("reports different questions, splits, mail or cutoffs", () => {
    const other = head({
      dataset: { source: "hub", revision: "abc", sha256: "e".repeat(64) },
      split: "train",
      corpusFingerprint: "0".repeat(64),
      settings: { ...head().settings, cutoff: "off" },
    });
    const words = incomparable(head(), other);
    expect(words).toHaveLength(4);
    expect(words[0]).toBe("the dataset: questions.jsonl (dddddddddddd) and hub (abc)");
    expect(words[3]).toBe("the cutoff: query_date and off");
    expect(compare(run([1]), { ...run([1]), head: other }).incomparable).toEqual(words);
  });

  it("accepts an imported run, whose cutoff is unknown", () => {
    const { cutoff: _, ...imported } = head().settings;
    expect(incomparable(head({ settings: imported }), head())).toEqual([]);
  });

  it("accepts the same revision in two spellings, and different agents", () => {
    const at = (sha256: string) => head({ dataset: { source: "hub", revision: "abc", sha256 } });
    expect(incomparable(at("1"), at("2"))).toEqual([]);
    const otherAgent = head({ settings: { ...head().settings, maxTurns: 3, prompt: "?" } });
    expect(incomparable(head(), otherAgent)).toEqual([]);
    expect(compare(run([1]), { ...run([1]), head: otherAgent }).settings).toEqual(["maxTurns", "prompt"]);
  });
});

describe("comparing two equally good runs", () => {
  const { uniform, chance } = worlds(7);
  const rightOrWrong = chance;
  const from0To1 = (difficulty: number) => chance(difficulty) * uniform();
  // At most 4.72% of 6,000 simulations. With 300, the fraction has a standard error of 1.2 points.
  const most = TIMES === 1 ? 0.075 : 0.05;

  const expectFewAlarms = (n: number, score: (difficulty: number) => number) => {
    let alarmed = 0;
    for (let i = 0; i < 300 * TIMES; i++) {
      const difficulties = Array.from({ length: n }, uniform);
      const [a, b] = [run(difficulties.map(score)), run(difficulties.map(score))];
      if (compare(a, b, 0).metrics[0]?.verdict !== null) alarmed++;
    }
    expectBetween(0, most, `false alarms over ${n} questions`, alarmed / (300 * TIMES));
  };

  it(
    "reports a difference in at most 5 of 100 simulations of 30 questions scored right or wrong",
    { timeout: LONG },
    () => expectFewAlarms(30, rightOrWrong),
  );

  it.each([
    [100, "right or wrong", rightOrWrong],
    [300, "right or wrong", rightOrWrong],
    [100, "scored from 0 to 1", from0To1],
  ] as const)(
    "reports a difference in at most 5 of 100 simulations of %d questions scored %s",
    { timeout: LONG, tags: ["slow"] },
    (n, _, score) => expectFewAlarms(n, score),
  );
});

function suiteRun(runId: string, results: readonly TaskResult[], corpusFingerprint = "") {
  const graded = results.filter(({ suite }) => suite?.score !== null).length;
  const n = results.filter(({ suite, ending }) => suite?.score !== null || ending === "model_error").length;
  const overAll = { value: 0.5, n, low: 0, high: 1 };
  const scores = {
    taskScore: figures({ label: "Task score", kind: "mean", overAll }),
    taskSolved: figures({ label: "Solved", kind: "rate", overAll }),
  };
  const suite = { name: "demo", graded, states: {} };
  return comparableRun(
    head({ runId, split: "suite", totalTasks: results.length, suite, scores, corpusFingerprint }),
    results,
  );
}

const before = suiteRun("run_a", [
  suiteResult("a", 0),
  suiteResult("b", 1),
  suiteResult("c", null),
  suiteResult("d", 1, { state: "timeout" }),
  suiteResult("e", 1),
]);

const after = suiteRun(
  "run_b",
  [
    suiteResult("a", 1),
    suiteResult("b", 0, { reason: "compare_csv gives 0" }),
    suiteResult("c", 1),
    suiteResult("d", 1),
    suiteResult("e", null, { state: "agent_error" }),
  ],
  "mail of another database",
);

const comparison = compareRuns(before, after, ["taskScore", "taskSolved"], 5);

it("compareRuns pairs suite runs by task, with failed tasks as wrong and without other ungraded tasks", () => {
  const [score, solved, cost] = comparison.metrics;
  expect(score).toMatchObject({ metric: "taskScore", baseline: 3 / 4, candidate: 2 / 4, wins: 1, losses: 2, ties: 1 });
  expect(solved).toMatchObject({ test: "mcnemar", p: 1, difference: { n: 4 } });
  // Cost, time and turns of failed tasks are excluded, because they depend on the fault more than on the agent.
  expect(cost?.difference.n).toBe(0);
  expect(comparison.metrics.at(-1)).toMatchObject({ metric: "turns", difference: { n: 2 } });
});

it("compareRuns ignores the mail of suite runs and reports ungraded tasks", () => {
  expect(comparison.incomparable).toEqual([]);
  expect(comparison.ungraded).toEqual({ baseline: 1, candidate: 0 });
  const text = comparisonText([before.head, after.head], [comparison]);
  expect(text).toContain(
    "run_b against run_a: 5 tasks in both\nNot graded and not in any score: 1 in the first, 0 in the second\n",
  );
  expect(text).toContain(
    "Tasks with a different result (taskScore):\n  lost  b  Do b\n        1.000  success\n        0.000  success: compare_csv gives 0\n",
  );
  expect(text).not.toContain("question");
});

const runOf = (values: Readonly<Record<number, number | null>>) =>
  comparableRun(
    head(),
    Object.entries(values).map(([id, value]) => task(Number(id), { goldRank: value })),
  );

it("pairOutcomes returns one letter per baseline task, in order, or a dash for a missing value", () => {
  const baseline = runOf({ 3: 0.5, 1: 1, 2: 0, 4: null, 6: 1 });
  const candidate = runOf({ 1: 0.5, 2: 0.5, 3: 0.5, 4: 1, 5: 1 });
  const higher = { metric: "goldRank", better: "higher" } as const;
  // Numeric keys are sorted: 1, 2, 3, 4, 6.
  expect(pairOutcomes(higher, baseline, candidate)).toBe("lwt--");
  expect(pairOutcomes({ ...higher, better: "lower" }, baseline, candidate)).toBe("wlt--");
});

it("pairOutcomes treats rounding differences as ties, even next to 0", () => {
  const pairs = pairOutcomes(
    { metric: "goldRank", better: "higher" },
    runOf({ 1: 0, 2: 0.3 }),
    runOf({ 1: 1e-16, 2: 0.1 + 0.2 }),
  );
  expect(pairs).toBe("tt");
});

it("pairOutcomes agrees with comparePairs", () => {
  const values = (seed: number) =>
    runOf(Object.fromEntries(Array.from({ length: 40 }, (_, i) => [i + 1, ((i * seed) % 7) / 7])));
  const [baseline, candidate] = [values(3), values(5)];
  for (const better of ["higher", "lower"] as const) {
    const described = { metric: "goldRank", label: "", kind: "mean", better } as const;
    const { wins, losses, ties } = comparePairs(described, pairsOf("goldRank", baseline, candidate));
    const letters = pairOutcomes(described, baseline, candidate);
    const count = (letter: string) => letters.split(letter).length - 1;
    expect([count("w"), count("l"), count("t")]).toEqual([wins, losses, ties]);
    expect(Math.min(wins, losses, ties)).toBeGreaterThan(0);
  }
});
