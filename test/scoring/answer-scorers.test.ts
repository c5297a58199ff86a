import fc from "fast-check";
import { afterAll, beforeAll, describe, expect, it, test } from "vitest";
import { type MailLookup, openMailLookup } from "../../src/mail/mail-lookup.js";
import type { ScorerEntry } from "../../src/scoring/scorer-entry.js";
import { exactMatch, rougeL, semanticScore, tokenF1 } from "../../src/scoring/scorers/answer-scorers.js";
import { dateMatch, numberMatch } from "../../src/scoring/scorers/value-scorers.js";
import { RESULT_FILE_SCORERS, SCORER_NAMES, SCORERS, scoreTrace } from "../../src/scoring/scorers.js";
import { bandOf } from "../../src/traces/score-bands.js";
import { demoQuestions } from "../cli/art-e.js";
import { demoSet, openDemo, question, type TestDb } from "../runs/demo-setup.js";
import { judged } from "./judged-trace.js";
import { called, itself, TURN, trace } from "./trace.js";

const by =
  ({ score }: ScorerEntry) =>
  (answer: string | null, gold: string) =>
    score(trace({ answer }, { answer: gold }), itself).value;

describe("exactMatch", () => {
  const score = by(exactMatch);

  test.each([
    ["another word", "John Smyth", "John Smith"],
    ["an additional word", "John Smith Jr", "John Smith"],
    ["additional punctuation", "John Smith.", "John Smith"],
    ["a blank inside a word", "Johns mith", "John smith"],
    ["a missing accent", "Jose", "José"],
    ["a missing answer", null, "John Smith"],
    ["an empty answer", "", "John Smith"],
  ])("returns 0 for %s", (_, answer, gold) => {
    expect(score(answer, gold)).toBe(0);
  });

  test.each([
    ["the same text", "John Smith", "John Smith"],
    ["text in a different case", "john smith", "John Smith"],
    ["text in a different case beyond ASCII", "JOSÉ", "josé"],
    ["surrounding white space", " \tJohn Smith\n", "John Smith"],
    ["additional white space inside", "John \n\u00a0 Smith", "John Smith"],
    ["additional white space in the gold answer", "John Smith", "  John\tSmith "],
  ])("returns 1 for %s", (_, answer, gold) => {
    expect(score(answer, gold)).toBe(1);
  });
});

describe("semanticScore", () => {
  const score = by(semanticScore);

  test("scores the published example as 5 of 10 words", () => {
    expect(score("Meeting scheduled for Monday at 3 PM", "The meeting is at 3 PM on Monday")).toBe(0.5);
  });

  test.each([
    ["Budget", "Q3 Budget Report", 1 / 3],
    ["the Q3 budget report", "Q3 Budget Report", 3 / 4],
    ["yes", "no", 0],
    ["42", "42", 1],
    ["the the THE cat", "The cat", 1],
    ["cat the", "the cat", 1],
    ["a b c d", "c d e", 2 / 5],
  ])("scores %j against %j as %d", (answer, gold, value) => {
    expect(score(answer, gold)).toBe(value);
  });

  test.each([
    ["splits words at punctuation", "Q3-budget", "Q3 budget", 1],
    ["splits amounts at punctuation", "$1,248.17", "1 248 17", 1],
    ["splits words at apostrophes", "what's", "what s", 1],
    ["keeps underscores inside words", "net_gas", "net gas", 0],
    ["splits words at letters beyond ASCII", "José", "Jos", 1],
    ["splits a word in two at a letter beyond ASCII", "naïve", "na ve", 1],
    ["treats text without ASCII letters and digits as empty", "日本", "ß", 0],
    ["splits words at line breaks", "one\ntwo\tthree", "one two three", 1],
  ])("compares the words of both texts (%s)", (_, answer, gold, value) => {
    expect(score(answer, gold)).toBe(value);
  });

  test.each([
    [null, ""],
    ["", ""],
    ["?!", "..."],
    [null, "four words of gold"],
    ["an answer", ""],
  ])("scores %j against %j as 0, never NaN", (answer, gold) => {
    expect(score(answer, gold)).toBe(0);
  });

  test("equals the published runner's formula for any two texts", () => {
    const published = (str1: string, str2: string) => {
      const normalize = (s: string) =>
        s
          .toLowerCase()
          .replace(/[^\w\s]/g, " ")
          .split(/\s+/)
          .filter((w) => w.length > 0);
      const [words1, words2] = [new Set(normalize(str1)), new Set(normalize(str2))];
      let intersectionCount = 0;
      words1.forEach((w) => {
        if (words2.has(w)) intersectionCount++;
      });
      const unionCount = words1.size + words2.size - intersectionCount;
      return unionCount === 0 ? 0 : intersectionCount / unionCount;
    };
    const words = fc.array(fc.constantFrom("a", "B", "b", "3 pm", "Ä", "x-y", "x", "", "\n", "."), { maxLength: 12 });
    const texts = fc.oneof(
      fc.string({ unit: "binary" }),
      words.map((list) => list.join(" ")),
    );
    fc.assert(
      fc.property(texts, texts, (answer, gold) => {
        expect(score(answer, gold)).toBe(published(gold, answer));
      }),
      { numRuns: 300 },
    );
  });
});

describe("tokenF1", () => {
  const score = by(tokenF1);

  // Computed by hand from SQuAD's evaluate-v2.0.py (normalize_answer, compute_f1).
  test.each([
    ["is 1 for the same text", "Denver Broncos", "Denver Broncos", 1],
    ["ignores articles", "The Denver Broncos", "Denver Broncos", 1],
    ["ignores case and punctuation", "denver, broncos!", "Denver Broncos", 1],
    ["is 2/3 if one of two words matches", "Denver", "Denver Broncos", 2 / 3],
    [
      "is 4/7 if two words are shared by texts of four and three",
      "Broncos of Denver Colorado",
      "Denver Broncos team",
      4 / 7,
    ],
    ["counts a repeated word as often as both texts contain it", "no no no", "no no", 4 / 5],
    ["joins the parts of a word around punctuation", "$1,248.17", "124817", 1],
    ["is 0 if no word is shared", "yes", "no", 0],
    ["ignores words inside other words", "theory", "ory", 0],
  ])("compares the words like SQuAD (%s)", (_, answer, gold, value) => {
    expect(score(answer, gold)).toBeCloseTo(value, 12);
  });

  test.each([
    ["", "", 1],
    ["the", "a", 1],
    ["", "gold", 0],
    ["answer", "?!", 0],
    [null, "gold", 0],
  ])("scores %j against %j as %d, because only equality counts if one side has no words", (answer, gold, value) => {
    expect(score(answer, gold)).toBe(value);
  });
});

describe("rougeL", () => {
  const score = by(rougeL);

  test.each([
    // Lin 2004, "ROUGE: A Package for Automatic Evaluation of Summaries", section 3.1, S1 to S4 with beta 1.
    ["police kill the gunman", "police killed the gunman", 3 / 4],
    ["the gunman kill police", "police killed the gunman", 2 / 4],
    ["the gunman police killed", "police killed the gunman", 2 / 4],
    // The example in the README of Google's rouge-score, computed by hand: 9 and 8 words, 5 in sequence.
    ["The quick brown dog jumps on the log.", "The quick brown fox jumps over the lazy dog", (2 * 5) / 17],
    ["9:30 a.m.", "9 30 a m", 1],
    ["", "gold", 0],
    [null, "gold", 0],
    ["?", "?", 0],
  ])("scores %j against %j", (answer, gold, value) => {
    expect(score(answer, gold)).toBeCloseTo(value, 12);
  });

  test("finds the same longest sequence as an exhaustive search", () => {
    const longest = (a: readonly string[], b: readonly string[]): number => {
      if (a.length === 0 || b.length === 0) return 0;
      if (a[0] === b[0]) return 1 + longest(a.slice(1), b.slice(1));
      return Math.max(longest(a.slice(1), b), longest(a, b.slice(1)));
    };
    const words = fc.array(fc.constantFrom("a", "b", "c"), { minLength: 1, maxLength: 7 });
    fc.assert(
      fc.property(words, words, (a, b) => {
        expect(score(a.join(" "), b.join(" "))).toBeCloseTo((2 * longest(a, b)) / (a.length + b.length), 12);
      }),
    );
  });
});

const numbers = by(numberMatch);
const dates = by(dateMatch);

describe("numberMatch", () => {
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
    ["7138531234", "713-853-1234"],
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
  ])("returns 1 for %j if the gold answer is %j", (answer, gold) => {
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
    ["two dozen", "26"],
  ])("returns 0 for %j if the gold answer is %j", (answer, gold) => {
    expect(numbers(answer, gold)).toBe(0);
  });

  test.each(["Kay Mann", "One of the traders", "May 5, 2001 at 9:30 am", "Q3"])(
    "returns null if the gold answer is %j, which does not contain a number",
    (gold) => {
      expect(numbers("40", gold)).toBeNull();
    },
  );
});

describe("dateMatch", () => {
  test.each([
    ["9:30 am", "0930"],
    ["9:30 a.m.", "9:30"],
    ["9:30", "9:30 PM"],
    ["12:30", "12:30 am"],
    ["12:30", "12:30 pm"],
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
  ])("returns 1 for %j if the gold answer is %j, and vice versa", (a, b) => {
    expect(dates(a, b)).toBe(1);
    expect(dates(b, a)).toBe(1);
  });

  test.each([
    ["May 5", "May 5, 2001"],
    ["May 5, 2001", "May 5"],
    ["May 5, 2001", "May 2001"],
    ["on May 5 at 9:30, in EB3801", "May 5"],
    ["room 12, 1430", "2:30 pm"],
  ])("returns 1 for %j if the gold answer is %j, because missing parts match anything", (answer, gold) => {
    expect(dates(answer, gold)).toBe(1);
  });

  test.each([
    ["9:30 pm", "9:30 am"],
    ["10:30", "9:30"],
    ["13:30", "1:30 am"],
    ["May 6, 2001", "May 5, 2001"],
    ["May 5, 2000", "May 5, 2001"],
    ["May 2001", "May 5, 2001"],
    ["June 5", "May 5"],
    ["2001", "May 2001"],
    ["May 5", "May 5 and May 7"],
    ["May 5", "May 5 at 9:30 am"],
    ["Monday", "May 5"],
    [null, "May 5"],
  ])("returns 0 for %j if the gold answer is %j", (answer, gold) => {
    expect(dates(answer, gold)).toBe(0);
  });

  test.each(["Kay Mann", "$40", "You may go", "24/7", "1/2/3/4", "25:99", "24:30", "2001"])(
    "returns null if the gold answer is %j, which does not contain a date",
    (gold) => {
      expect(dates("May 5", gold)).toBeNull();
    },
  );
});

test("numberMatch and dateMatch read the first 20,000 characters", () => {
  const after = (characters: number, value: string) => `${" ".repeat(characters)}${value}`;
  expect([numbers(after(19_999, "7"), "7"), numbers(after(20_000, "7"), "7")]).toEqual([1, 0]);
  const day = "2001-05-14";
  expect([dates(after(19_990, day), day), dates(after(20_000, day), day)]).toEqual([1, 0]);
});

test("numberMatch and dateMatch accept every gold answer in the demo if it is given as the answer, even in capitals", () => {
  const golds = demoQuestions.map(({ answer }) => answer);
  for (const gold of golds) {
    expect([1, null], gold).toContain(numbers(gold.toUpperCase(), gold));
    expect([1, null], gold).toContain(dates(`As far as I can see: ${gold}.`, gold));
  }
  expect(golds.filter((gold) => numbers(gold, gold) === 1).length).toBeGreaterThan(10);
  expect(golds.filter((gold) => dates(gold, gold) === 1).length).toBeGreaterThan(5);
});

test("numberMatch and dateMatch accept any text if the gold answer is the same", () => {
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

test("scoreTrace returns every requested score by name", () => {
  const sources = ["<gold@x>"];
  expect(scoreTrace(trace({ answer: "40 dollars", sources, turns: [TURN] }), itself, RESULT_FILE_SCORERS)).toEqual({
    exactMatch: { value: 0 },
    semanticScore: { value: 0.5 },
    sourcesCorrect: { value: 1 },
    foundGold: { value: 0 },
    readGold: { value: 0 },
  });
});

test.each([
  ["correct", 1, 1],
  ["partly", 0, 0.5],
  ["wrong", 0, 0],
  ["abstained", 0, 0],
] as const)("converts the verdict %s to %d as judgeCorrect and %d as judgeScore", (verdict, correct, score) => {
  const { judgeCorrect, judgeScore } = SCORERS;
  const values = [judgeCorrect, judgeScore].map(
    (entry) => entry.score(trace({ judge: judged(verdict) }), itself).value,
  );
  expect(values).toEqual([correct, score]);
});

test("scoreTrace does not change the trace, and is deterministic", () => {
  const finished = trace({
    sources: ["<gold@x>"],
    toolCalls: [called("email_get", { message_id: "<gold@x>", body: "" })],
  });
  const before = structuredClone(finished);
  const scores = scoreTrace(finished, itself, SCORER_NAMES);
  expect(finished).toEqual(before);
  expect(scoreTrace(finished, itself, SCORER_NAMES)).toEqual(scores);
});

test("every scorer in SCORERS has its own label, and returns a number or the reason for null", () => {
  const labels = SCORER_NAMES.map((name) => SCORERS[name].label);
  expect(new Set(labels).size).toBe(SCORER_NAMES.length);
  for (const answer of [null, "", "$40", "I don't know"]) {
    for (const gold of ["", "$40 on May 5", "I don't know"]) {
      const scores = scoreTrace(trace({ answer }, { answer: gold, message_ids: [] }), itself, SCORER_NAMES);
      for (const [name, { value, explanation }] of Object.entries(scores)) {
        if (value === null) expect(explanation, name).toMatch(/\w/);
        else expect(Number.isFinite(value), name).toBe(true);
      }
    }
  }
});

describe("sourcesCorrect over the demo mail", () => {
  let demo: TestDb;
  let mails: MailLookup;
  beforeAll(async () => {
    demo = await openDemo();
    mails = openMailLookup(demo.db);
  });
  afterAll(() => demo.close());

  test("accepts a gold email and each of its copies, but not other emails", async () => {
    const task = question((await demoSet()).questions, 5);
    const copies = [
      "<8364350.1075840781400.JavaMail.demo@kestrel>",
      "<4178791.1075840663875.JavaMail.demo@kestrel>",
      "<24369830.1075840839691.JavaMail.demo@kestrel>",
    ];
    const cited = (source: string) =>
      scoreTrace(trace({ sources: [source] }, task), mails.canonicalId, RESULT_FILE_SCORERS).sourcesCorrect?.value;
    for (const source of [...task.message_ids, ...copies]) expect(cited(source), source).toBe(1);
    expect(cited(copies[0]?.slice(1, -1) ?? "")).toBe(1);
    for (const source of ["<25340530.1075840737371.JavaMail.demo@kestrel>", "<1.1.JavaMail.nobody@kestrel>", ""]) {
      expect(cited(source), source).toBe(0);
    }
  });
});

it.each([
  [1, "high"],
  [0.8001, "high"],
  [0.8, "medium"],
  [0.5, "medium"],
  [0.4999, "low"],
  [0, "low"],
  [null, "unscored"],
] as const)("bandOf puts a score of %d into the band %s", (score, band) => {
  expect(bandOf(score)).toBe(band);
});
