import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { rougeL } from "../../src/scoring/scorers.js";
import { itself, trace } from "./trace.js";

const score = (answer: string | null, gold: string) => rougeL.score(trace({ answer }, { answer: gold }), itself).value;

describe("rougeL", () => {
  test.each([
    // Lin 2004, "ROUGE: A Package for Automatic Evaluation of Summaries", section 3.1, S1 to S4 with beta 1.
    ["police kill the gunman", "police killed the gunman", 3 / 4],
    ["the gunman kill police", "police killed the gunman", 2 / 4],
    ["the gunman police killed", "police killed the gunman", 2 / 4],
    // The README of Google's rouge-score: fmeasure of its example, computed by hand from its 9 and 8 words, 5 in
    // sequence.
    ["The quick brown dog jumps on the log.", "The quick brown fox jumps over the lazy dog", (2 * 5) / 17],
    ["9:30 a.m.", "9 30 a m", 1],
    ["", "gold", 0],
    [null, "gold", 0],
    ["?", "?", 0],
  ])("%j against %j", (answer, gold, value) => {
    expect(score(answer, gold)).toBeCloseTo(value, 12);
  });

  test("finds the longest sequence that a search of all of them finds", () => {
    const longest = (a: readonly string[], b: readonly string[]): number => {
      if (a.length === 0 || b.length === 0) return 0;
      if (a[0] === b[0]) return 1 + longest(a.slice(1), b.slice(1));
      return Math.max(longest(a.slice(1), b), longest(a, b.slice(1)));
    };
    const words = fc.array(fc.constantFrom("a", "b", "c"), { minLength: 1, maxLength: 7 });
    fc.assert(
      fc.property(words, words, (a, b) => {
        expect(score(a.join(" "), b.join(" "))).toBeCloseTo((2 * longest(a, b)) / (a.length + b.length), 12);
      }),
    );
  });
});
