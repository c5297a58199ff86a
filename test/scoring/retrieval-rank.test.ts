import { describe, expect, test } from "vitest";
import { foundAt1, foundAt5, foundAt10, goldRank } from "../../src/scoring/mail-scorers.js";
import type { ToolCallRecord } from "../../src/traces/trace.js";
import { called, itself, trace } from "./trace.js";

const sameMail = (id: string) => (id === "<copy@x>" ? "<gold@x>" : id);
const search = (...ids: string[]) => called("email_search", { emails: ids.map((message_id) => ({ message_id })) });
const others = (count: number) => Array.from({ length: count }, (_, i) => `<${i}@x>`);

describe("found@1, @5, @10 and the rank", () => {
  test.each<[string, ToolCallRecord[], (number | null)[]]>([
    ["no search", [], [0, 0, 0, null]],
    ["a search without it", [search(...others(3))], [0, 0, 0, null]],
    ["listed first", [search("<gold@x>", ...others(3))], [1, 1, 1, 1]],
    ["its copy listed first", [search("<copy@x>")], [1, 1, 1, 1]],
    ["listed fifth", [search(...others(4), "<gold@x>")], [0, 1, 1, 5]],
    ["listed sixth", [search(...others(5), "<gold@x>")], [0, 0, 1, 6]],
    ["listed eleventh", [search(...others(10), "<gold@x>")], [0, 0, 0, 11]],
    [
      "best in a later search: the rank is of the first that listed it",
      [search(...others(2)), search(...others(5), "<gold@x>"), search("<gold@x>")],
      [1, 1, 1, 6],
    ],
    ["only read", [called("email_get", { message_id: "<gold@x>", body: "b" })], [0, 0, 0, null]],
  ])("%s", (_, toolCalls, values) => {
    const finished = trace({ toolCalls });
    expect([foundAt1, foundAt5, foundAt10, goldRank].map(({ score }) => score(finished, sameMail).value)).toEqual(
      values,
    );
  });

  test("cannot be told where the question has no gold mail", () => {
    for (const { score } of [foundAt1, goldRank]) {
      expect(score(trace({ toolCalls: [search("<gold@x>")] }, { message_ids: [] }), itself)).toMatchObject({
        value: null,
        explanation: "the question has no gold mail",
      });
    }
  });
});
