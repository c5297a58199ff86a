import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { tokenize } from "../../src/mail/fts5-query.js";
import { distinctTerms, snippet, termMatcher } from "../../src/mail/search/matches.js";
import { openMailSearch } from "../../src/mail/search.js";
import { stemOf } from "../../src/text/porter.js";
import { idsOf, mail, openCorpus, query, withAllWords } from "./small-corpus.js";

const ROOT = join(import.meta.dirname, "../..");

const ENDINGS = [
  ..."s es ed ing ly er y e ies ied al ic able ible ability ibility ance ence ation ational ization ize izer ator ive".split(
    " ",
  ),
  ..."iveness ness ful fulness ous ously ousness ment ement ent ion ee eed ll lle bl ble bli logy logi iti ism ate".split(
    " ",
  ),
];

/** The words in this repository's texts, with every suffix on some of them. */
function englishWords(): string[] {
  const texts = readdirSync(ROOT)
    .filter((name) => name.endsWith(".md"))
    .map((name) => readFileSync(join(ROOT, name), "utf8"));
  const written = [
    ...new Set(
      texts
        .join(" ")
        .toLowerCase()
        .match(/[a-z]{2,}/g),
    ),
  ];
  const roots = written.filter((_, i) => i % 7 === 0);
  const known = "possibility possible possibly agreed agree agreeing dies dying die ties tying tie skies sky by".split(
    " ",
  );
  return [...new Set([...known, ...written, ...roots.flatMap((root) => ENDINGS.map((ending) => root + ending))])];
}

const words = englishWords();

const finds = (term: string, text: string) => termMatcher([term])(text).length === 1;

describe("words with the same stem", () => {
  const byStem = new Map<string, string[]>();
  for (const word of words) byStem.set(stemOf(word), [...(byStem.get(stemOf(word)) ?? []), word]);
  const families = [...byStem.values()].filter((family) => family.length > 1);

  test("each match every other one", () => {
    expect(families.length).toBeGreaterThan(1_000);
    const missed = families.flatMap((family) =>
      family.flatMap((a) => family.filter((b) => !finds(a, b)).map((b) => `${a} does not find ${b}`)),
    );
    expect(missed).toEqual([]);
  });

  test("each match the same stem with random letters", () => {
    const letters = fc.string({ unit: fc.constantFrom(..."aeiybdlnst"), minLength: 1, maxLength: 5 });
    const word = fc.tuple(letters, fc.constantFrom("", ...ENDINGS)).map((parts) => parts.join(""));
    const pair = fc.tuple(word, fc.constantFrom("", ...ENDINGS)).map(([a, ending]) => [a, stemOf(a) + ending] as const);
    fc.assert(
      fc.property(pair, ([a, b]) => {
        if (stemOf(a) === stemOf(b)) expect([a, b, finds(a, b), finds(b, a)]).toEqual([a, b, true, true]);
      }),
      { seed: 3, numRuns: 20_000 },
    );
  });

  test("share the first one in the query", () => {
    expect(distinctTerms(["prices", "gas", "pricing", "gas", "price", "zebra"])).toEqual(["prices", "gas", "zebra"]);
    fc.assert(
      fc.property(fc.array(fc.constantFrom(...words.slice(0, 300)), { maxLength: 20 }), (list) => {
        const stems = distinctTerms(list).map((word) => stemOf(word));
        expect(stems).toEqual([...new Set(list.map((word) => stemOf(word)))]);
      }),
      { seed: 4 },
    );
  });
});

describe("a word in the index", () => {
  test("has the same matches in the text", () => {
    const sample = words.filter((_, i) => i % 11 === 0 || i < 20);
    const db = openCorpus(sample.map((word, i) => mail(`${i}`, { body: word })));
    const search = openMailSearch(db);
    const wrong = sample.flatMap((asked) => {
      const hits = new Set(idsOf(withAllWords(search, query(asked, { limit: 1_000 }))).map((id) => sample[Number(id)]));
      const find = termMatcher([asked]);
      return sample.filter((word) => hits.has(word) !== find(word).length > 0).map((word) => `${asked}: ${word}`);
    });
    expect(wrong).toEqual([]);
    db.close();
  });

  test.each([
    ["possibility", "possible"],
    ["agreed", "agree"],
    ["agree", "agreeing"],
    ["dies", "died"],
    ["happy", "happiness"],
    ["skies", "skied"],
    ["meeting", "MEETINGS"],
    ["rating", "rate"],
    ["ai", "ays"],
    ["CAFÉ", "CAFÉ"],
    ["İstanbul", "İstanbul"],
    [`${"x".repeat(63)}s`, "x".repeat(63)],
    [`${"x".repeat(64)}s`, `${"x".repeat(64)}s`],
  ])("%s matches %s in both index and text", (asked, written) => {
    const db = openCorpus([mail("1", { body: `So ${written}, then.` })]);
    const [hit] = withAllWords(openMailSearch(db), query(asked));
    expect(hit?.messageId).toBe("<1@plains.example>");
    expect(termMatcher([asked])(`So ${written}, then.`)).toEqual([{ start: 3, end: 3 + written.length, term: 0 }]);
    db.close();
  });
});

describe("an occurrence", () => {
  test("covers a complete word, with its position and term", () => {
    const find = termMatcher(["gas", "price"]);
    expect(find("Gas: gasoline, bigas, gas_price; PRICES")).toEqual([
      { start: 0, end: 3, term: 0 },
      { start: 22, end: 25, term: 0 },
      { start: 26, end: 31, term: 1 },
      { start: 33, end: 39, term: 1 },
    ]);
  });

  test("includes the word's non-ASCII letters, as in the index", () => {
    const find = termMatcher(["caf", "café", "🙂"]);
    expect(find("café caf🙂 🙂 caf")).toEqual([
      { start: 0, end: 4, term: 1 },
      { start: 11, end: 13, term: 2 },
      { start: 14, end: 17, term: 0 },
    ]);
  });

  test("ends at curly quotes and dashes, and includes accents in any encoding", () => {
    const find = termMatcher(["resume", "ask"]);
    expect(find("a ‘Résumé’ re\u0301sume\u0301s—ask…")).toEqual([
      { start: 3, end: 9, term: 0 },
      { start: 11, end: 20, term: 0 },
      { start: 21, end: 24, term: 1 },
    ]);
  });

  test("appears anywhere in a script without spaces, which also ends other words", () => {
    const find = termMatcher(["会議", "budget", "𠮟𠮷", "年"]);
    expect(find("新会議室 Budgetの会議 𠮷𠮟𠮷 2002年")).toEqual([
      { start: 1, end: 3, term: 0 },
      { start: 5, end: 11, term: 1 },
      { start: 12, end: 14, term: 0 },
      { start: 17, end: 21, term: 2 },
      { start: 26, end: 27, term: 3 },
    ]);
  });

  test("belongs to one of the requested terms, even if not all of them occur", () => {
    const find = termMatcher(["gas", "price", "oil"]);
    expect(find("oil and gas prices", [0, 2]).map(({ term }) => term)).toEqual([2, 0]);
    expect(find("oil and gas prices", [])).toEqual([]);
  });

  test("includes every letter of a word even if it is too long for the index's stemmer", () => {
    const long = "x".repeat(64);
    expect(termMatcher([`${long}s`])(`${long} ${long}s`)).toHaveLength(1);
  });

  test("requires both parts of two words, with only separators between them", () => {
    const find = termMatcher(["trade mark"]);
    expect(find("trade Trade-marks, mark; trades (Märk) trade of mark trade")).toEqual([
      { start: 6, end: 17, term: 0 },
      { start: 25, end: 37, term: 0 },
    ]);
    expect(find("fairtrade mark, trade market")).toEqual([]);
  });

  test("starts a word if the term has an asterisk", () => {
    const find = termMatcher(["config*", "москв*"]);
    expect(find("Configuration, config reconfigure CONFIGS Москве")).toEqual([
      { start: 0, end: 13, term: 0 },
      { start: 15, end: 21, term: 0 },
      { start: 34, end: 41, term: 0 },
      { start: 42, end: 48, term: 1 },
    ]);
  });

  test("keeps the position that it had before lowercasing", () => {
    const find = termMatcher(["gas"]);
    expect(find("İİ GAS")).toEqual([{ start: 3, end: 6, term: 0 }]);
  });

  test("does not depend on earlier texts, and requires a term", () => {
    const find = termMatcher(["gas"]);
    expect([find("gas"), find("x"), find("gas")].map((found) => found.length)).toEqual([1, 0, 1]);
    expect(termMatcher([])("gas")).toEqual([]);
  });
});

/** The shown snippet: 240 characters, plus dots and their spaces at both ends. */
const LONGEST = 248;

const LONE = /[\ud800-\udbff](?![\udc00-\udfff])|(?<![\ud800-\udbff])[\udc00-\udfff]/;

const finder = (words: string) => termMatcher(distinctTerms(tokenize(words)));

const shown = (body: string, words: string) => snippet(body, finder(words)(body));

const filler = (length: number) => "lorem ipsum ".repeat(length / 12 + 1).slice(0, length);

describe("a snippet", () => {
  test("shows the body with collapsed white space if the body is short", () => {
    expect(shown("Gas\n\n  is\tdear. ", "gas")).toBe("Gas is dear.");
    expect(shown("", "gas")).toBe("");
    expect(shown(" \n ", "gas")).toBe("");
  });

  test("shows the start of the body, followed by dots, if the body does not contain the words", () => {
    const text = shown(filler(1_000), "gas");
    expect(text).toMatch(/^lorem ipsum .* \.\.\.$/);
    expect(text.length).toBeLessThanOrEqual(LONGEST);
  });

  test("loses no letter if there is no white space near its start", () => {
    const body = `${"ab".repeat(175)} gas`;
    const occurrence = body.indexOf("gas");
    expect(shown(body, "gas")).toBe(`... ${body.slice(occurrence - Math.ceil((240 - 3) / 2))}`);
  });

  test("has leading dots if it does not start at the beginning of the body", () => {
    expect(shown(`${filler(500)} gas`, "gas")).toMatch(/^\.\.\. .*gas$/);
  });

  test("shows the place with the most query words close together, not the first occurrence", () => {
    const body = `gas ${filler(400)} gas contract ${filler(400)} the price of the gas in the contract ${filler(400)}`;
    const text = shown(body, "gas contract price");
    expect(text).toContain("the price of the gas in the contract");
    expect(text).toMatch(/^\.\.\. .* \.\.\.$/);
  });

  test("counts different words, not repetitions of one", () => {
    const text = shown(`${"gas ".repeat(50)} ${filler(400)} gas and the contract ${filler(400)}`, "gas contract");
    expect(text).toContain("gas and the contract");
  });

  test("shows the first of equally good places", () => {
    expect(shown(`first gas ${filler(600)} second gas`, "gas")).toContain("first gas");
  });

  test("shows other forms of a word", () => {
    expect(shown(`${filler(400)} the pricing of it ${filler(400)}`, "prices")).toContain("pricing");
  });

  test("comes from far into a long email if necessary", () => {
    const body = `a zebra ${filler(22_000)} zebra and horse ${filler(1_000)}`;
    const shownOf = (subject: string) =>
      openMailSearch(openCorpus([mail("1", { subject, body })])).bestFirst(query("zebra horse")).hits[0]?.snippet;
    for (const subject of ["nothing", "Horses"]) expect(shownOf(subject)).toContain("zebra and horse");
  });

  test.each(["bestFirst", "newestFirst"] as const)(
    "shows a word at the end of the searched part, but the body's start if the word comes after it (%s)",
    (order) => {
      const at = (length: number) => {
        const search = openMailSearch(openCorpus([mail("1", { body: `${filler(length)} zebra ${filler(1_000)}` })]));
        const [hit] =
          order === "bestFirst" ? search.bestFirst(query("zebra")).hits : withAllWords(search, query("zebra"));
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
    ["a body that is mostly white space", `${"\n".repeat(500)}gas${" ".repeat(2_000)}end`, "gas", "gas"],
    ["a rule before the word", `${"=".repeat(300)} gas ${"=".repeat(300)}`, "gas", "gas"],
    ["a very long word after it", `${filler(300)} gas ${"x".repeat(3_000)}`, "gas", "gas"],
  ])("shows the word, and is not longer than others, for %s", (_, body, words, within) => {
    const text = shown(body, words);
    expect(text).toContain(within);
    expect(text.length).toBeLessThanOrEqual(LONGEST);
  });

  test("fits on one line of limited length, contains a query word, and splits no character", () => {
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

  test("belongs to every hit, and depends on the query words", () => {
    const db = openCorpus([mail("1", { body: `${filler(500)} the meetings ${filler(500)} gas` })]);
    const search = openMailSearch(db);
    for (const { hits } of [
      { hits: withAllWords(search, query("meeting")) },
      search.bestFirst(query("what meeting?")),
    ]) {
      expect(hits.map((hit) => hit.snippet)).toEqual([expect.stringMatching(/^\.\.\. .* the meetings .* \.\.\.$/)]);
    }
    db.close();
  });
});
