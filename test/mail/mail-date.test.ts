import { describe, expect, it } from "vitest";
import { isoSeconds, parseIsoDate, parseMailDate } from "../../src/mail/mime.js";

describe("parseMailDate", () => {
  it.each([
    "",
    "some day soon",
    "Mon, 31 Feb 2001 10:00:00 +0000",
    "Mon, 0 Jan 2001 10:00:00 +0000",
    "Mon, 1 Foo 2001 10:00:00 +0000",
    "Mon, 1 Jan 2001 24:00:00 +0000",
    "Mon, 1 Jan 2001 10:61:00 +0000",
    "1 Jan 2001",
    "Sat, 01 Jan 0000 00:00:00 +0100",
    "Fri, 31 Dec 9999 23:00:00 -0200",
    "(((",
  ])("reads no date from %j", (header) => {
    expect(parseMailDate(header)).toBeNull();
  });

  it.each([
    ["Mon, 14 May 2001 09:39:00 -0700 (PDT)", "2001-05-14T16:39:00Z"],
    ["14 May 2001 09:39 +0000", "2001-05-14T09:39:00Z"],
    ["Thu, 29 Feb 2000 23:59:59 -1200", "2000-03-01T11:59:59Z"],
    ["Mon, 31 Dec 1979 16:00:00 -0800 (PST)", "1980-01-01T00:00:00Z"],
    ["Mon, 1 Jan 0001 00:00:00 +0000", "0001-01-01T00:00:00Z"],
    ["Mon, 04 Jan 2044 10:00:00 -0500", "2044-01-04T15:00:00Z"],
  ])("reads %j", (header, iso) => {
    expect(parseMailDate(header)).toBe(iso);
  });

  it.each([
    ["two-digit years below 50", "Mon, 10 Sep 01 09:05:00 GMT", "2001-09-10T09:05:00Z"],
    ["two-digit years from 50 on", "Mon, 10 Sep 50 09:05:00 GMT", "1950-09-10T09:05:00Z"],
    ["three-digit years", "Mon, 10 Sep 101 09:05:00 GMT", "2001-09-10T09:05:00Z"],
    ["names of zones", "Mon, 10 Sep 2001 09:05:00 PDT", "2001-09-10T16:05:00Z"],
    ["military zones, which mean nothing", "Mon, 10 Sep 2001 09:05:00 K", "2001-09-10T09:05:00Z"],
    ["no zone", "Mon, 10 Sep 2001 09:05:00", "2001-09-10T09:05:00Z"],
    ["nested comments", "Mon, 10 (the (very) tenth) Sep 2001 09:05:00 (a) +0100", "2001-09-10T08:05:00Z"],
    ["white space around colons", "Mon , 10 Sep 2001 09 : 05 : 07 +0000", "2001-09-10T09:05:07Z"],
    ["hyphens", "10-Sep-2001 09:05:00 +0000", "2001-09-10T09:05:00Z"],
    ["a leap second", "Sun, 31 Dec 2000 23:59:60 +0000", "2001-01-01T00:00:00Z"],
  ])("reads the obsolete and the odd: %s", (_what, header, iso) => {
    expect(parseMailDate(header)).toBe(iso);
  });
});

describe("parseIsoDate", () => {
  it.each(["", "2001", "2001-13-01", "2001-02-30", "2001-05-14T25:00:00Z", "14 May 2001", "12001-01-01"])(
    "reads no date from %j",
    (text) => {
      expect(parseIsoDate(text)).toBeNull();
    },
  );

  it.each([
    ["2001-05-14T16:39:00Z", "2001-05-14T16:39:00Z"],
    ["2001-05-14 16:39:00.123", "2001-05-14T16:39:00Z"],
    ["2001-05-14T16:39:00+02:00", "2001-05-14T14:39:00Z"],
    ["2001-05-14", "2001-05-14T00:00:00Z"],
    ["0001-01-01T00:00:00Z", "0001-01-01T00:00:00Z"],
  ])("reads %j", (text, iso) => {
    expect(parseIsoDate(text)).toBe(iso);
  });
});

describe("isoSeconds", () => {
  it("has no text for what is no date", () => {
    expect(isoSeconds(new Date(Number.NaN))).toBeNull();
    expect(isoSeconds(new Date(8.64e15))).toBeNull();
  });
});
