import { describe, expect, it } from "vitest";
import { questionStatistics } from "../../src/questions/dataset.js";
import { questionRows } from "./question-rows.js";

describe("questionStatistics", () => {
  it("of no questions has no averages and no dates, but no NaN", () => {
    const statistics = questionStatistics({ split: "test", questions: [] });
    expect(statistics).toMatchObject({
      totalTasks: 0,
      uniqueInboxes: 0,
      averageRealism: null,
      averageMessageIds: null,
      firstDate: null,
      lastDate: null,
    });
    expect(statistics.realismHistogram.every((bin) => bin.count === 0)).toBe(true);
  });

  it("counts, averages and finds the first and last day", () => {
    const questions = questionRows(4).map((row, i) => ({
      ...row,
      how_realistic: [0.3, 0.7, 0.75, 1][i] ?? 0,
      message_ids: row.message_ids.slice(0, i % 3),
      query_date: ["2001-05-14", "1999-12-31", "2002-01-01", "2001-05-14"][i] ?? "",
    }));
    expect(questionStatistics({ split: "train", questions })).toEqual({
      split: "train",
      totalTasks: 4,
      uniqueInboxes: 2,
      averageRealism: 0.6875,
      averageMessageIds: 0.75,
      firstDate: "1999-12-31",
      lastDate: "2002-01-01",
      realismHistogram: [0, 0, 0, 1, 0, 0, 0, 2, 0, 1].map((count, i) => ({ from: i / 10, to: (i + 1) / 10, count })),
    });
  });

  it("puts every bound into the bin that begins with it, and 1 into the last", () => {
    const bounds = [0, 0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 0.9, 1];
    const questions = bounds.map((how_realistic, i) => ({ ...questionRows(1, i)[0], how_realistic }) as never);
    const { realismHistogram } = questionStatistics({ split: "test", questions });
    expect(realismHistogram.map((bin) => bin.count)).toEqual([1, 1, 1, 1, 1, 1, 1, 1, 1, 2]);
  });
});
