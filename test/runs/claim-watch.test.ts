import { describe, expect, it } from "vitest";
import { Until, UntilWatch } from "../../src/runs/run-until/claim-watch.js";
import { run } from "../analysis/runs.js";

const QUESTIONS = 20;

/** A run that has won every question over its baseline is better after 9 questions. */
function watchOf(epochs = 1, inBaseline = QUESTIONS): UntilWatch {
  const baseline = run(Array.from({ length: inBaseline }, () => 0));
  const until = new Until(
    { relation: "better", by: 0, notBy: null, baseline: "run_a", metric: "exactMatch", seed: 1 },
    baseline,
  );
  const order = Array.from({ length: QUESTIONS * epochs }, (_, i) => ({
    taskId: Math.floor(i / epochs) + 1,
    epoch: (i % epochs) + 1,
  }));
  return new UntilWatch(until, order);
}

const won = (taskId: number) => ({ taskId, scores: { exactMatch: 1 }, ending: "answered" }) as const;
const failed = (taskId: number) => ({ taskId, scores: {}, ending: "timeout" }) as const;

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

  it("ends when the baseline has none of the remaining questions", () => {
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
});
