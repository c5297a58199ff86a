import { describe, expect, it } from "vitest";
import { measureSearch } from "../../src/questions/measure-search.js";
import { wilson } from "../../src/statistics/intervals.js";
import type { Question } from "../../src/tasks/question.js";

const asks = (id: number, ...message_ids: string[]): Question => ({
  id,
  question: String(id),
  answer: "",
  message_ids,
  how_realistic: 1,
  inbox_address: "a@x",
  query_date: "2001-01-01",
});

/** Returns twelve emails with the gold email at rank `place`. */
const listWith = (place: number, gold: string) =>
  Array.from({ length: 12 }, (_, i) => (i + 1 === place ? gold : `<other${i}@x>`));

const itself = (id: string) => id;

describe("measureSearch", () => {
  const places: Record<string, number> = { 1: 1, 2: 2, 3: 5, 4: 6, 5: 10, 6: 11 };
  const questions = [...Object.keys(places).map((id) => asks(Number(id), "<gold@x>")), asks(7)];

  it("returns recall at 1, 5 and 10 and the mean of 1/rank over the questions with gold emails", () => {
    const quality = measureSearch(questions, ({ id }) => listWith(places[id] ?? 0, "<gold@x>"), itself);
    expect(quality).toMatchObject({ questions: 6, recallAt1: 1 / 6, recallAt5: 3 / 6, recallAt10: 5 / 6, missed: [6] });
    expect(quality.mrrAt10).toBeCloseTo((1 + 1 / 2 + 1 / 5 + 1 / 6 + 1 / 10) / 6, 12);
  });

  it("counts copies as the gold email, and uses the first of several gold emails", () => {
    const search = () => ["<none@x>", "<copy@x>", "<second@x>"];
    const sameMail = (id: string) => (id === "<copy@x>" ? "<gold@x>" : id);
    expect(measureSearch([asks(1, "<gold@x>")], search, sameMail)).toMatchObject({
      recallAt1: 0,
      recallAt5: 1,
      mrrAt10: 0.5,
    });
    expect(measureSearch([asks(1, "<second@x>", "<copy@x>")], search, sameMail).mrrAt10).toBe(0.5);
    expect(measureSearch([asks(1, "<gold@x>")], search, itself)).toMatchObject({
      recallAt10: 0,
      mrrAt10: 0,
      missed: [1],
    });
  });

  it("returns the rank of every question and intervals around the values", () => {
    const { ranks, estimates } = measureSearch(questions, ({ id }) => listWith(places[id] ?? 0, "<gold@x>"), itself);
    expect(ranks.map(({ id, rank }) => [id, rank])).toEqual([
      [1, 1],
      [2, 2],
      [3, 5],
      [4, 6],
      [5, 10],
      [6, null],
    ]);
    expect(estimates.recallAt5).toMatchObject({ value: 0.5, n: 6, ...wilson(3, 6), method: "wilson" });
    const { value, low, high, method } = estimates.mrrAt10;
    expect([Number(low) < Number(value), Number(value) < Number(high), method]).toEqual([true, true, "wilson_mean"]);
  });

  it("returns nearest-rank latencies, or null values if there are no questions", () => {
    const { latencyMs } = measureSearch([asks(1, "<g@x>")], () => [], itself);
    expect(new Set([latencyMs.p50, latencyMs.p95, latencyMs.p99]).size).toBe(1);
    const nothing = { questions: 0, recallAt1: null, recallAt5: null, recallAt10: null, mrrAt10: null, missed: [] };
    expect(measureSearch([asks(7)], () => [], itself)).toMatchObject({
      ...nothing,
      ranks: [],
      latencyMs: { p50: null, p95: null, p99: null },
    });
  });
});
