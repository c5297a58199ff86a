import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { semanticScore } from "../../src/scoring/scorers.js";
import { itself, trace } from "./trace.js";

const score = (answer: string | null, gold: string) => semanticScore(trace({ answer }, { answer: gold }), itself).value;

describe("semanticScore", () => {
  test("of the published example is 5 of 10 words", () => {
    expect(score("Meeting scheduled for Monday at 3 PM", "The meeting is at 3 PM on Monday")).toBe(0.5);
  });

  test.each([
    ["Budget", "Q3 Budget Report", 1 / 3],
    ["the Q3 budget report", "Q3 Budget Report", 3 / 4],
    ["yes", "no", 0],
    ["42", "42", 1],
    ["the the THE cat", "The cat", 1],
    ["cat the", "the cat", 1],
    ["a b c d", "c d e", 2 / 5],
  ])("%j against %j is %d", (answer, gold, value) => {
    expect(score(answer, gold)).toBe(value);
  });

  test.each([
    ["punctuation parts words", "Q3-budget", "Q3 budget", 1],
    ["and amounts", "$1,248.17", "1 248 17", 1],
    ["an apostrophe too", "what's", "what s", 1],
    ["an underscore is part of a word", "net_gas", "net gas", 0],
    ["a letter beyond ASCII is no word character, so it parts words", "José", "Jos", 1],
    ["and leaves two parts of a word it stands in", "naïve", "na ve", 1],
    ["so a text without an ASCII letter or digit is empty", "日本", "ß", 0],
    ["lines part words", "one\ntwo\tthree", "one two three", 1],
  ])("%s", (_, answer, gold, value) => {
    expect(score(answer, gold)).toBe(value);
  });

  test.each([
    [null, ""],
    ["", ""],
    ["?!", "..."],
    [null, "four words of gold"],
    ["an answer", ""],
  ])("%j against %j is 0, never NaN", (answer, gold) => {
    expect(score(answer, gold)).toBe(0);
  });

  test("is the published runner's own formula for any two texts", () => {
    const published = (str1: string, str2: string) => {
      const normalize = (s: string) =>
        s
          .toLowerCase()
          .replace(/[^\w\s]/g, " ")
          .split(/\s+/)
          .filter((w) => w.length > 0);
      const [words1, words2] = [new Set(normalize(str1)), new Set(normalize(str2))];
      let intersectionCount = 0;
      words1.forEach((w) => {
        if (words2.has(w)) intersectionCount++;
      });
      const unionCount = words1.size + words2.size - intersectionCount;
      return unionCount === 0 ? 0 : intersectionCount / unionCount;
    };
    const words = fc.array(fc.constantFrom("a", "B", "b", "3 pm", "Ä", "x-y", "x", "", "\n", "."), { maxLength: 12 });
    const texts = fc.oneof(
      fc.string({ unit: "binary" }),
      words.map((list) => list.join(" ")),
    );
    fc.assert(
      fc.property(texts, texts, (answer, gold) => {
        expect(score(answer, gold)).toBe(published(gold, answer));
      }),
      { numRuns: 300 },
    );
  });
});
