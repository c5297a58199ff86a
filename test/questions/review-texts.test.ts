import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { checkerAgreement, locatePassage, mostLikelyPassage, replaceJsonTexts } from "../../src/questions/evidence.js";
import type { QuestionCheck } from "../../src/questions/provenance.js";

describe("locatePassage", () => {
  const lit = (text: string, passage: string) => {
    const span = locatePassage(text, passage);
    return span === null ? null : text.slice(span.start, span.end);
  };

  it.each([
    ["a wrapped line", "We meet\nat  noon. Bye", "we meet at noon.", "We meet\nat  noon."],
    ["a quotation", "> We meet\n> at noon.", "We meet at noon.", "We meet\n> at noon."],
    ["letters that are two in lower case", "İİ We meet at noon.", "meet at noon", "meet at noon"],
    ["what is not there", "We meet at noon.", "we meet at one", null],
    ["what stands in any text", "We meet at noon.", "at", null],
  ])("finds %s", (_, text, passage, found) => expect(lit(text, passage)).toBe(found));
});

it("finds the passage that holds the answer's words", () => {
  const body = "Hello,\n\nthe draft went out to all.\nThe dues are $1,250 a year.\n\nRegards";
  expect(mostLikelyPassage(body, { question: "What are the dues?", answer: "$1,250" })).toBe(
    "The dues are $1,250 a year.",
  );
  expect(mostLikelyPassage(body, { question: "Where did the draft go?", answer: "nowhere" })).toBe(
    "the draft went out to all.",
  );
  expect(mostLikelyPassage("\n\n", { question: "Who?", answer: "Ann" })).toBeNull();
});

describe("replaceJsonTexts", () => {
  it("changes the texts that are named, and no other byte", () => {
    const line =
      '{ "id":7, "answer" : "a \\"b\\", {c", "meta":{"answer":"inner"},"list":["answer"],"n":0.70, "x":"\\u00e9"}\r';
    expect(replaceJsonTexts(line, { answer: 'new "one"', question: "none" })).toBe(
      line.replace('"a \\"b\\", {c"', '"new \\"one\\""'),
    );
  });

  it("gives the same object otherwise, for any", () => {
    fc.assert(
      fc.property(fc.dictionary(fc.string(), fc.jsonValue()), fc.string(), fc.string(), (object, before, after) => {
        const whole = { ...object, answer: before };
        const replaced = JSON.parse(replaceJsonTexts(JSON.stringify(whole), { answer: after }));
        expect(replaced).toEqual(JSON.parse(JSON.stringify({ ...whole, answer: after })));
      }),
    );
  });
});

describe("checkerAgreement", () => {
  const check = (name: QuestionCheck["check"], passed: boolean) => ({ check: name, passed });

  it("counts who says the same of a question as it stood, in all and by check", () => {
    const { all, byCheck } = checkerAgreement([
      { decision: "accepted", checks: [check("gold", true), check("sources", true)] },
      { decision: "rejected", checks: [check("gold", true), check("sources", false)] },
      { decision: "edited", checks: [check("gold", true)] },
      { decision: "accepted", checks: [] },
    ]);
    expect(all).toMatchObject({ n: 3, value: 2 / 3 });
    expect(all.low).toBeCloseTo(0.208, 3);
    expect(all.high).toBeCloseTo(0.939, 3);
    expect(byCheck.map(({ check: name, agreement }) => [name, agreement.value, agreement.n])).toEqual([
      ["gold", 1 / 3, 3],
      ["sources", 1, 2],
    ]);
  });

  it("says nothing of nothing", () => {
    expect(checkerAgreement([])).toMatchObject({ all: { value: null, n: 0 }, byCheck: [] });
  });
});
