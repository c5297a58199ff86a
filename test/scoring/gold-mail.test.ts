import { describe, expect, test } from "vitest";
import { foundGold, readGold, sourcesCorrect } from "../../src/scoring/mail-scorers.js";
import type { ToolCallRecord } from "../../src/traces/trace.js";
import { called, itself, trace } from "./trace.js";

const COPIES: Readonly<Record<string, string>> = { "<copy@x>": "<gold@x>", "gold@x": "<gold@x>" };
const sameMail = (id: string) => COPIES[id] ?? id;

const mail = (message_id: string) => ({ message_id, subject: "s", body: "b" });
const hits = (...ids: string[]) => ids.map((message_id) => ({ message_id, snippet: "…" }));
const list = (...ids: string[]) => ({ emails: hits(...ids), total: ids.length });

test.each([
  ["sourcesCorrect", sourcesCorrect],
  ["foundGold", foundGold],
  ["readGold", readGold],
])("%s cannot be told where the question has no gold mail", (_, scorer) => {
  const everything = { sources: ["<gold@x>"], toolCalls: [called("email_search", list("<gold@x>"))] };
  expect(scorer(trace(everything, { message_ids: [] }), itself)).toEqual({
    value: null,
    explanation: "the question has no gold mail",
  });
});

describe("sourcesCorrect is", () => {
  const score = (sources: string[], gold = ["<gold@x>"]) =>
    sourcesCorrect(trace({ sources }, { message_ids: gold }), sameMail).value;

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
    expect(foundGold(trace({ toolCalls }), sameMail).value).toBe(found);
    expect(readGold(trace({ toolCalls }), sameMail).value).toBe(read);
  });
});
