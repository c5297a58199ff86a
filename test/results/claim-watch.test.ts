import { describe, expect, it } from "vitest";
import { Until, UntilWatch } from "../../src/results/claim-watch.js";
import type { UntilSettings } from "../../src/traces/run-settings.js";
import { run } from "../analysis/runs.js";

const QUESTIONS = 20;

type Margins = Pick<UntilSettings, "relation" | "by" | "notBy">;

/** A run that has won every question over its baseline is better after 9 questions. */
function watchOf(epochs = 1, inBaseline = QUESTIONS, margins: Margins = { relation: "better", by: 0, notBy: null }) {
  const baseline = run(Array.from({ length: inBaseline }, () => 0));
  const until = new Until({ ...margins, baseline: "run_a", metric: "exactMatch", seed: 1 }, baseline, { epochs });
  const order = Array.from({ length: QUESTIONS * epochs }, (_, i) => ({
    taskId: Math.floor(i / epochs) + 1,
    epoch: (i % epochs) + 1,
  }));
  return new UntilWatch(until, order);
}

const answered = (taskId: number) => ({ taskId, ending: "answered", agentAnswer: `${taskId}`, toolTimeMs: 0 }) as const;
const won = (taskId: number) => ({ ...answered(taskId), scores: { exactMatch: 1 } });
const failed = (taskId: number) => ({ ...answered(taskId), scores: {}, ending: "timeout" }) as const;

describe("UntilWatch", () => {
  it("does not count quick answers before the earlier questions are answered", () => {
    const watch = watchOf();
    for (let taskId = 2; taskId <= QUESTIONS; taskId++) watch.add(won(taskId));
    expect(watch.outcome()).toMatchObject({ verdict: null, questions: 0 });
    watch.add({ ...won(1), scores: { exactMatch: 0 } });
    expect(watch.outcome()).toMatchObject({ verdict: "established", settledAfter: 10, questions: QUESTIONS });
  });

  it("counts a question when all of its epochs are answered, with their mean", () => {
    const watch = watchOf(2);
    watch.add(won(1));
    expect(watch.outcome().questions).toBe(0);
    watch.add({ ...won(1), scores: { exactMatch: 0 } });
    expect(watch.outcome()).toMatchObject({ questions: 1, alwaysValid: { value: 0.5 }, fixedN: { value: 0.5 } });
  });

  it("counts failed questions as wrong", () => {
    const watch = watchOf();
    for (let taskId = 1; taskId <= 10; taskId++) watch.add(failed(taskId));
    expect(watch.outcome()).toMatchObject({ verdict: null, questions: 10, alwaysValid: { value: 0 } });
    for (let taskId = 11; taskId <= QUESTIONS; taskId++) watch.add(won(taskId));
    expect(watch.outcome()).toMatchObject({ isComplete: true, questions: 20, alwaysValid: { value: 0.5 } });
  });

  it("skips questions without a score, such as a missing verdict", () => {
    const watch = watchOf();
    watch.add({ ...won(1), scores: {} });
    for (let taskId = 2; taskId <= 10; taskId++) watch.add(won(taskId));
    expect(watch.outcome()).toMatchObject({ verdict: "established", settledAfter: 9, questions: 9 });
    expect(watch.isSettled).toBe(true);
    expect(watch.outcome().isComplete).toBe(false);
  });

  it("ends when the baseline does not have any of the remaining questions", () => {
    const watch = watchOf(1, 5);
    expect([watch.countable, watch.plannedQuestions, watch.canCount(5), watch.canCount(6)]).toEqual([
      5,
      20,
      true,
      false,
    ]);
    for (let taskId = 1; taskId <= 5; taskId++) watch.add(won(taskId));
    expect(watch.outcome()).toMatchObject({ verdict: null, questions: 5, isComplete: true });
    expect(watch.isSettled).toBe(true);
  });

  it.each([
    ["the same answer to every question", { agentAnswer: "" }, 1, "no task has an answer"],
    ["a score of 0 in both runs", {}, 0, "exactMatch is 0 in all tasks of both runs, which is not evidence"],
  ])("establishes nothing with %s", (_, same, exactMatch, problem) => {
    const watch = watchOf(1, QUESTIONS, { relation: "no_worse", by: 0.5, notBy: null });
    for (let taskId = 1; taskId < QUESTIONS; taskId++) watch.add({ ...won(taskId), scores: { exactMatch }, ...same });
    expect(watch.outcome()).toMatchObject({ verdict: null, problem, settledAfter: null });
    expect(watch.isSettled).toBe(false);
    watch.add(won(QUESTIONS));
    expect(watch.outcome()).toMatchObject({ verdict: "established", problem: null });
  });
});
