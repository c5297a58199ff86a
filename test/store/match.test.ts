import { afterAll, describe, expect, it } from "vitest";
import { allWordsExpression, contentTokens, tokenize } from "../../src/store/match.js";
import { openMailSearch } from "../../src/store/search.js";
import { mail, openWithMails } from "./corpus-setup.js";

describe("a text without words", () => {
  it.each(["", " \t\n", '"', '""', '" "', "!?.,;:()[]{}", "***", "\0", "-", "''"])("%j asks for nothing", (text) => {
    expect(tokenize(text)).toEqual([]);
    expect(contentTokens(text)).toEqual([]);
    expect(allWordsExpression(text)).toBeNull();
  });
});

describe("an expression", () => {
  it.each([
    ["gas price", '"gas" AND "price"'],
    ["gas gas GAS", '"gas"'],
    ['"gas price" rises', '"gas price" AND "rises"'],
    ["Q3-budget", '"q3 budget"'],
    ["what's", '"what s"'],
    ["a@b.example", '"a b example"'],
    ["$5", '"5"'],
    ["AND OR NOT NEAR(a b)", '"and" AND "or" AND "not" AND "near a" AND "b"'],
    ["subject:gas* ^x", '"subject gas" AND "x"'],
    ['an "open quote', '"an" AND "open" AND "quote"'],
    ['5"pipe"6', '"5" AND "pipe" AND "6"'],
    ["a\0b", '"a b"'],
    ["🙂 – é", '"🙂" AND "–" AND "é"'],
  ])("of %j holds quoted words and nothing else", (text, expression) => {
    expect(allWordsExpression(text)).toBe(expression);
  });

  it("has no more than 64 parts", () => {
    const words = Array.from({ length: 70 }, (_, n) => `w${n}`);
    expect(allWordsExpression(words.join(" "))?.split(" AND ")).toEqual(words.slice(0, 64).map((word) => `"${word}"`));
    expect(contentTokens(words.join(" "))).toEqual(words.slice(0, 64));
  });
});

describe("the words worth matching on", () => {
  it.each([
    ["What is the gas price of gas?", ["gas", "price"]],
    ["what is it", ["what", "is", "it"]],
  ])("of %j are %j", (text, words) => {
    expect(contentTokens(text)).toEqual(words);
  });
});

describe("letters beyond ASCII", async () => {
  const words = ["Zürich", "ZÜRICH", "Καφές", "kafé", "İzmir", "\u212aelvin"];
  const test = await openWithMails(...words.map((word, n) => mail({ messageId: `<${n}>`, body: `at ${word} today` })));
  afterAll(() => test.close());
  const everybody = { inboxId: null, fromIds: null, toIds: null, period: { after: null, before: null }, limit: 10 };
  const bodies = (asked: string) =>
    openMailSearch(test.db)
      .newestFirst({ ...everybody, words: asked })
      .map((hit) => test.db.prepare("SELECT body FROM mails WHERE id = ?").pluck().get(hit.mailId));

  it.each(words)("are found as they are written: %s", (word) => {
    expect(bodies(word)).toEqual([`at ${word} today`]);
    expect(bodies(`${word} TODAY`)).toEqual([`at ${word} today`]);
  });

  it("keep their case in the index, as ASCII letters do not", () => {
    expect(bodies("zürich")).toEqual(["at Zürich today"]);
    expect(bodies("zÜrich")).toEqual(["at ZÜRICH today"]);
    expect(bodies("kelvin")).toEqual([]);
  });
});
