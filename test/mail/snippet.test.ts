import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { openMailSearch } from "../../src/mail/search.js";
import { distinctTerms, snippet, termMatcher } from "../../src/mail/search-matches.js";
import { tokenize } from "../../src/mail/search-query.js";
import { mail, openCorpus, query } from "./small-corpus.js";

/** What is shown: 240 characters, dots at both ends with their spaces. */
const LONGEST = 248;
const LONE = /[\ud800-\udbff](?![\udc00-\udfff])|(?<![\ud800-\udbff])[\udc00-\udfff]/;

const finder = (words: string) => termMatcher(distinctTerms(tokenize(words)));
const shown = (body: string, words: string) => snippet(body, finder(words)(body));

const filler = (length: number) => "lorem ipsum ".repeat(length / 12 + 1).slice(0, length);

describe("a snippet", () => {
  test("of a short body is the body, its white space collapsed", () => {
    expect(shown("Gas\n\n  is\tdear. ", "gas")).toBe("Gas is dear.");
    expect(shown("", "gas")).toBe("");
    expect(shown(" \n ", "gas")).toBe("");
  });

  test("of a body without the words is its beginning, and says that there is more", () => {
    const text = shown(filler(1_000), "gas");
    expect(text).toMatch(/^lorem ipsum .* \.\.\.$/);
    expect(text.length).toBeLessThanOrEqual(LONGEST);
  });

  test("says that it does not begin at the beginning", () => {
    expect(shown(`${filler(500)} gas`, "gas")).toMatch(/^\.\.\. .*gas$/);
  });

  test("shows where most of the words stand together, not where the first one stands", () => {
    const body = `gas ${filler(400)} gas contract ${filler(400)} the price of the gas in the contract ${filler(400)}`;
    const text = shown(body, "gas contract price");
    expect(text).toContain("the price of the gas in the contract");
    expect(text).toMatch(/^\.\.\. .* \.\.\.$/);
  });

  test("counts different words, not how often one stands there", () => {
    const text = shown(`${"gas ".repeat(50)} ${filler(400)} gas and the contract ${filler(400)}`, "gas contract");
    expect(text).toContain("gas and the contract");
  });

  test("shows the first of equally good places", () => {
    expect(shown(`first gas ${filler(600)} second gas`, "gas")).toContain("first gas");
  });

  test("finds other forms of a word", () => {
    expect(shown(`${filler(400)} the pricing of it ${filler(400)}`, "prices")).toContain("pricing");
  });

  test("is looked for far into a long mail where a word is not in its beginning, unless the subject has it", () => {
    const body = `a zebra ${filler(22_000)} zebra and horse ${filler(1_000)}`;
    const shownOf = (subject: string) =>
      openMailSearch(openCorpus([mail("1", { subject, body })])).bestFirst(query("zebra horse")).hits[0]?.snippet;
    expect(shownOf("nothing")).toContain("zebra and horse");
    expect(shownOf("Horses")).toMatch(/^a zebra lorem/);
  });

  test.each(["bestFirst", "newestFirst"] as const)(
    "shows a word at the far end of what is read, and the beginning where it stands behind it (%s)",
    (order) => {
      const at = (length: number) => {
        const search = openMailSearch(openCorpus([mail("1", { body: `${filler(length)} zebra ${filler(1_000)}` })]));
        const [hit] =
          order === "bestFirst" ? search.bestFirst(query("zebra")).hits : search.newestFirst(query("zebra"));
        return hit?.snippet;
      };
      expect(at(100)).toContain("zebra");
      expect(at(3_990)).toContain("zebra");
      expect(at(7_990)).toContain("zebra");
      expect(at(59_900)).toContain("zebra");
      expect(at(60_100)).toMatch(/^lorem ipsum/);
    },
  );

  test.each([
    ["a word longer than a snippet", `${filler(300)} ${"x".repeat(3_000)} gas`, "x".repeat(3_000), "xxxxxxxx"],
    ["a body without a space", `${"-".repeat(500)}gas${"-".repeat(500)}`, "gas", "gas"],
    ["a body of white space for the most part", `${"\n".repeat(500)}gas${" ".repeat(2_000)}end`, "gas", "gas"],
    ["a rule before the word", `${"=".repeat(300)} gas ${"=".repeat(300)}`, "gas", "gas"],
    ["a very long word behind it", `${filler(300)} gas ${"x".repeat(3_000)}`, "gas", "gas"],
  ])("of %s shows the word, and is no longer than others", (_, body, words, within) => {
    const text = shown(body, words);
    expect(text).toContain(within);
    expect(text.length).toBeLessThanOrEqual(LONGEST);
  });

  test("shows a word of the query, is of bounded length, on one line and cuts no character in two", () => {
    const part = fc.oneof(
      { weight: 6, arbitrary: fc.constantFrom("lorem", "ipsum", "dolor,", "--", "(sit)", "amet.") },
      { weight: 1, arbitrary: fc.constantFrom("gas", "Contracts", "PRICING", "zebra", "café") },
      { weight: 2, arbitrary: fc.constantFrom("🙂", "🙂🙂🙂", "🧑‍🚀", "ééé", "日本語") },
      { weight: 1, arbitrary: fc.constantFrom("\n", "\n\n\n", "\t", "     ", " ".repeat(60)) },
      { weight: 1, arbitrary: fc.constantFrom("x".repeat(70), "=".repeat(300), "🙂".repeat(150)) },
    );
    const body = fc
      .array(fc.tuple(part, fc.constantFrom(" ", " ", " ", "\n", ", ", "/")), { maxLength: 300, size: "max" })
      .map((parts) => parts.flat().join(""));
    const words = fc.constantFrom("gas", "contract price", "zebra gas", "café", "unheard", "gas contract price zebra");
    let within = 0;
    fc.assert(
      fc.property(body, words, (text, asked) => {
        const find = finder(asked);
        const result = snippet(text, find(text));
        expect(result.length).toBeLessThanOrEqual(LONGEST);
        expect(result).not.toMatch(LONE);
        expect(result).not.toMatch(/[\n\t]| {2}/);
        if (find(text).length === 0) return;
        expect(find(result)).not.toEqual([]);
        within++;
      }),
      { seed: 7, numRuns: 1_000 },
    );
    expect(within).toBeGreaterThan(300);
  });

  test("comes with every hit, made of the words of the query", () => {
    const db = openCorpus([mail("1", { body: `${filler(500)} the meetings ${filler(500)} gas` })]);
    const search = openMailSearch(db);
    for (const { hits } of [{ hits: search.newestFirst(query("meeting")) }, search.bestFirst(query("what meeting?"))]) {
      expect(hits.map((hit) => hit.snippet)).toEqual([expect.stringMatching(/^\.\.\. .* the meetings .* \.\.\.$/)]);
    }
    db.close();
  });
});
