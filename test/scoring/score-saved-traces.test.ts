import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test } from "vitest";
import { NO_EVALS } from "../../src/evals/scoring-evals.js";
import { openMailLookup } from "../../src/mail/mail-lookup.js";
import { ModelError } from "../../src/models/model.js";
import { scoreRun } from "../../src/runs/score-traces.js";
import { promptHash } from "../../src/scoring/judge.js";
import { RESULT_FILE_SCORERS, SCORER_NAMES, type ScorerName } from "../../src/scoring/scorers.js";
import type { QuestionSet } from "../../src/tasks/question.js";
import type { Judge, JudgeSettings, Verdict } from "../../src/traces/judgment.js";
import { acquireRunLock } from "../../src/traces/run-lock.js";
import { getRun } from "../../src/traces/runs-store.js";
import { copyOf, demoSet, never, openDemo, type TestDb } from "../runs/demo-setup.js";
import { baseline, benchmark, saved, WORKER } from "../runs/run-setup.js";
import { judged } from "./judged-trace.js";

/** The original run. Each test uses a copy. */
let answered: TestDb;
let answeredId: string;
let demo: TestDb;
let set: QuestionSet;
let runId: string;
beforeAll(async () => {
  answered = await openDemo();
  set = await demoSet();
  answeredId = (await benchmark(answered.db, { agentId: "baseline", model: await baseline(), set })).run.id;
});
afterAll(() => answered.close());
beforeEach(() => {
  demo = copyOf(answered);
  runId = answeredId;
});
afterEach(() => demo.close());

const SETTINGS: JudgeSettings = { model: "acme/judge", baseUrl: null, protocol: "verdict", version: 1, votes: 1 };

/** Returns a judge with the verdicts of `verdictOf` that records the questions it receives. */
function judge(verdictOf: (answer: string | null) => Verdict | null, settings: Partial<JudgeSettings> = {}) {
  const own = { ...SETTINGS, ...settings };
  const asked: string[] = [];
  const made: Judge = {
    settings: own,
    judge({ question, answer }) {
      asked.push(question);
      return Promise.resolve(judged(verdictOf(answer), { ...own, promptHash: promptHash(own) }));
    },
  };
  return { made, asked };
}

function grade(
  scorers: readonly ScorerName[],
  made: Judge | null = null,
  signal = never,
  onProgress: (scored: number) => void = () => {},
  worker = WORKER,
) {
  const { canonicalId: sameMail } = openMailLookup(demo.db);
  const scoring = { sameMail, scorers, evals: NO_EVALS, functions: [], judge: made };
  const request = { scoring, scorers, worker, onProgress };
  return scoreRun(demo.db, getRun(demo.db, runId), request, signal);
}

describe("scoreRun", () => {
  test("adds the requested scores to every finished task's trace and result, and changes nothing else", async () => {
    const before = saved(demo.db, runId);
    expect(await grade(SCORER_NAMES.filter((name) => !name.startsWith("judge")))).toEqual({
      scored: 73,
      stopped: false,
    });
    const after = saved(demo.db, runId);
    for (const [i, { scores, ...trace }] of after.traces.entries()) {
      const { scores: _, ...same } = before.traces[i] ?? { scores: {} };
      expect(trace).toEqual(same);
      expect(Object.keys(scores)).toContain("rougeL");
      const values = Object.fromEntries(Object.entries(scores).map(([name, { value }]) => [name, value]));
      expect(after.results[i]?.scores).toEqual(values);
      for (const name of RESULT_FILE_SCORERS) expect(scores[name]).toEqual(before.traces[i]?.scores[name]);
    }
    expect(after.run.settings.scorers).toContain("rougeL");
    expect({ ...after.run, settings: null }).toEqual({ ...before.run, settings: null });
  });

  test("changes nothing if repeated", async () => {
    await grade(["exactMatch", "tokenF1"]);
    const once = saved(demo.db, runId);
    await grade(["exactMatch", "tokenF1"]);
    expect(saved(demo.db, runId)).toEqual(once);
  });

  test("keeps its results after an interruption, and continues from any state", async () => {
    const stop = new AbortController();
    const reported: number[] = [];
    const stopped = await grade([...RESULT_FILE_SCORERS, "tokenF1"], null, stop.signal, (scored) => {
      reported.push(scored);
      stop.abort();
    });
    expect(stopped).toEqual({ scored: 50, stopped: true });
    expect(reported).toEqual([50]);
    const { results } = saved(demo.db, runId);
    expect(results).toHaveLength(73);
    expect(results.filter(({ scores }) => "tokenF1" in scores)).toHaveLength(50);
    expect(await grade([...RESULT_FILE_SCORERS, "tokenF1"])).toEqual({ scored: 73, stopped: false });
    expect(saved(demo.db, runId).results.every(({ scores }) => "tokenF1" in scores)).toBe(true);
  });

  test("leaves failed tasks ungraded", async () => {
    // Different errors, because the same one for every question would stop the run.
    const errors = ["the disk is full", "the worker has crashed", "the queue is full"];
    const model = {
      id: "script/down",
      complete: () => Promise.reject(new ModelError("server", errors.pop() ?? "down", { retryable: false })),
    };
    runId = (await benchmark(demo.db, { model, set, questions: set.questions.slice(0, 3) })).run.id;
    const { made, asked } = judge(() => "correct");
    // Failed tasks are visited, because evals can judge them, but they do not get other scores.
    expect(await grade(SCORER_NAMES, made)).toEqual({ scored: 3, stopped: false });
    expect(asked).toEqual([]);
    for (const { scores, semanticScore } of saved(demo.db, runId).results) {
      expect({ scores, semanticScore }).toEqual({ scores: {}, semanticScore: null });
    }
  });

  test("rejects a run that another worker is processing, unless that worker was killed", async () => {
    acquireRunLock(demo.db, runId, { name: "elsewhere:7", isGone: () => false });
    await expect(grade(RESULT_FILE_SCORERS)).rejects.toMatchObject({ code: "run_busy" });
    const worker = { name: "here:2", isGone: (name: string) => name === "elsewhere:7" };
    expect(await grade(RESULT_FILE_SCORERS, null, never, undefined, worker)).toMatchObject({ scored: 73 });
    acquireRunLock(demo.db, runId, { name: "third:3", isGone: () => false });
  });
});

describe("scoreRun with a judge", () => {
  test("stores verdict, reason and cost per answer, separately from the agent's cost", async () => {
    const { made, asked } = judge((answer) => ((answer?.length ?? 0) % 2 === 0 ? "correct" : "partly"));
    await grade(SCORER_NAMES, made);
    expect(asked).toHaveLength(73);
    const { results, traces, run } = saved(demo.db, runId);
    expect(run.settings.judge).toEqual(SETTINGS);
    for (const [i, { agentAnswer, scores, judgeCostUsd, costUsd }] of results.entries()) {
      const isCorrect = agentAnswer.length % 2 === 0;
      expect(scores).toMatchObject({
        judgeCorrect: isCorrect ? 1 : 0,
        judgeScore: isCorrect ? 1 : 0.5,
        hallucination: 0,
      });
      expect(Number.isFinite(scores.artReward)).toBe(true);
      expect({ judgeCostUsd, costUsd }).toEqual({ judgeCostUsd: 0.25, costUsd: 0 });
      expect(traces[i]?.scores.judgeCorrect?.explanation).toBe(`${isCorrect ? "correct" : "partly"}: so it is`);
    }
  });

  test("reuses the judge's verdicts, and requests new ones only if the judge differs", async () => {
    await grade(SCORER_NAMES, judge(() => "correct").made);
    const once = saved(demo.db, runId);
    const again = judge(() => "wrong");
    await grade(SCORER_NAMES, again.made);
    await grade(SCORER_NAMES, null);
    expect(again.asked).toEqual([]);
    expect(saved(demo.db, runId)).toEqual(once);
    for (const change of [{ model: "acme/other" }, { baseUrl: "http://127.0.0.1:1" }, { version: 2 }, { votes: 3 }]) {
      const other = judge(() => "correct", change);
      await grade(SCORER_NAMES, other.made);
      expect(other.asked, JSON.stringify(change)).toHaveLength(73);
      expect(saved(demo.db, runId).run.settings.judge).toEqual({ ...SETTINGS, ...change });
    }
    const art = judge(() => "wrong", { protocol: "art" });
    await grade(SCORER_NAMES, art.made);
    expect(art.asked).toHaveLength(73);
    const { results, run } = saved(demo.db, runId);
    expect(results.every(({ scores }) => scores.judgeCorrect === 0)).toBe(true);
    expect(run.settings.judge).toEqual({ ...SETTINGS, protocol: "art" });
  });

  test("leaves answers without a verdict unscored, and judges them again", async () => {
    await grade(SCORER_NAMES, judge(() => null).made);
    for (const { scores } of saved(demo.db, runId).results) {
      expect(scores).toMatchObject({ judgeCorrect: null, judgeScore: null, artReward: null });
    }
    const { made, asked } = judge(() => "correct");
    await grade(SCORER_NAMES, made);
    expect(asked).toHaveLength(73);
  });
});

test("judges each answer in a run, and the tasks do not fail if the judge fails", async () => {
  const { made, asked } = judge((answer) => (answer?.includes("a") ? "correct" : null));
  const scorers = SCORER_NAMES;
  const { totals, results, traces, run } = await benchmark(demo.db, {
    agentId: "baseline",
    model: await baseline(),
    set,
    judge: made,
    scorers,
  });
  expect(totals).toMatchObject({ completedTasks: 73, failedTasks: 0 });
  expect(asked).toHaveLength(73);
  expect(run.settings.judge).toEqual(SETTINGS);
  expect(new Set(traces.map(({ judge }) => judge?.verdict))).toContain("correct");
  for (const { agentAnswer, scores } of results) expect(scores.judgeCorrect).toBe(agentAnswer.includes("a") ? 1 : null);
});
