import { describe, expect, it } from "vitest";
import { foldOf } from "../../src/evals/choose-templates.js";
import { BY_PERSON } from "../../src/evals/definition.js";
import { LabelQueue } from "../../src/evals/labeling.js";
import {
  containsTerm,
  keyTermsOf,
  regressionCaseOf,
  runCases,
  runDataEvals,
} from "../../src/evals/run-evals/run-rules.js";
import { trace } from "../scoring/trace.js";

const scored = (changes: Parameters<typeof trace>[0], task: Parameters<typeof trace>[1] = {}) => ({
  ...trace(changes, task),
  scores: {},
});

describe("foldOf", () => {
  it("depends on the seed", () => {
    const folds = (seed: number) => Array.from({ length: 50 }, (_, i) => foldOf(String(i), 5, seed)).join("");
    expect(folds(1)).not.toBe(folds(2));
    expect(folds(1)).toBe(folds(1));
    expect(new Set(folds(1))).toEqual(new Set("01234"));
  });

  it("returns the remainder of the hash's first four bytes", () => {
    // int.from_bytes(hashlib.sha256(b"1 c").digest()[:4], "big") % 5 in Python, and so on.
    expect([..."abcdef"].map((question) => foldOf(question, 5, 1))).toEqual([0, 1, 3, 4, 2, 2]);
  });
});

describe("the labeling order", () => {
  const repeatsOf = (labeled: string[]) => {
    const traces = Array.from({ length: 40 }, (_, i) => `new${i}`);
    const drawn = traces.map(
      (traceId, i) => ({ traceId, drawn: "random", drawnFrom: 40 - i, probability: null }) as const,
    );
    const asked = [...new LabelQueue(drawn, labeled, 1)];
    expect(asked.filter(({ isRepeat }) => !isRepeat)).toEqual(drawn.map((one) => ({ ...one, isRepeat: false })));
    return asked.flatMap(({ traceId, isRepeat }, i) =>
      isRepeat ? [{ traceId, at: i, before: asked.slice(0, i) }] : [],
    );
  };

  it("repeats one in ten traces, each once", () => {
    const repeats = repeatsOf(["old1", "old2", "old3"]);
    expect(repeats.map(({ at }) => at)).toEqual([9, 19, 29, 39]);
    expect(new Set(repeats.map(({ traceId }) => traceId)).size).toBe(4);
  });

  it("repeats traces in the first session too, some traces later", () => {
    const repeats = repeatsOf([]);
    expect(repeats).toHaveLength(3);
    for (const { traceId, before } of repeats) {
      const last = before.findLastIndex((item) => item.traceId === traceId);
      expect(before.length - last).toBeGreaterThan(8);
    }
  });
});

describe("regression cases", () => {
  const common = (word: string) => (word === "kestrel" ? 2 : word === "price" ? 900 : 40);
  const good = scored(
    { answer: "Kestrel's price is 1.5 million from May 14, 2001, as Alice wrote.", sources: ["<gold@x>"] },
    { answer: "The price of Kestrel: $1,500,000 from 2001-05-14 (Bob).", message_ids: ["<gold@x>", "<copy@x>"] },
  );

  it("contain the words that the gold answer and the good answer share, the rarest words first", () => {
    expect(regressionCaseOf(good, common)).toEqual({
      task: 1,
      must_contain: ["$1,500,000", "2001-05-14", "price"],
      must_cite: ["<gold@x>", "<copy@x>"],
    });
  });

  it.each([
    ["Call me at 316-555-0117.", "316-555-0117", ["316-555-0117"]],
    ["We leave on Plains Air 422 at 9:40 a.m.", "Flight 422 at 9:40 am", ["422", "9:40 am"]],
  ])("require telephone numbers and times as one term (%s)", (answer, gold, mustContain) =>
    expect(regressionCaseOf(scored({ answer, sources: [] }, { answer: gold }), common)?.must_contain).toEqual(
      mustContain,
    ),
  );

  it("require an answer that shares a word, and a question with a gold answer", () => {
    expect(regressionCaseOf(scored({ answer: "No idea", sources: [] }, { answer: "Kestrel" }), common)).toBeNull();
    expect(regressionCaseOf(scored({ answer: "I don't know." }, { answer: "I don't know." }), common)).toBeNull();
  });

  it.each([
    ["Volumes decreased 12,500 MMBtu.", ["12,500", "volumes", "decreased", "mmbtu"]],
    ["Volumes may 12,500 MMBtu", ["12,500", "volumes", "may", "mmbtu"]],
    ["Deliveries marched 3 miles", ["3", "deliveries", "marched", "miles"]],
    ["By December 12, 2001 at Maybe 4.5", ["December 12, 2001", "4.5", "maybe"]],
  ])("do not mistake other words and numbers for a date (%s)", (answer, mustContain) => {
    const made = regressionCaseOf(scored({ answer, sources: [] }, { answer }), () => 1);
    expect(made?.must_contain).toEqual(mustContain);
    const other = answer.replace("12,500", "99,999").replace(/\b3\b/, "8").replace("4.5", "4.6");
    expect(
      runCases({ cases: [made ?? { task: 1, must_contain: [], must_cite: [] }] }, scored({ answer: other })).score,
    ).toBe(0);
  });

  const cases = [{ task: 1, must_contain: ["$1,500,000", "2001-05-14"], must_cite: ["<gold@x>", "<copy@x>"] }];
  it.each([
    ["It is 1.5 million from 5/14/01", ["<copy@x>"], 1, "the answer contains everything that the case requires"],
    ["It is 1.5 million from 5/14/01", [" copy@x "], 1, "the answer contains everything that the case requires"],
    ["It is 1.5 million", ["<copy@x>"], 0, "missing from the answer: 2001-05-14"],
    ["1.5 million, May 14, 2001", ["<other@x>"], 0, "not cited: <gold@x>, <copy@x>"],
  ])("score the answer %j, citing %j, as %s", (answer, sources, score, reason) =>
    expect(runCases({ cases }, scored({ answer, sources: [...sources] }))).toEqual({ score, reason, error: null }),
  );

  const from = (missing: string[]) => ({
    run: "r",
    trace: "t",
    band: "low" as const,
    basis: "",
    question: "",
    gold: "",
    answer: "",
    missing,
  });
  const terms = ["q3", "budget", "report", "draft"];
  it.each([
    ["fewer terms than before, below half", ["draft", "report"], "Budget", 1 / 4, "found 1/4 key terms"],
    ["as many as before", ["draft"], "Q3 budget report", 1 / 4, "found 3/4 key terms, no more than before"],
    ["as many others as before", ["draft", "q3"], "Draft budget", 1 / 4, "found 2/4 key terms, no more than before"],
    ["more than before", ["draft", "report"], "Q3 draft budget", 3 / 4, "found 3/4 key terms"],
  ])("pass only above the score of their own answer (%s)", (_, missing, answer, score, reason) => {
    const made = [{ task: 1, must_contain: terms, must_cite: [], from: from(missing) }];
    expect(runCases({ cases: made, scoring: "fraction" }, scored({ answer }))).toEqual({
      score,
      reason: `Partial match: ${reason}`,
      error: null,
    });
  });

  it("score a third of the terms as exactly a third if no earlier answer is known", () => {
    const made = [{ task: 1, must_contain: ["q3", "budget", "report"], must_cite: [] }];
    expect(runCases({ cases: made, scoring: "fraction" }, scored({ answer: "Budget" }))).toEqual({
      score: 1 / 3,
      reason: "Partial match: found 1/3 key terms",
      error: null,
    });
  });

  it("give no verdict on other tasks", () => expect(runCases({ cases }, scored({ taskId: 2 })).score).toBeNull());

  it.each([
    ["The KESTREL deal", "kestrel", true],
    ["Kestrels", "kestrel", false],
    ["From 8 am to 9:40", "9:40 am", true],
    ["From 8 am to 9:40 pm", "9:40 am", false],
    ["May 14 or 15, 2001", "2001-05-14", true],
    ["Two of 12, or 1.5 million", "1,500,000", true],
    ["Call 316.", "316-555-0117", false],
  ])("find in %j the term %j (%s)", (text, term, isFound) => expect(containsTerm(text, term)).toBe(isFound));

  it("contain at most three words, and one gold email", () => {
    const frequencies: Record<string, number> = { alpha: 9, bravo: 3, charlie: 1, delta: 5 };
    const answer = "Alpha bravo charlie delta";
    const made = scored({ answer, sources: ["<a@x>"] }, { answer, message_ids: ["<a@x>", "<b@x>", "<c@x>"] });
    expect(regressionCaseOf(made, (word) => frequencies[word] ?? 0)).toMatchObject({
      must_contain: ["charlie", "bravo", "delta"],
      must_cite: ["<a@x>", "<b@x>", "<c@x>"],
    });
  });
});

describe("keyTermsOf", () => {
  it.each([
    ["The price is $1,500,000 from May 14, 2001, at 9:40 am", ["$1,500,000", "May 14, 2001", "9:40 am", "price"]],
    ["I don't know.", []],
    ["one 2 3 4 5 6 7 8 9 10 11 12 13 14", ["2", "3", "4", "5", "6", "7", "8", "9", "10", "11", "12", "13"]],
  ])("returns the numbers, dates and words of %j, at most 12", (gold, terms) =>
    expect(keyTermsOf(gold)).toEqual(terms),
  );
});

describe("rules", () => {
  const NOT_JUDGED = "it does not apply to this trace";
  it.each([
    [[{ feature: "answer_words", at_least: 4 }], 1, "all conditions are met"],
    [[{ feature: "answer_words", at_most: 4 }], 1, "all conditions are met"],
    [[{ feature: "sources_read", at_least: 1 }], null, NOT_JUDGED],
    [
      [
        { feature: "sources_read", at_least: 1 },
        { feature: "answer_words", at_most: 4 },
      ],
      1,
      "all conditions are met",
    ],
    [[{ feature: "answer_words", at_least: 5 }], 0, "answer_words is 4, expected at least 5"],
    [[{ feature: "seconds", at_most: 1 }], 0, "seconds is 1235, expected at most 1"],
  ])("score %j as %s", (all, score, reason) => {
    const made = scored({ answer: "As it was said.", durationMs: 1_234_567.8, sources: [] });
    const rules = { name: "brief", kind: "rules", version: 1, reference: false, criterion: "", pass: { all } } as const;
    expect(runDataEvals([{ ...rules, origin: BY_PERSON }], made)).toEqual([{ score, reason, error: null }]);
  });
});
