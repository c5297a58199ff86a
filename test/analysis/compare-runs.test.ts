import { describe, expect, it } from "vitest";
import { type ComparableRun, comparableRun, compareRuns, incomparable } from "../../src/analysis/compare.js";
import type { TaskResult } from "../../src/traces/task-result.js";
import { expectBetween, LONG, TIMES, worlds } from "../statistics/simulated-runs.js";
import { figures, head, run, task } from "./runs.js";

const compare = (a: ComparableRun, b: ComparableRun, flips = 10) => compareRuns(a, b, ["exactMatch"], flips);
const times = (n: number, value: number) => Array.from({ length: n }, () => value);

describe("two runs", () => {
  const before = run([...times(20, 1), ...times(10, 0), ...times(70, 1)]);
  const after = run([...times(5, 0), ...times(15, 1), ...times(10, 1), ...times(70, 1)], { runId: "run_b" });

  it("are compared question by question", () => {
    const { metrics, questions } = compare(before, after);
    expect(questions).toEqual({ common: 100, onlyBaseline: 0, onlyCandidate: 0 });
    expect(metrics[0]).toMatchObject({
      metric: "exactMatch",
      label: "Exact match",
      baseline: 0.9,
      candidate: 0.95,
      difference: { value: 0.05, n: 100, method: "paired_bootstrap" },
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

  it("differ surely where the interval and the test say so, whichever way is better", () => {
    const better = run([...times(20, 1), ...times(10, 1), ...times(70, 1)]);
    expect(compare(before, better).metrics[0]).toMatchObject({ verdict: "better", moreQuestions: 0 });
    expect(compare(better, before).metrics[0]).toMatchObject({ verdict: "worse", wins: 0, losses: 10 });
    const scores = { exactMatch: figures({ better: "lower" }) };
    const lower = { ...before, head: head({ scores }) };
    expect(compare(lower, better).metrics[0]).toMatchObject({ verdict: "worse", wins: 0, losses: 10 });
  });

  it("are compared over what both have: others are counted, failed tasks have no value", () => {
    const { metrics, questions } = compare(run([1, 1, null, 1, 0]), run([1, null, 0]));
    expect(questions).toEqual({ common: 3, onlyBaseline: 2, onlyCandidate: 0 });
    expect(metrics[0]).toMatchObject({ baseline: 1, candidate: 1, difference: { n: 1 }, ties: 1 });
  });

  it("with nothing in common have no figures and no verdict", () => {
    const { metrics } = compare(run([null, null]), run([1, 1]));
    expect(metrics[0]).toMatchObject({ baseline: null, candidate: null, p: null, verdict: null, moreQuestions: null });
  });

  it("that repeat their questions are compared by each question's mean", () => {
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

  it("have their cost, time and turns compared too, where less is better", () => {
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

  it("are judged by model and tool time, not by what was waited for; where that is not told, by nothing", () => {
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
    expect(timeOf(at({ executionTimeMs: 5_100 }), free)).toMatchObject({ baseline: null, difference: { n: 0 } });
  });

  it("do not differ in the last digits of sums", () => {
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
      expect(metric).toMatchObject({ wins: 0, losses: 0, ties: 3, p: 1, difference: { value: 0, low: 0, high: 0 } });
    }
    expect(flips).toMatchObject({ won: [], lost: [] });
    const cheaper = mean([0.1, 0.2, 0.3], [1e-7, 2e-7, 2.9e-7]);
    expect(compare(before, cheaper).metrics[1]).toMatchObject({ wins: 3 });
  });

  it("name the questions that changed, the largest changes first and no more than wanted", () => {
    const { flips } = compare(run([1, 0, 1, 1]), run([0, 1, 0, 1]), 1);
    expect(flips.metric).toBe("exactMatch");
    expect(flips.lost).toEqual([
      expect.objectContaining({ taskId: 1, baseline: 1, candidate: 0, question: expect.any(String) }),
    ]);
    expect(flips.won.map(({ taskId }) => taskId)).toEqual([2]);
  });
});

describe("runs are not comparable", () => {
  it("with other questions, another split, other mail or another cutoff, each of which is named", () => {
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

  it("unless it is one revision in two forms, or only the agent differs", () => {
    const at = (sha256: string) => head({ dataset: { source: "hub", revision: "abc", sha256 } });
    expect(incomparable(at("1"), at("2"))).toEqual([]);
    const otherAgent = head({ settings: { ...head().settings, maxTurns: 3, prompt: "?" } });
    expect(incomparable(head(), otherAgent)).toEqual([]);
    expect(compare(run([1]), { ...run([1]), head: otherAgent }).settings).toEqual(["maxTurns", "prompt"]);
  });
});

describe("two runs that are equally good are said to differ in at most 5 of 100 worlds", () => {
  const { uniform, chance } = worlds(7);
  const alarms = (count: number, n: number, score: (difficulty: number) => number) => {
    let alarmed = 0;
    for (let i = 0; i < count * TIMES; i++) {
      const difficulties = Array.from({ length: n }, uniform);
      const [a, b] = [run(difficulties.map(score)), run(difficulties.map(score))];
      if (compare(a, b, 0).metrics[0]?.verdict !== null) alarmed++;
    }
    return alarmed / (count * TIMES);
  };

  it.each([30, 100, 300])(
    "over %d questions, right or wrong",
    (n) => {
      expectBetween(0, 0.05, `false alarms over ${n} questions, right or wrong`, alarms(300, n, chance));
    },
    LONG,
  );

  it(
    "over 100 questions scored from 0 to 1",
    () => {
      const score = (difficulty: number) => chance(difficulty) * uniform();
      // 4.72 % of 6,000 worlds; of 300 the share has a standard error of 1.2 points.
      const most = TIMES === 1 ? 0.075 : 0.05;
      expectBetween(0, most, "false alarms over 100 questions scored 0 to 1", alarms(300, 100, score));
    },
    LONG,
  );
});
