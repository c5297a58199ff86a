import * as fc from "fast-check";
import { describe, expect, it } from "vitest";
import { KNOWN_BAD_IDS, selectQuestions, shuffled } from "../../src/questions/dataset.js";
import type { Question } from "../../src/tasks/question.js";
import { questionRows } from "./question-rows.js";

const QUESTIONS: Question[] = questionRows(60).map((row, i) => ({
  ...row,
  how_realistic: (i % 8) / 10 + 0.3,
  message_ids: row.message_ids.slice(0, i % 3),
}));

const ids = (questions: readonly Question[]) => questions.map((question) => question.id);

describe("selectQuestions", () => {
  it("refuses ids the dataset does not have, naming them once each", () => {
    expect(() => selectQuestions(QUESTIONS, { ids: [3, 99, 61, 99], limit: 0 })).toThrow(
      "the dataset has no question with id 99, 61",
    );
  });

  it("takes the first questions, and all of them for 0", () => {
    expect(ids(selectQuestions(QUESTIONS, { limit: 3 }))).toEqual([1, 2, 3]);
    expect(selectQuestions(QUESTIONS, { limit: 0 })).toEqual(QUESTIONS);
    expect(selectQuestions(QUESTIONS, { limit: 1000 })).toEqual(QUESTIONS);
  });

  it("keeps the order of the dataset, whatever the order of the ids", () => {
    expect(ids(selectQuestions(QUESTIONS, { ids: [30, 2, 7, 2], limit: 0 }))).toEqual([2, 7, 30]);
  });

  it("filters by each of its conditions, bounds included", () => {
    const realistic = selectQuestions(QUESTIONS, { minRealism: 0.9, limit: 0 });
    expect(realistic.length).toBeGreaterThan(0);
    expect(realistic).toEqual(QUESTIONS.filter((question) => question.how_realistic >= 0.9));
    expect(ids(selectQuestions(QUESTIONS, { maxSources: 1, limit: 4 }))).toEqual([1, 2, 4, 5]);
    const ofLee = selectQuestions(QUESTIONS, { inbox: " Lee.Roe@example.com ", limit: 0 });
    expect(ids(ofLee)).toEqual(ids(QUESTIONS).filter((id) => id % 2 === 0));
    expect(selectQuestions(QUESTIONS, { inbox: "nobody@example.com", limit: 0 })).toEqual([]);
  });

  it("leaves out the known bad ones when told to", () => {
    expect([...KNOWN_BAD_IDS].sort((a, b) => a - b)).toEqual([49, 101, 129, 171, 208, 266, 327]);
    expect(ids(selectQuestions(QUESTIONS, { limit: 0 }))).toContain(49);
    expect(ids(selectQuestions(QUESTIONS, { excludeKnownBad: true, limit: 0 }))).not.toContain(49);
  });

  it("filters before it takes the first", () => {
    expect(ids(selectQuestions(QUESTIONS, { inbox: "lee.roe@example.com", limit: 2 }))).toEqual([2, 4]);
  });

  it("gives with a smaller limit the beginning of what a larger one gives", () => {
    const all = selectQuestions(QUESTIONS, { shuffleSeed: 7, limit: 0 });
    expect(selectQuestions(QUESTIONS, { shuffleSeed: 7, limit: 5 })).toEqual(all.slice(0, 5));
    expect(ids(all)).not.toEqual(ids(QUESTIONS));
  });

  it("keeps the order for a null seed and shuffles for seed 0", () => {
    expect(selectQuestions(QUESTIONS, { shuffleSeed: null, limit: 0 })).toEqual(QUESTIONS);
    expect(selectQuestions(QUESTIONS, { shuffleSeed: 0, limit: 0 })).not.toEqual(QUESTIONS);
  });

  it("leaves the questions it was given as they were", () => {
    const before = ids(QUESTIONS);
    selectQuestions(QUESTIONS, { shuffleSeed: 3, limit: 0 });
    expect(ids(QUESTIONS)).toEqual(before);
  });
});

describe("shuffled", () => {
  it("gives the same order on every machine and in every version", () => {
    expect(shuffled([0, 1, 2, 3, 4, 5, 6, 7, 8, 9], 42)).toEqual([0, 7, 3, 5, 2, 1, 8, 9, 4, 6]);
  });

  it("holds the same things, for any seed", () => {
    fc.assert(
      fc.property(fc.array(fc.integer()), fc.integer(), (items, seed) => {
        const result = shuffled(items, seed);
        expect(result.toSorted((a, b) => a - b)).toEqual(items.toSorted((a, b) => a - b));
        expect(shuffled(items, seed)).toEqual(result);
      }),
    );
  });

  it("brings everything everywhere about equally often", () => {
    const counts = Array.from({ length: 4 }, () => [0, 0, 0, 0]);
    for (let seed = 0; seed < 4000; seed++) {
      shuffled([0, 1, 2, 3], seed).forEach((item, place) => {
        const row = counts[item] ?? [];
        row[place] = (row[place] ?? 0) + 1;
      });
    }
    // 1000 expected, standard deviation 27.
    for (const count of counts.flat()) expect(Math.abs(count - 1000)).toBeLessThan(150);
  });
});
