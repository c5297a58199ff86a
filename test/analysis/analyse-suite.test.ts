import { describe, expect, it } from "vitest";
import { analysedTask, analyseSuite } from "../../src/analysis/analyse-suite.js";
import { mcnemar } from "../../src/statistics/significance.js";
import type { TaskResult } from "../../src/traces/task-result.js";
import { suiteResult } from "./suite-results.js";

const analyse = (results: readonly TaskResult[], toolCalls: readonly number[] = []) =>
  analyseSuite(
    results.flatMap((result, i) => {
      const task = analysedTask(result, toolCalls[i] ?? 0);
      return task === null ? [] : [task];
    }),
  );

describe("analyseSuite().guidance", () => {
  /** Returns a task. `a1` and `v1` are counterparts, and so on. */
  const pair = (n: number, abstract: number | null, verbose: number | null) => [
    suiteResult(`a${n}`, abstract, { tags: ["cli", "abstract"], counterpart: `v${n}` }),
    suiteResult(`v${n}`, verbose, { tags: ["cli", "verbose"], counterpart: `a${n}` }),
  ];

  it("compares each task with its counterpart, and adds an interval and a test", () => {
    const results = [pair(1, 0, 1), pair(2, 0, 1), pair(3, 1, 1), pair(4, 0.5, 1), pair(5, 1, 0)].flat();
    const { pairs, metrics, unpaired } = analyse(results).guidance;
    expect({ pairs, unpaired }).toEqual({ pairs: 5, unpaired: { notInRun: 0, own: 0, none: 0, notMutual: 0 } });
    const [score, solved] = metrics;
    expect(score).toMatchObject({ baseline: 0.5, candidate: 0.8, wins: 3, losses: 1, ties: 1, test: "sign_flip" });
    expect(score?.difference).toMatchObject({ n: 5, method: "paired_wilson" });
    expect(score?.difference.value).toBeCloseTo(0.3, 12);
    expect(solved).toMatchObject({ baseline: 0.4, candidate: 0.8, wins: 3, losses: 1, ties: 1, p: mcnemar(3, 1) });
  });

  it("does not count ungraded tasks as 0, and counts the excluded tasks", () => {
    const results = [
      ...pair(1, 1, 1),
      ...pair(2, null, 1),
      ...pair(3, null, null),
      suiteResult("alone", 1, { counterpart: "elsewhere" }),
      suiteResult("none", 1, { counterpart: null }),
      // Like a real task: it names itself, and another task names it.
      suiteResult("self", 1, { counterpart: "self", tags: ["verbose"] }),
      suiteResult("other", 0, { counterpart: "self", tags: ["abstract"] }),
      suiteResult("own", 1, { counterpart: "own" }),
      suiteResult("third", 1, { counterpart: "a1" }),
      suiteResult("s1", 1, { counterpart: "s2", tags: ["verbose"] }),
      suiteResult("s2", 1, { counterpart: "s1", tags: ["verbose"] }),
    ];
    const { metrics, ...counts } = analyse(results).guidance;
    expect(counts).toEqual({
      pairs: 2,
      ungradedPairs: 2,
      sameGuidance: 1,
      unpaired: { notInRun: 1, own: 1, none: 1, notMutual: 1 },
    });
    expect(metrics[0]).toMatchObject({ baseline: 0.5, candidate: 1, difference: { n: 2, value: 0.5 } });
  });

  it("uses the mean over a task's graded epochs, for which McNemar's test is not available", () => {
    const repeat = (results: readonly TaskResult[]) => results.map((result) => ({ ...result, epoch: 2 }));
    const results = [...pair(1, 0, 1), ...repeat(pair(1, 1, null)), ...pair(2, 0, 0)];
    const { pairs, metrics } = analyse(results).guidance;
    expect(pairs).toBe(2);
    expect(metrics[1]).toMatchObject({ baseline: 0.25, candidate: 0.5, test: "sign_flip" });
  });

  it("returns null values if there are no pairs", () => {
    const { pairs, metrics } = analyse([suiteResult("a", 1)]).guidance;
    expect(pairs).toBe(0);
    expect(metrics[0]).toMatchObject({ baseline: null, candidate: null, p: null, difference: { value: null, n: 0 } });
  });
});

describe("analyseSuite().steps and .durations", () => {
  const worked = (id: string, actionNumber: number | null, turns: number, ms: number, tool = "terminal") =>
    suiteResult(id, 1, { actionNumber, tool }, { turns, modelTimeMs: ms, toolTimeMs: 0 });
  const results = [
    worked("a", 2, 3, 1_000),
    worked("b", 4, 5, 3_000),
    worked("c", 8, 6, 5_000, "jupyter"),
    worked("d", 20, 9, 7_000),
    worked("e", null, 1, 100),
    suiteResult("not started", null, { actionNumber: 2 }, { turns: 0 }),
  ];

  it("average per difficulty over the tasks that the agent worked on", () => {
    const { steps, stepCorrelation } = analyse(results, [2, 4, 10, 12, 0]);
    expect(steps).toEqual([
      { difficulty: "up to 5", tasks: 2, actions: 3, turns: 4, toolCalls: 3 },
      { difficulty: "6 to 15", tasks: 1, actions: 8, turns: 6, toolCalls: 10 },
      { difficulty: "above 15", tasks: 1, actions: 20, turns: 9, toolCalls: 12 },
      { difficulty: "not given", tasks: 1, actions: null, turns: 1, toolCalls: 0 },
    ]);
    expect(stepCorrelation.turns).toBeCloseTo(1, 12);
  });

  it("show no correlation if there is too little data", () => {
    expect(analyse(results.slice(0, 2), [1, 2]).stepCorrelation).toEqual({ turns: null, toolCalls: null });
    expect(analyse(results, [1, 1, 1, 1]).stepCorrelation.toolCalls).toBeNull();
  });

  it("group tasks by the suite's tools", () => {
    expect(analyse(results).durations).toEqual([
      { tool: "jupyter", tasks: 1, mean: 5_000, p50: 5_000, p95: 5_000 },
      { tool: "terminal", tasks: 4, mean: 2_775, p50: 1_000, p95: 7_000 },
    ]);
  });
});

it("analyseSuite().profile counts tasks by state and score", () => {
  const results = [
    suiteResult("a", 1),
    suiteResult("b", 0.8),
    suiteResult("c", 0, { state: "timeout" }),
    suiteResult("d", 0, { state: "timeout" }),
    suiteResult("e", null, { state: "agent_error" }),
  ];
  expect(analyse(results).profile).toEqual([
    { state: "success", band: "high", tasks: 1 },
    { state: "success", band: "medium", tasks: 1 },
    { state: "timeout", band: "low", tasks: 2 },
    { state: "agent_error", band: "unscored", tasks: 1 },
  ]);
});

it("analysedTask returns null for a question about a mailbox", () => {
  const { suite: _, ...question } = suiteResult("1", null);
  expect(analysedTask(question, 0)).toBeNull();
});
