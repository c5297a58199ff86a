import { afterAll, describe, expect, it } from "vitest";
import { allWordsExpression, contentTokens, termExpression, tokenize } from "../../src/mail/fts5-query.js";
import { openMailSearch } from "../../src/mail/search.js";
import { mail, openWithMails } from "./corpus-setup.js";
import { withAllWords } from "./small-corpus.js";

describe("matchExpression of a text without words", () => {
  it.each(["", " \t\n", '"', '""', '" "', "!?.,;:()[]{}", "***", "\0", "-", "''"])("returns null for %j", (text) => {
    expect(tokenize(text)).toEqual([]);
    expect(contentTokens(text)).toEqual([]);
    expect(allWordsExpression(text)).toBeNull();
  });
});

describe("matchExpression", () => {
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
    ["🙂 – é", '"🙂" AND "e"'],
    ["Q3‑budget", '"q3 budget"'],
    ["what’s", '"what s"'],
    ["bid–ask", '"bid ask"'],
    ["MÜLLER müller Mu\u0308ller", '"muller"'],
    ["会議室", '"会議 議室"'],
    ["会 議", '"会" * AND "議" *'],
    ["Q3予算2002年", '"q3 予算 算 2002 年" *'],
  ])("contains only quoted words for %j", (text, expression) => {
    expect(allWordsExpression(text)).toBe(expression);
  });

  it.each([
    ["gas", '"gas"'],
    ["trade mark", '"trade mark"'],
    ["config*", '"config" *'],
    ["会議", '"会議"'],
    ["会", '"会" *'],
  ])("searches for the term %s", (term, expression) => expect(termExpression(term)).toBe(expression));

  it("has at most 64 parts", () => {
    const words = Array.from({ length: 70 }, (_, n) => `w${n}`);
    expect(allWordsExpression(words.join(" "))?.split(" AND ")).toEqual(words.slice(0, 64).map((word) => `"${word}"`));
    expect(contentTokens(words.join(" "))).toEqual(words.slice(0, 64));
  });
});

describe("contentWords", () => {
  it.each([
    ["What is the gas price of gas?", ["gas", "price"]],
    ["what is it", ["what", "is", "it"]],
    ["来週の会議は?", ["来週", "週の", "の会", "会議", "議は"]],
    ["会 of 2002年", ["会", "2002", "年"]],
  ])("returns for %j the words %j", (text, words) => {
    expect(contentTokens(text)).toEqual(words);
  });
});

describe("non-ASCII letters", async () => {
  const words = ["Zürich", "ZÜRICH", "Καφές", "kafé", "İzmir", "\u212aelvin", "МОСКВА"];
  const test = await openWithMails(...words.map((word, n) => mail({ messageId: `<${n}>`, body: `at ${word} today` })));
  afterAll(() => test.close());
  const period = { after: null, before: null };
  const everybody = { inboxId: null, fromIds: null, toIds: null, period, limit: 10, askedAt: null };
  const bodies = (asked: string) =>
    withAllWords(openMailSearch(test.db), { ...everybody, words: asked }).map((hit) =>
      test.db.prepare("SELECT body FROM mails WHERE id = ?").pluck().get(hit.mailId),
    );

  it.each([
    ["Zürich", ["Zürich", "ZÜRICH"]],
    ["zurich", ["Zürich", "ZÜRICH"]],
    ["ZU\u0308RICH", ["Zürich", "ZÜRICH"]],
    ["ΚΑΦΈΣ", ["Καφές"]],
    ["café", []],
    ["kafe", ["kafé"]],
    ["izmir", ["İzmir"]],
    ["Kelvin", ["\u212aelvin"]],
    ["москва", ["МОСКВА"]],
  ])("match regardless of case and accents (%s finds %j)", (asked, found) => {
    const expected = found.map((word) => `at ${word} today`);
    expect(bodies(asked).sort()).toEqual(expected.sort());
    expect(bodies(`${asked} TODAY`).sort()).toEqual(expected.sort());
  });
});
