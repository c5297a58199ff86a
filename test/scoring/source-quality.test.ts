import { describe, expect, test } from "vitest";
import { sourcesF1, sourcesPrecision, sourcesRecall } from "../../src/scoring/mail-scorers.js";
import { itself, trace } from "./trace.js";

const COPIES: Readonly<Record<string, string>> = { "<copy@x>": "<gold@x>", "gold@x": "<gold@x>" };
const sameMail = (id: string) => COPIES[id] ?? id;

describe("precision, recall and F1 of the sources", () => {
  test.each([
    ["the gold mail", ["<gold@x>"], ["<gold@x>"], 1, 1, 1],
    ["it and another", ["<gold@x>", "<other@x>"], ["<gold@x>"], 1 / 2, 1, 2 / 3],
    ["one of two", ["<gold@x>"], ["<gold@x>", "<second@x>"], 1, 1 / 2, 2 / 3],
    ["a copy of it", ["<copy@x>"], ["<gold@x>"], 1, 1, 1],
    ["it and its copy, which are one mail", ["<gold@x>", "<copy@x>", "gold@x"], ["<gold@x>"], 1, 1, 1],
    ["gold that names a copy too", ["<gold@x>"], ["<gold@x>", "<copy@x>"], 1, 1, 1],
    ["another mail", ["<other@x>"], ["<gold@x>"], 0, 0, 0],
    ["no mail, whose precision nobody can tell", [], ["<gold@x>"], null, 0, 0],
  ])("%s", (_, sources, gold, precision, recall, f1) => {
    const finished = trace({ sources }, { message_ids: gold });
    const values = [sourcesPrecision, sourcesRecall, sourcesF1].map(({ score }) => score(finished, sameMail).value);
    expect(values).toEqual([precision, recall, f1]);
  });

  test("cannot be told where the question has no gold mail", () => {
    for (const { score } of [sourcesPrecision, sourcesRecall, sourcesF1]) {
      expect(score(trace({ sources: ["<a@x>"] }, { message_ids: [] }), itself).value).toBeNull();
    }
  });
});
