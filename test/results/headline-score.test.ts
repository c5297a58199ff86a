import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { comparableRun, compareRuns } from "../../src/analysis/paired-comparison.js";
import { comparisonText } from "../../src/reports/comparison-text.js";
import { markdownReport, stepSummary } from "../../src/reports/markdown-report.js";
import { runSummary } from "../../src/reports/run-text.js";
import { collectReport, storedRun } from "../../src/results/collect-report.js";
import { computeRunTotals, fromDatabase } from "../../src/results/results-file.js";
import { headlineOf } from "../../src/results/stored-runs.js";
import { RunSubscriptions } from "../../src/runs/run-progress.js";
import { SCORES } from "../../src/scoring/scorers.js";
import type { Ending } from "../../src/tasks/ending.js";
import { headlineFirst } from "../../src/traces/headline-score.js";
import type { RunProgress } from "../../src/traces/progress.js";
import { openRowWriter, toResultRow } from "../../src/traces/result-writer.js";
import { getRun } from "../../src/traces/runs-store.js";
import type { TaskResult } from "../../src/traces/task-result.js";
import { suiteResult } from "../analysis/suite-results.js";
import { never, openEmpty, type TestDb } from "../runs/demo-setup.js";
import { finished, saveRun } from "../traces/saved-runs.js";

let test: TestDb;
beforeEach(() => {
  test = openEmpty();
  saveRun(test.db, "run_a");
});
afterEach(() => test.close());

function save(result: TaskResult): void {
  const { trace } = finished("run_a", Number(result.taskId) || 1, 0.5, `trace_${result.taskId}`);
  const row = toResultRow({ ...trace, ending: result.ending }, { ...result, traceId: trace.traceId });
  openRowWriter(test.db)({ ...row, taskId: result.taskId });
}

function question(taskId: number, scores: TaskResult["scores"], ending: Ending = "answered"): TaskResult {
  const { result } = finished("run_a", taskId, 0.5);
  return { ...result, ending, semanticScore: scores.semanticScore ?? null, scores };
}

const KINDS: Readonly<
  Record<string, { readonly save: () => void; readonly scorer: string | null; value: number | null }>
> = {
  "a run without a judge or gold emails": {
    scorer: "semanticScore",
    value: 0.5,
    save() {
      save(question(1, { exactMatch: 0, semanticScore: 0.25 }));
      save(question(2, { exactMatch: 1, semanticScore: 0.75 }));
    },
  },
  "a run without a judge over questions with gold emails": {
    scorer: "sourcesCorrect",
    value: 0.5,
    save() {
      save(question(1, { semanticScore: 0.25, sourcesCorrect: 1 }));
      save(question(2, { semanticScore: 0.75, sourcesCorrect: 0 }));
    },
  },
  "a judged run": {
    scorer: "judgeCorrect",
    value: 0,
    save() {
      save(question(1, { exactMatch: 0, semanticScore: 0.5, judgeCorrect: 0, judgeScore: 0.5 }));
      save(question(2, { exactMatch: 0, semanticScore: 0.7, judgeCorrect: 0, judgeScore: 0.5 }));
    },
  },
  "a suite run, with a task that was graded after its timeout": {
    scorer: "taskScore",
    value: 0.75,
    save() {
      save(suiteResult("one", 1));
      save(suiteResult("two", 0.5, { state: "timeout" }));
    },
  },
  "a training run, with an episode that ran out of time": {
    scorer: "reward",
    value: 0.5,
    save() {
      save(question(1, { exactMatch: 1, semanticScore: 1, reward: 0.5 }));
      save(question(2, { reward: 0 }, "timeout"));
    },
  },
  "an imported run without scores": { scorer: null, value: null, save: () => save(question(1, {})) },
};

async function report() {
  const run = await storedRun(test.db, getRun(test.db, "run_a"));
  return (await collectReport([run], { onTask: () => {}, onTrace: () => {} }, never)).head;
}

function progress(): Promise<RunProgress> {
  return new Promise((resolve, reject) => {
    const subscriptions = new RunSubscriptions(test.db, () => null, reject);
    const unsubscribe = subscriptions.subscribe("run_a", (now) => {
      setImmediate(() => unsubscribe());
      resolve(now);
    });
  });
}

describe.each(Object.entries(KINDS))("the headline score of %s", (_, { save: saveTasks, scorer, value }) => {
  beforeEach(() => saveTasks());

  it("appears in the list of runs, the live page and the report", async () => {
    const listed = headlineOf(test.db, "run_a");
    expect(listed === null ? null : [listed.scorer, listed.value]).toEqual(scorer === null ? null : [scorer, value]);
    const { headline } = await progress();
    expect(headline).toEqual(listed && { ...listed, label: expect.any(String) });
    const head = await report();
    expect(head.leading).toBe(scorer ?? "semanticScore");
    const reported = head.runs[0]?.scores[head.leading];
    const { low = null, high = null, n = 0 } = listed ?? {};
    expect(reported ?? { value: null, low: null, high: null, n: 0 }).toMatchObject({ value, low, high, n });
  });

  it("comes first in summaries, tables and comparisons", async () => {
    if (scorer === null) return;
    const label = SCORES[scorer]?.label ?? "";
    const totals = await computeRunTotals(test.db, getRun(test.db, "run_a"));
    const scores = Object.values(totals.scores).map((score) => score.label);
    const first = (text: string) =>
      scores
        .map((name) => ({ name, at: text.search(new RegExp(`^[| ]*${name}\\b`, "m")) }))
        .filter(({ at }) => at >= 0)
        .sort((a, b) => a.at - b.at)[0]?.name;
    expect(first(runSummary(totals))).toBe(label);
    expect(first(markdownReport(await report()))).toBe(label);
    const { head, results } = fromDatabase(test.db, totals);
    const outcome = { scorer, better: "higher" } as const;
    expect(first(stepSummary(head, [], outcome, results()))).toBe(label);
    const run = comparableRun(head, results());
    const metrics = headlineFirst(head.scores);
    expect(metrics[0]).toBe(scorer);
    expect(comparisonText([head], [compareRuns(run, run, metrics, 0)])).toMatch(new RegExp(`^${label}\\b`, "m"));
  });
});
