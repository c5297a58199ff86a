import { describe, expect, test } from "vitest";
import { tokenF1 } from "../../src/scoring/scorers.js";
import { itself, trace } from "./trace.js";

const score = (answer: string | null, gold: string) => tokenF1.score(trace({ answer }, { answer: gold }), itself).value;

describe("tokenF1", () => {
  // Worked by hand from SQuAD's evaluate-v2.0.py (normalize_answer, compute_f1).
  test.each([
    ["the same", "Denver Broncos", "Denver Broncos", 1],
    ["articles are none of it", "The Denver Broncos", "Denver Broncos", 1],
    ["nor are case and punctuation", "denver, broncos!", "Denver Broncos", 1],
    ["one of two words", "Denver", "Denver Broncos", 2 / 3],
    ["two of four and of three words", "Broncos of Denver Colorado", "Denver Broncos team", 4 / 7],
    ["a repeated word counts as often as both have it", "no no no", "no no", 4 / 5],
    ["punctuation joins, it does not part", "$1,248.17", "124817", 1],
    ["no word shared", "yes", "no", 0],
    ["words inside words are none", "theory", "ory", 0],
  ])("%s", (_, answer, gold, value) => {
    expect(score(answer, gold)).toBeCloseTo(value, 12);
  });

  test.each([
    ["", "", 1],
    ["the", "a", 1],
    ["", "gold", 0],
    ["answer", "?!", 0],
    [null, "gold", 0],
  ])("%j against %j is %d: without a word on one side only equality counts", (answer, gold, value) => {
    expect(score(answer, gold)).toBe(value);
  });
});
