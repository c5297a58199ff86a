import { describe, expect, it } from "vitest";
import {
  matchesDay,
  monthOf,
  parseDatesAndTimes,
  parseNumbers,
  resolveDaysOfMonth,
} from "../../src/text/dates-and-numbers.js";

const day = (year: number | null, month: number, date: number | null) => ({ year, month, day: date });
const minutes = (...times: number[]) => new Set(times);

describe("parseDatesAndTimes", () => {
  it.each([
    ["2001-05-14", day(2001, 5, 14)],
    ["14 May 2001", day(2001, 5, 14)],
    ["the 14th of May", day(null, 5, 14)],
    ["May 14, 2001", day(2001, 5, 14)],
    ["Sept. 3rd", day(null, 9, 3)],
    ["May of 2001", day(2001, 5, null)],
    ["5/14/01", day(2001, 5, 14)],
    ["5/14/49", day(2049, 5, 14)],
    ["5/14/50", day(1950, 5, 14)],
    ["31/12/2001", day(2001, 12, 31)],
    ["12/31", day(null, 12, 31)],
  ])("reads the date %s", (text, expected) => {
    expect(parseDatesAndTimes(`It is ${text}!`)).toMatchObject({ days: [expected], times: [] });
  });

  it.each(["13/32/2001", "13/13", "2001-13-01", "2001-12-32", "May 32", "May 12,500"])(
    "reads no date in %s",
    (text) => {
      expect(parseDatesAndTimes(text).days).toEqual([]);
    },
  );

  it.each([
    ["9:30", minutes(570, 1290)],
    ["9:30 am", minutes(570)],
    ["9 p.m.", minutes(1260)],
    ["12 am", minutes(0)],
    ["12:15 pm", minutes(735)],
    ["13:59", minutes(839)],
    ["23:59", minutes(1439)],
    ["00:10", minutes(10)],
    ["noon", minutes(720)],
    ["midnight", minutes(0)],
    ["0930", minutes(570)],
    ["2215 hours", minutes(1335)],
  ])("reads the time %s", (text, expected) => {
    expect(parseDatesAndTimes(`at ${text},`).times).toEqual([expected]);
  });

  it.each(["24:00", "12:60", "13 pm", "0 am"])("reads no time in %s", (text) => {
    expect(parseDatesAndTimes(text).times).toEqual([]);
  });

  it("masks dates and times with as many letters", () => {
    expect(parseDatesAndTimes("On May 5 at noon, 7 came").rest).toBe("on xxxxx at xxxx, 7 came");
  });
});

describe("resolveDaysOfMonth", () => {
  it.each([
    ["Tuesday, the 13th", "2001-05-08", day(2001, 5, 13)],
    ["the 8th", "2001-05-08", day(2001, 5, 8)],
    ["the 7th", "2001-05-08", day(2001, 6, 7)],
    ["the 2nd", "2001-12-20T10:00:00Z", day(2002, 1, 2)],
    ["the 21st", "2001-12-20", day(2001, 12, 21)],
  ])("resolves %s on %s", (text, date, expected) => {
    expect(resolveDaysOfMonth(text, date)).toEqual([expected]);
  });

  it("omits days that a month follows, and impossible ones", () => {
    expect(resolveDaysOfMonth("the 5th of May and the 32nd", "2001-05-01")).toEqual([]);
  });
});

describe("matchesDay", () => {
  it.each([
    [day(2001, 5, 14), day(2001, 5, 14), true],
    [day(null, 5, 14), day(2001, 5, 14), true],
    [day(2001, 5, 14), day(null, 5, 14), true],
    [day(2001, 5, null), day(2001, 5, 3), true],
    [day(2001, 5, 14), day(2001, 5, null), false],
    [day(2001, 5, 14), day(2001, 6, 14), false],
    [day(2001, 5, 14), day(2002, 5, 14), false],
  ])("compares the wanted %j with the found %j (%s)", (wanted, found, expected) => {
    expect(matchesDay(wanted, found)).toBe(expected);
  });
});

describe("parseNumbers", () => {
  it.each([
    ["21,500", [21_500]],
    ["1.5 million", [1_500_000]],
    ["5mm", [5_000_000, 5]],
    ["5%", [5, 0.05]],
    ["-3.25", [-3.25]],
    ["(316) 555-0117", [3_165_550_117]],
    ["15.500 EUR", [15_500]],
    ["two hundred and twenty-five", [225]],
    ["three dozen", [36]],
    ["a thousand", [1_000]],
    ["one hundred twenty thousand and five", [120_005]],
  ])("reads %s", (text, values) => {
    expect(parseNumbers(text).map((number) => [...number.values])).toEqual([values]);
  });

  it("ignores digits inside words, and marks a lone one as a pronoun", () => {
    expect(parseNumbers("Q3 and EB3801")).toEqual([]);
    expect(parseNumbers("this one")).toEqual([{ values: new Set([1]), isPronoun: true }]);
    expect(parseNumbers("twenty-one")).toEqual([{ values: new Set([21]), isPronoun: false }]);
  });
});

describe("monthOf", () => {
  it("returns 1 to 12, or 0 for other words", () => {
    expect(["january", "sept", "dec", "monday", ""].map(monthOf)).toEqual([1, 9, 12, 0, 0]);
  });
});
