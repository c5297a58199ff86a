import { describe, expect, test } from "vitest";
import { abstention, falseAbstention } from "../../src/scoring/scorers/abstention-scorers.js";
import {
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
} from "../../src/scoring/scorers/gold-mail-scorers.js";
import { hallucination } from "../../src/scoring/scorers/judge-scorers.js";
import type { Verdict } from "../../src/traces/judgment.js";
import type { ToolCallRecord } from "../../src/traces/trace.js";
import { judged } from "./judged-trace.js";
import { called, itself, TURN, trace, type Unscored } from "./trace.js";

const COPIES: Readonly<Record<string, string>> = { "<copy@x>": "<gold@x>", "gold@x": "<gold@x>" };

describe("scorers based on gold emails", () => {
  const sameMail = (id: string) => COPIES[id] ?? id;
  const mail = (message_id: string) => ({ message_id, subject: "s", body: "b" });
  const hits = (...ids: string[]) => ids.map((message_id) => ({ message_id, snippet: "…" }));
  const list = (...ids: string[]) => ({ emails: hits(...ids), total: ids.length });

  test.each(
    Object.entries({
      sourcesCorrect,
      foundGold,
      readGold,
      foundAt1,
      foundAt5,
      foundAt10,
      goldRank,
      sourcesPrecision,
      sourcesRecall,
      sourcesF1,
    }),
  )("return null from %s if the question has no gold emails", (_, scorer) => {
    const everything = { sources: ["<gold@x>"], toolCalls: [called("email_search", list("<gold@x>"))] };
    expect(scorer.score(trace(everything, { message_ids: [] }), itself)).toEqual({
      value: null,
      explanation: "no gold emails for this question",
    });
  });

  describe("sourcesCorrect", () => {
    const score = (sources: string[], gold = ["<gold@x>"]) =>
      sourcesCorrect.score(trace({ sources }, { message_ids: gold }), sameMail).value;

    test.each([
      ["a missing source", []],
      ["another email", ["<other@x>"]],
      ["part of the id", ["<gold@x"]],
    ])("returns 0 for %s", (_, sources) => {
      expect(score(sources)).toBe(0);
    });

    test.each([
      ["the gold email", ["<gold@x>"]],
      ["a copy of the gold email", ["<copy@x>"]],
      ["the id without angle brackets", ["gold@x"]],
      ["the gold email and others", ["<other@x>", "<gold@x>"]],
    ])("returns 1 for %s", (_, sources) => {
      expect(score(sources)).toBe(1);
    });

    test("returns 1 for any of several gold emails, including copies", () => {
      expect(score(["<second@x>"], ["<gold@x>", "<second@x>"])).toBe(1);
      expect(score(["<gold@x>"], ["<copy@x>"])).toBe(1);
      expect(score(["<third@x>"], ["<gold@x>", "<second@x>"])).toBe(0);
    });
  });

  describe("foundGold and readGold", () => {
    const cases: [string, ToolCallRecord[], number, number][] = [
      ["without calls", [], 0, 0],
      ["after a search that lists other emails", [called("email_search", list("<other@x>"))], 0, 0],
      ["after a search that lists it", [called("email_search", list("<other@x>", "<gold@x>"))], 1, 0],
      ["after a search that lists a copy", [called("email_search", list("<copy@x>"))], 1, 0],
      ["after ART's search that lists it", [called("search_emails", hits("<gold@x>"))], 1, 0],
      ["after a search tool with another name", [called("my_search", list("<gold@x>"))], 1, 0],
      ["after opening it without a search", [called("email_get", mail("<gold@x>"))], 0, 1],
      ["after opening a copy", [called("read_email", mail("<copy@x>"))], 0, 1],
      ["after opening another email", [called("email_get", mail("<other@x>"))], 0, 0],
      ["after a failed call", [called("email_get", null)], 0, 0],
      ["after a result that only contains its id", [called("note", { message_id: "<gold@x>" })], 0, 0],
      [
        "after results of an unknown form",
        [called("x", [1, null, "a"]), called("x", { emails: "<gold@x>" }), called("x", "s")],
        0,
        0,
      ],
      [
        "after finding it first and opening it later",
        [
          called("email_search", list("<gold@x>")),
          called("email_get", mail("<other@x>")),
          called("email_get", mail("<gold@x>")),
        ],
        1,
        1,
      ],
    ];

    test.each(cases)("score the trace %s", (_, toolCalls, found, read) => {
      expect(foundGold.score(trace({ toolCalls, turns: [TURN] }), sameMail).value).toBe(found);
      expect(readGold.score(trace({ toolCalls, turns: [TURN] }), sameMail).value).toBe(read);
    });
  });
});

describe("scores of searches", () => {
  const search = called("email_search", { emails: [{ message_id: "<other@x>" }] });

  test.each<[string, Partial<Unscored>, boolean]>([
    ["an agent of art-e without a search", { turns: [TURN] }, true],
    ["an endpoint", { model: "endpoint/acme", turns: [TURN] }, false],
    ["a program that does not use the tools of art-e", { model: "command/agent.py", turns: [TURN] }, false],
    ["a program that uses them", { model: "command/agent.py", turns: [TURN], toolCalls: [search] }, true],
    ["a function that does not use them", { model: "function/answer", turns: [TURN] }, false],
    ["a file that contains only answers", { turns: [] }, false],
    ["a file that contains tool calls but no model calls", { turns: [], toolCalls: [search] }, true],
    ["an agent that ended before its first model call", { turns: [], answer: null, ending: "out_of_budget" }, true],
  ])("have a value or null for %s, but never 0 if unknown", (_, changes, isKnown) => {
    const scores = [foundGold, readGold, foundAt1, foundAt5, foundAt10].map(({ score }) =>
      score(trace(changes), itself),
    );
    expect(new Set(scores.map(({ value }) => value))).toEqual(new Set([isKnown ? 0 : null]));
    if (!isKnown)
      expect(goldRank.score(trace(changes), itself).explanation).toBe("the searches of this agent are unknown");
  });
});

describe("foundAt1, foundAt5, foundAt10 and goldRank", () => {
  const sameMail = (id: string) => (id === "<copy@x>" ? "<gold@x>" : id);
  const search = (...ids: string[]) => called("email_search", { emails: ids.map((message_id) => ({ message_id })) });
  const others = (count: number) => Array.from({ length: count }, (_, i) => `<${i}@x>`);

  test.each<[string, ToolCallRecord[], (number | null)[]]>([
    ["in a trace without a search", [], [0, 0, 0, null]],
    ["that is missing in the results", [search(...others(3))], [0, 0, 0, null]],
    ["that is listed first", [search("<gold@x>", ...others(3))], [1, 1, 1, 1]],
    ["whose copy is listed first", [search("<copy@x>")], [1, 1, 1, 1]],
    ["that is listed second", [search("<0@x>", "<gold@x>")], [0, 1, 1, 2]],
    ["that is listed fifth", [search(...others(4), "<gold@x>")], [0, 1, 1, 5]],
    ["that is listed sixth", [search(...others(5), "<gold@x>")], [0, 0, 1, 6]],
    ["that is listed eleventh", [search(...others(10), "<gold@x>")], [0, 0, 0, 11]],
    [
      "that is listed higher in a later search, with the rank in the first search",
      [search(...others(2)), search(...others(5), "<gold@x>"), search("<gold@x>")],
      [1, 1, 1, 6],
    ],
    ["that is opened without a search", [called("email_get", { message_id: "<gold@x>", body: "b" })], [0, 0, 0, null]],
  ])("score a gold email %s", (_, toolCalls, values) => {
    const finished = trace({ toolCalls, turns: [TURN] });
    expect([foundAt1, foundAt5, foundAt10, goldRank].map(({ score }) => score(finished, sameMail).value)).toEqual(
      values,
    );
  });
});

describe("sourcesPrecision, sourcesRecall and sourcesF1", () => {
  const sameMail = (id: string) => COPIES[id] ?? id;

  test.each([
    ["the gold email", ["<gold@x>"], ["<gold@x>"], 1, 1, 1],
    ["the gold email and another one", ["<gold@x>", "<other@x>"], ["<gold@x>"], 1 / 2, 1, 2 / 3],
    ["one of two gold emails", ["<gold@x>"], ["<gold@x>", "<second@x>"], 1, 1 / 2, 2 / 3],
    ["a copy", ["<copy@x>"], ["<gold@x>"], 1, 1, 1],
    ["the gold email and its copies only once", ["<gold@x>", "<copy@x>", "gold@x"], ["<gold@x>"], 1, 1, 1],
    ["gold ids that include a copy only once", ["<gold@x>"], ["<gold@x>", "<copy@x>"], 1, 1, 1],
    ["another email", ["<other@x>"], ["<gold@x>"], 0, 0, 0],
    ["missing citations, and the precision is null", [], ["<gold@x>"], null, 0, 0],
  ])("score %s", (_, sources, gold, precision, recall, f1) => {
    const finished = trace({ sources }, { message_ids: gold });
    const values = [sourcesPrecision, sourcesRecall, sourcesF1].map(({ score }) => score(finished, sameMail).value);
    expect(values).toEqual([precision, recall, f1]);
  });
});

const UNANSWERABLE = { answer: "I don't know", message_ids: [] };

describe("abstention and falseAbstention", () => {
  test.each<[string, Partial<Unscored>, Parameters<typeof trace>[1], number | null, number | null]>([
    ["are 1 and null if the question is unanswerable", { answer: "I don't know" }, UNANSWERABLE, 1, null],
    ["recognize other wordings", { answer: "The mailbox does not contain that." }, UNANSWERABLE, 1, null],
    ["are null and 1 if the question is answerable", { answer: "I don't know" }, {}, null, 1],
    ["are null and 0 if the agent attempts an answer", { answer: "$41" }, {}, null, 0],
    ["are 0 and null if an unanswerable question is answered", { answer: "$41" }, UNANSWERABLE, 0, null],
    [
      "do not count running out of turns as an abstention",
      { answer: null, ending: "out_of_turns" },
      UNANSWERABLE,
      0,
      null,
    ],
    [
      "do not count running out of turns on an answerable question as an abstention",
      { answer: null, ending: "out_of_turns" },
      {},
      null,
      0,
    ],
    [
      "work even if there is no gold answer and no gold email",
      { answer: "Unknown." },
      { answer: "", message_ids: [] },
      1,
      null,
    ],
  ])("give the expected values (%s)", (_, changes, task, right, wrong) => {
    expect(abstention.score(trace(changes, task), itself).value).toBe(right);
    expect(falseAbstention.score(trace(changes, task), itself).value).toBe(wrong);
  });
});

describe("hallucination", () => {
  const score = (answer: string | null, task: Parameters<typeof trace>[1], verdict?: Verdict | null) =>
    hallucination.score(trace({ answer, judge: verdict === undefined ? null : judged(verdict) }, task), itself).value;

  test.each<[string, string | null, Parameters<typeof trace>[1], Verdict | null | undefined, number | null]>([
    ["is 1 for a wrong answer", "$41", {}, "wrong", 1],
    ["is 0 for a correct answer", "$40", {}, "correct", 0],
    ["is 0 for a partly correct answer", "$40", {}, "partly", 0],
    ["is 0 for a missing answer", null, {}, "abstained", 0],
    ["is 0 for an abstention that the judge recognizes", "It is not in there, I fear", {}, "abstained", 0],
    ["is 1 for any answer to an unanswerable question, even if there is no judge", "$41", UNANSWERABLE, undefined, 1],
    ["is 0 for an abstention on an unanswerable question", "I don't know", UNANSWERABLE, undefined, 0],
    [
      "is 0 for an abstention that only the judge recognizes on an unanswerable question",
      "It is not in there, I fear",
      UNANSWERABLE,
      "correct",
      0,
    ],
    ["is null if there is no judge", "$41", {}, undefined, null],
    [
      "is null for an abstention if there is no judge, because the rate would be biased",
      "I don't know",
      {},
      undefined,
      null,
    ],
    ["is null if the judge failed", "$41", {}, null, null],
  ])("gives the expected value (%s)", (_, answer, task, verdict, value) => {
    expect(score(answer, task, verdict)).toBe(value);
  });
});
