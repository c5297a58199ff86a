import { describe, expect, test } from "vitest";
import { exactMatch } from "../../src/scoring/scorers.js";
import { itself, trace } from "./trace.js";

const score = (answer: string | null, gold: string) => exactMatch(trace({ answer }, { answer: gold }), itself).value;

describe("exactMatch is", () => {
  test.each([
    ["another word", "John Smyth", "John Smith"],
    ["a word more", "John Smith Jr", "John Smith"],
    ["punctuation", "John Smith.", "John Smith"],
    ["a blank inside a word", "Johns mith", "John smith"],
    ["an accent", "Jose", "José"],
    ["no answer", null, "John Smith"],
    ["an empty answer", "", "John Smith"],
  ])("0 for %s", (_, answer, gold) => {
    expect(score(answer, gold)).toBe(0);
  });

  test.each([
    ["the same", "John Smith", "John Smith"],
    ["other case", "john smith", "John Smith"],
    ["case beyond ASCII", "JOSÉ", "josé"],
    ["white space round it", " \tJohn Smith\n", "John Smith"],
    ["white space within", "John \n\u00a0 Smith", "John Smith"],
    ["white space in the gold answer", "John Smith", "  John\tSmith "],
  ])("1 for %s", (_, answer, gold) => {
    expect(score(answer, gold)).toBe(1);
  });
});
