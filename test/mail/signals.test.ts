import { describe, expect, it } from "vitest";
import {
  detectCorrespondents,
  detectRecency,
  detectSentMonth,
  isSentMonth,
  periodsNamed,
  type SignalMail,
  type SignalQuery,
} from "../../src/mail/search-signals.js";

const OWNER = "ann.owner@plains.example";
const asks = (words: string): SignalQuery => ({ words, owner: OWNER, askedAt: "2001-05-15T00:00:00Z" });
const sent = (mail: Partial<SignalMail>): SignalMail => ({
  sender: "ben@plains.example",
  recipients: [],
  date: "2001-05-01T10:00:00Z",
  ...mail,
});

describe("the month of sending", () => {
  const strength = (words: string, date: string | null) => detectSentMonth(asks(words))?.(sent({ date }));
  it.each([
    ["the draft of September 2000", "2000-09-30T23:59:59Z", 1],
    ["the draft of September 2000", "2000-10-01T00:00:00Z", 0],
    ["the draft of September 2000", "2001-09-04T00:00:00Z", 0],
    ["the gas of 8/27", "2001-08-01T00:00:00Z", 1],
    ["the gas of 27 August", "2001-08-01T00:00:00Z", 1],
    ["the gas of 27 August", "2001-07-31T00:00:00Z", 0],
    ["losses in july", "1999-07-04T00:00:00Z", 1],
    ["losses between January and Feb", "1999-02-04T00:00:00Z", 1],
    ["losses in March", "1999-03-04T00:00:00Z", 1],
    ["losses in May", "1999-05-04T00:00:00Z", 1],
    ["losses in May 2000", "1999-05-04T00:00:00Z", 0],
    ["losses in July", null, 0],
  ])("%s, sent %s: %s", (words, date, expected) => expect(strength(words, date)).toBe(expected));

  it.each(["May I go?", "what may come", "the long march", "a decent marble", "gas 4500"])(
    "%s names no month",
    (words) => expect(detectSentMonth(asks(words))).toBeNull(),
  );
});

describe("a word that the day of sending implies", () => {
  it.each([
    ["september", "2000-09-30T23:59:59Z", true],
    ["sep", "2000-09-30T23:59:59Z", true],
    ["sept", "2000-09-30T23:59:59Z", true],
    ["2000", "2000-09-30T23:59:59Z", true],
    ["may", "2001-05-01T00:00:00Z", true],
    ["2001", "2000-09-30T23:59:59Z", false],
    ["october", "2000-09-30T23:59:59Z", false],
    ["sept", "2000-10-01T00:00:00Z", false],
    ["septem", "2000-09-30T23:59:59Z", false],
    ["", "2000-09-30T23:59:59Z", false],
    ["september", null, false],
  ])("%s, of mail sent %s: %s", (word, date, expected) => expect(isSentMonth(word, sent({ date }))).toBe(expected));
});

describe("the periods of months that are named with their year", () => {
  it.each([
    ["the gas of December 2000", [["2000-12-01T00:00:00Z", "2001-01-01T00:00:00Z"]]],
    ["the gas of 27 August 2001", [["2001-08-01T00:00:00Z", "2001-09-01T00:00:00Z"]]],
    ["losses in July", []],
    ["losses", []],
  ])("%s", (words, expected) =>
    expect(periodsNamed(asks(words)).map(({ after, before }) => [after, before])).toEqual(expected),
  );
});

describe("sender and recipients", () => {
  const strength = (words: string, mail: Partial<SignalMail>) => detectCorrespondents(asks(words))?.(sent(mail));
  it.each([
    ["What did I offer for it?", { sender: OWNER }, 1],
    ["What did I offer for it?", { sender: "ben@plains.example" }, 0],
    ["the rate that I gave", { sender: OWNER }, 1],
    ["What did Christian say?", { sender: "christian.yoder@plains.example" }, 1],
    ["what did christian say?", { sender: "christian.yoder@plains.example" }, 1],
    ["What did Brabb say?", { sender: "drew_a_brabb@plains.example" }, 1],
    ["What did Cherry say?", { sender: "bcherry@plains.example" }, 1],
    ["What did Christian say?", { sender: "ben@christian.example" }, 0],
    ["What did Lee say?", { sender: "ashlee@plains.example" }, 0],
    ["the note from Dana Okafor", { sender: "dana.okafor@plains.example" }, 1],
    ["Who is to tell Marshall?", { recipients: ["ben@plains.example", "marshall.brown@plains.example"] }, 1],
    ["Who is to tell Marshall?", { recipients: ["ben@plains.example"], sender: "marshall.brown@plains.example" }, 0],
    ["What did I tell Marshall?", { recipients: ["marshall.brown@plains.example"] }, 0.5],
    ["What did I tell Marshall?", { recipients: ["marshall.brown@plains.example"], sender: OWNER }, 1],
  ])("%s %j: %s", (words, mail, expected) => expect(strength(words, mail)).toBe(expected));

  it.each(["the gas price", "What did we do with them?", "Who called me to do so?"])("%s names nobody", (words) =>
    expect(detectCorrespondents(asks(words))).toBeNull(),
  );

  it("has no owner to have written in everybody's mail", () =>
    expect(detectCorrespondents({ ...asks("What did I offer?"), owner: null })).toBeNull());
});

describe("recency", () => {
  const strength = (date: string | null) => detectRecency(asks("gas"))?.(sent({ date }));
  it.each([
    ["2001-05-15T00:00:00Z", 1],
    ["2001-05-01T00:00:00Z", 0.5],
    ["2001-04-17T00:00:00Z", 0.25],
    ["2001-06-01T00:00:00Z", 1],
    [null, 0],
  ])("of mail of %s is %s", (date, expected) => expect(strength(date)).toBe(expected));

  it("needs to know when it is asked", () => expect(detectRecency({ ...asks("gas"), askedAt: null })).toBeNull());
});
