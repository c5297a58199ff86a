import { describe, expect, it } from "vitest";
import { labelByFeedback, labelByJudge, labelByScore } from "../../src/evals/import-labels.js";
import type { Verdict } from "../../src/traces/judgment.js";
import type { QuestionTrace } from "../../src/traces/trace.js";
import { judged } from "../scoring/judged-trace.js";
import { trace } from "../scoring/trace.js";

const scored = (value: number | null, changes: Partial<QuestionTrace> = {}): QuestionTrace => ({
  ...trace(changes),
  scores: { semanticScore: { value } },
});

describe("labelByScore", () => {
  it.each([
    [0.81, "good"],
    [0.8, "neutral"],
    [0.5, "neutral"],
    [0.49, "bad"],
  ])("labels a score of %d as %s", (value, label) =>
    expect(labelByScore(scored(value), "semanticScore")?.label).toBe(label),
  );

  it("notes the score, rounded to three decimals", () => {
    expect(labelByScore(scored(0.81249), "semanticScore")?.note).toBe("semanticScore 0.812");
  });

  it("labels a failed task bad, and returns null if there is no value", () => {
    expect(labelByScore(scored(null, { ending: "timeout" }), "semanticScore")).toEqual({
      label: "bad",
      note: "ended by timeout",
    });
    expect(labelByScore(scored(null), "semanticScore")).toBeNull();
    expect(labelByScore(scored(1), "tokenF1")).toBeNull();
  });
});

describe("labelByJudge", () => {
  const by = (verdict: Verdict, gold = "$40") =>
    labelByJudge({ ...trace({ judge: judged(verdict) }, { answer: gold }), scores: {} });

  it.each([
    ["correct", "good"],
    ["partly", "neutral"],
    ["wrong", "bad"],
    ["abstained", "bad"],
  ] as const)("labels the verdict %s as %s", (verdict, label) => expect(by(verdict)?.label).toBe(label));

  it("labels an abstention good if the question is unanswerable", () =>
    expect(by("abstained", "I don't know.")?.label).toBe("good"));
  it("returns null if there is no judge", () => expect(labelByJudge(scored(1))).toBeNull());
});

it("labelByFeedback returns the rating and the notes", () => {
  expect(labelByFeedback({ rating: "negative", notes: "wrong year" })).toEqual({ label: "bad", note: "wrong year" });
  expect(labelByFeedback({ rating: "positive", notes: null }).label).toBe("good");
  expect(labelByFeedback({ rating: "neutral", notes: null }).label).toBe("neutral");
});
