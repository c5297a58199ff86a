import { describe, expect, test } from "vitest";
import {
  abstention,
  falseAbstention,
  foundAt1,
  foundAt5,
  foundAt10,
  foundGold,
  goldRank,
  readGold,
  sourcesCorrect,
  sourcesF1,
  sourcesPrecision,
  sourcesRecall,
} from "../../src/scoring/gold-mail-scorers.js";
import { hallucination } from "../../src/scoring/scorers.js";
import type { ToolCallRecord, Verdict } from "../../src/traces/trace.js";
import { judged } from "./judged-trace.js";
import { called, itself, trace, type Unscored } from "./trace.js";

const COPIES: Readonly<Record<string, string>> = { "<copy@x>": "<gold@x>", "gold@x": "<gold@x>" };

describe("gold mail", () => {
  const sameMail = (id: string) => COPIES[id] ?? id;
  const mail = (message_id: string) => ({ message_id, subject: "s", body: "b" });
  const hits = (...ids: string[]) => ids.map((message_id) => ({ message_id, snippet: "…" }));
  const list = (...ids: string[]) => ({ emails: hits(...ids), total: ids.length });

  test.each(
    Object.entries({
      ...{ sourcesCorrect, foundGold, readGold, foundAt1, foundAt5, foundAt10, goldRank },
      ...{ sourcesPrecision, sourcesRecall, sourcesF1 },
    }),
  )("%s cannot be told where the question has no gold mail", (_, scorer) => {
    const everything = { sources: ["<gold@x>"], toolCalls: [called("email_search", list("<gold@x>"))] };
    expect(scorer.score(trace(everything, { message_ids: [] }), itself)).toEqual({
      value: null,
      explanation: "no gold emails for this question",
    });
  });

  describe("sourcesCorrect is", () => {
    const score = (sources: string[], gold = ["<gold@x>"]) =>
      sourcesCorrect.score(trace({ sources }, { message_ids: gold }), sameMail).value;

    test.each([
      ["no source", []],
      ["another mail", ["<other@x>"]],
      ["part of the id", ["<gold@x"]],
    ])("0 for %s", (_, sources) => {
      expect(score(sources)).toBe(0);
    });

    test.each([
      ["the gold mail", ["<gold@x>"]],
      ["a copy of it", ["<copy@x>"]],
      ["it without its brackets", ["gold@x"]],
      ["it among others", ["<other@x>", "<gold@x>"]],
    ])("1 for %s", (_, sources) => {
      expect(score(sources)).toBe(1);
    });

    test("1 for any one of several gold mails, also where gold names a copy", () => {
      expect(score(["<second@x>"], ["<gold@x>", "<second@x>"])).toBe(1);
      expect(score(["<gold@x>"], ["<copy@x>"])).toBe(1);
      expect(score(["<third@x>"], ["<gold@x>", "<second@x>"])).toBe(0);
    });
  });

  describe("foundGold and readGold", () => {
    const cases: [string, ToolCallRecord[], number, number][] = [
      ["no call", [], 0, 0],
      ["a search that lists others", [called("email_search", list("<other@x>"))], 0, 0],
      ["a search that lists it", [called("email_search", list("<other@x>", "<gold@x>"))], 1, 0],
      ["a search that lists a copy", [called("email_search", list("<copy@x>"))], 1, 0],
      ["ART's search that lists it", [called("search_emails", hits("<gold@x>"))], 1, 0],
      ["a search of any other name", [called("my_search", list("<gold@x>"))], 1, 0],
      ["a mail read without a search", [called("email_get", mail("<gold@x>"))], 0, 1],
      ["a copy read", [called("read_email", mail("<copy@x>"))], 0, 1],
      ["another mail read", [called("email_get", mail("<other@x>"))], 0, 0],
      ["a mail asked for and refused", [called("email_get", null)], 0, 0],
      ["a result that only names it", [called("note", { message_id: "<gold@x>" })], 0, 0],
      [
        "results of no known form",
        [called("x", [1, null, "a"]), called("x", { emails: "<gold@x>" }), called("x", "s")],
        0,
        0,
      ],
      [
        "found first and read later",
        [
          called("email_search", list("<gold@x>")),
          called("email_get", mail("<other@x>")),
          called("email_get", mail("<gold@x>")),
        ],
        1,
        1,
      ],
    ];

    test.each(cases)("after %s", (_, toolCalls, found, read) => {
      expect(foundGold.score(trace({ toolCalls }), sameMail).value).toBe(found);
      expect(readGold.score(trace({ toolCalls }), sameMail).value).toBe(read);
    });
  });
});

describe("found@1, @5, @10 and the rank", () => {
  const sameMail = (id: string) => (id === "<copy@x>" ? "<gold@x>" : id);
  const search = (...ids: string[]) => called("email_search", { emails: ids.map((message_id) => ({ message_id })) });
  const others = (count: number) => Array.from({ length: count }, (_, i) => `<${i}@x>`);

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
});

describe("precision, recall and F1 of the sources", () => {
  const sameMail = (id: string) => COPIES[id] ?? id;

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
});

const UNANSWERABLE = { answer: "I don't know", message_ids: [] };

describe("abstention and false abstention", () => {
  test.each<[string, Partial<Unscored>, Parameters<typeof trace>[1], number | null, number | null]>([
    ["are 1 and none for an unanswerable question", { answer: "I don't know" }, UNANSWERABLE, 1, null],
    ["count other words too", { answer: "The mailbox does not contain that." }, UNANSWERABLE, 1, null],
    ["are none and 1 for an answerable question", { answer: "I don't know" }, {}, null, 1],
    ["are none and 0 if an answer is tried", { answer: "$41" }, {}, null, 0],
    ["are 0 and none if an unanswerable question is answered", { answer: "$41" }, UNANSWERABLE, 0, null],
    ["do not count running out of turns", { answer: null, ending: "out_of_turns" }, UNANSWERABLE, 0, null],
    ["do not count it for an answerable question either", { answer: null, ending: "out_of_turns" }, {}, null, 0],
    ["need neither gold answer nor gold mail", { answer: "Unknown." }, { answer: "", message_ids: [] }, 1, null],
  ])("%s", (_, changes, task, right, wrong) => {
    expect(abstention.score(trace(changes, task), itself).value).toBe(right);
    expect(falseAbstention.score(trace(changes, task), itself).value).toBe(wrong);
  });
});

describe("hallucination is", () => {
  const score = (answer: string | null, task: Parameters<typeof trace>[1], verdict?: Verdict | null) =>
    hallucination.score(trace({ answer, judge: verdict === undefined ? null : judged(verdict) }, task), itself).value;

  test.each<[string, string | null, Parameters<typeof trace>[1], Verdict | null | undefined, number | null]>([
    ["a wrong answer", "$41", {}, "wrong", 1],
    ["not a correct one", "$40", {}, "correct", 0],
    ["nor a partly correct one", "$40", {}, "partly", 0],
    ["nor none at all", null, {}, "abstained", 0],
    ["nor what the judge takes for an abstention", "It is not in there, I fear", {}, "abstained", 0],
    ["any answer where there is none, judge or not", "$41", UNANSWERABLE, undefined, 1],
    ["not an abstention there", "I don't know", UNANSWERABLE, undefined, 0],
    ["nor one only the judge knows for one", "It is not in there, I fear", UNANSWERABLE, "correct", 0],
    ["unscored without a judge", "$41", {}, undefined, null],
    ["unscored for an abstention too, else the rate would be 0", "I don't know", {}, undefined, null],
    ["unscored where the judge failed", "$41", {}, null, null],
  ])("%s", (_, answer, task, verdict, value) => {
    expect(score(answer, task, verdict)).toBe(value);
  });
});
