import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { dateMatch, numberMatch } from "../../src/scoring/scorers.js";
import type { ScorerEntry } from "../../src/traces/score.js";
import { demoQuestions } from "../cli/art-e.js";
import { itself, trace } from "./trace.js";

const by =
  ({ score }: ScorerEntry) =>
  (answer: string | null, gold: string) =>
    score(trace({ answer }, { answer: gold }), itself).value;
const numbers = by(numberMatch);
const dates = by(dateMatch);

describe("numberMatch is", () => {
  test.each([
    ["$1.5 million", "1,500,000"],
    ["$1.5MM", "1,500,000"],
    ["1.5m", "$1,500,000"],
    ["3k", "3,000"],
    ["three thousand", "3000"],
    ["twenty-five", "25"],
    ["one hundred and twenty five thousand", "$125,000"],
    ["two dozen", "24"],
    ["12 hundred", "1,200"],
    ["5%", "5 percent"],
    ["five per cent", "5 %"],
    ["0.05", "5%"],
    ["-5", "−5"],
    ["US$40.00", "$40"],
    ["It is $158,321.16 (deal 573111).", "$158,321.16"],
    ["713.853.1234", "(713) 853-1234"],
    ["713-853-1234", "1-713-853-1234"],
    ["the 5th floor", "5"],
    ["between 10 and 20", "10-20"],
    ["40kg", "40"],
    ["in the year 2001", "2001"],
    ["on 5/5/2001", "2001"],
    ["April 27-28", "28"],
    ["May 22", "the 22nd"],
    ["2.5 billion", "2,500,000,000"],
    ["3:15 pm", "1515"],
  ])("1 for %j where the gold answer is %j", (answer, gold) => {
    expect(numbers(answer, gold)).toBe(1);
  });

  test.each([
    ["1,500", "$1.5 million"],
    ["15", "1.5"],
    ["Q3", "3"],
    ["EB3801", "3801"],
    ["none", "40"],
    [null, "40"],
    ["5", "-5"],
    ["10", "10-20"],
    ["400", "40"],
    ["thirty", "13"],
  ])("0 for %j where the gold answer is %j", (answer, gold) => {
    expect(numbers(answer, gold)).toBe(0);
  });

  test.each(["Kay Mann", "One of the traders", "May 5, 2001 at 9:30 am", "Q3"])(
    "not told where the gold answer is %j, which holds no number",
    (gold) => {
      expect(numbers("40", gold)).toBeNull();
    },
  );
});

describe("dateMatch is", () => {
  test.each([
    ["9:30 am", "0930"],
    ["9:30 a.m.", "9:30"],
    ["9:30", "9:30 PM"],
    ["9.30 am", "09:30"],
    ["9am", "9:00 a.m."],
    ["14:30", "2:30 pm"],
    ["1430 hours", "2:30 p.m."],
    ["noon", "12 pm"],
    ["12 noon", "12:00"],
    ["midnight", "0:00"],
    ["from 5:50 - 6:20 pm", "5:50 to 6:20 PM"],
    ["9-10 am", "9 to 10 a.m."],
    ["May 5, 2001", "5/5/01"],
    ["2001-05-05", "5/5/01"],
    ["May 5, 2001", "2001-05-05"],
    ["the 5th of May 2001", "May 5th, 2001"],
    ["5 May 2001", "May 5 2001"],
    ["Monday, Dec. 3", "December 3"],
    ["12-31-1999", "Dec 31, '99"],
    ["13/5/2001", "5/13/2001"],
    ["5/14", "May 14"],
    ["June 2001", "June, 2001"],
  ])("1 for %j where the gold answer is %j, and the other way round", (a, b) => {
    expect(dates(a, b)).toBe(1);
    expect(dates(b, a)).toBe(1);
  });

  test.each([
    ["May 5", "May 5, 2001"],
    ["May 5, 2001", "May 5"],
    ["May 5, 2001", "May 2001"],
    ["on May 5 at 9:30, in EB3801", "May 5"],
  ])("1 for %j where the gold answer is %j: what one leaves open may be anything", (answer, gold) => {
    expect(dates(answer, gold)).toBe(1);
  });

  test.each([
    ["9:30 pm", "9:30 am"],
    ["10:30", "9:30"],
    ["May 6, 2001", "May 5, 2001"],
    ["May 5, 2000", "May 5, 2001"],
    ["May 2001", "May 5, 2001"],
    ["June 5", "May 5"],
    ["2001", "May 2001"],
    ["May 5", "May 5 and May 7"],
    ["May 5", "May 5 at 9:30 am"],
    ["Monday", "May 5"],
    [null, "May 5"],
  ])("0 for %j where the gold answer is %j", (answer, gold) => {
    expect(dates(answer, gold)).toBe(0);
  });

  test.each(["Kay Mann", "$40", "You may go", "24/7", "1/2/3/4", "25:99", "2001"])(
    "not told where the gold answer is %j, which holds no date",
    (gold) => {
      expect(dates("May 5", gold)).toBeNull();
    },
  );
});

test("every gold answer of the demo says its own numbers and dates, and so does one in capitals", () => {
  const golds = demoQuestions.map(({ answer }) => answer);
  for (const gold of golds) {
    expect([1, null], gold).toContain(numbers(gold.toUpperCase(), gold));
    expect([1, null], gold).toContain(dates(`As far as I can see: ${gold}.`, gold));
  }
  expect(golds.filter((gold) => numbers(gold, gold) === 1).length).toBeGreaterThan(10);
  expect(golds.filter((gold) => dates(gold, gold) === 1).length).toBeGreaterThan(5);
});

test("any text says its own numbers and dates, and no text is too odd to be read", () => {
  const parts = fc.constantFrom(
    ..."5 05 5/5 5/5/01 2001 0930 9:30 am pm noon - – $ % , . : ' k m mm million one twenty hundred and May Sept of the percent (713) 853-1234 1,500 1.5 x".split(
      " ",
    ),
  );
  const texts = fc.oneof(
    fc.string({ unit: "binary" }),
    fc.array(parts, { maxLength: 14 }).map((list) => list.join(" ")),
    fc.array(parts, { maxLength: 10 }).map((list) => list.join("")),
  );
  fc.assert(
    fc.property(texts, (text) => {
      expect([1, null]).toContain(numbers(text, text));
      expect([1, null]).toContain(dates(text, text));
    }),
    { numRuns: 2_000 },
  );
});
