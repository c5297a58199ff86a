import fc from "fast-check";
import { afterAll, beforeAll, describe, expect, it, test } from "vitest";
import { type MailLookup, openMailLookup } from "../../src/mail/mail-lookup.js";
import {
  dateMatch,
  exactMatch,
  numberMatch,
  RESULT_FILE_SCORERS,
  rougeL,
  SCORER_NAMES,
  SCORERS,
  scoreTrace,
  semanticScore,
  tokenF1,
} from "../../src/scoring/scorers.js";
import { bandOf, type ScorerEntry } from "../../src/traces/score.js";
import { demoQuestions } from "../cli/art-e.js";
import { demoSet, openDemo, question, type TestDb } from "../runs/demo-setup.js";
import { called, itself, trace } from "./trace.js";

const by =
  ({ score }: ScorerEntry) =>
  (answer: string | null, gold: string) =>
    score(trace({ answer }, { answer: gold }), itself).value;

describe("exactMatch is", () => {
  const score = by(exactMatch);

  test.each([
    ["another word", "John Smyth", "John Smith"],
    ["a word more", "John Smith Jr", "John Smith"],
    ["punctuation", "John Smith.", "John Smith"],
    ["a blank inside a word", "Johns mith", "John smith"],
    ["an accent", "Jose", "José"],
    ["no answer", null, "John Smith"],
    ["an empty answer", "", "John Smith"],
  ])("0 for %s", (_, answer, gold) => {
    expect(score(answer, gold)).toBe(0);
  });

  test.each([
    ["the same", "John Smith", "John Smith"],
    ["other case", "john smith", "John Smith"],
    ["case beyond ASCII", "JOSÉ", "josé"],
    ["white space round it", " \tJohn Smith\n", "John Smith"],
    ["white space within", "John \n\u00a0 Smith", "John Smith"],
    ["white space in the gold answer", "John Smith", "  John\tSmith "],
  ])("1 for %s", (_, answer, gold) => {
    expect(score(answer, gold)).toBe(1);
  });
});

describe("semanticScore", () => {
  const score = by(semanticScore);

  test("of the published example is 5 of 10 words", () => {
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
  ])("%j against %j is %d", (answer, gold, value) => {
    expect(score(answer, gold)).toBe(value);
  });

  test.each([
    ["punctuation parts words", "Q3-budget", "Q3 budget", 1],
    ["and amounts", "$1,248.17", "1 248 17", 1],
    ["an apostrophe too", "what's", "what s", 1],
    ["an underscore is part of a word", "net_gas", "net gas", 0],
    ["a letter beyond ASCII is no word character, so it parts words", "José", "Jos", 1],
    ["and leaves two parts of a word it stands in", "naïve", "na ve", 1],
    ["so a text without an ASCII letter or digit is empty", "日本", "ß", 0],
    ["lines part words", "one\ntwo\tthree", "one two three", 1],
  ])("%s", (_, answer, gold, value) => {
    expect(score(answer, gold)).toBe(value);
  });

  test.each([
    [null, ""],
    ["", ""],
    ["?!", "..."],
    [null, "four words of gold"],
    ["an answer", ""],
  ])("%j against %j is 0, never NaN", (answer, gold) => {
    expect(score(answer, gold)).toBe(0);
  });

  test("is the published runner's own formula for any two texts", () => {
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

  // Worked by hand from SQuAD's evaluate-v2.0.py (normalize_answer, compute_f1).
  test.each([
    ["the same", "Denver Broncos", "Denver Broncos", 1],
    ["articles are none of it", "The Denver Broncos", "Denver Broncos", 1],
    ["nor are case and punctuation", "denver, broncos!", "Denver Broncos", 1],
    ["one of two words", "Denver", "Denver Broncos", 2 / 3],
    ["two of four and of three words", "Broncos of Denver Colorado", "Denver Broncos team", 4 / 7],
    ["a repeated word counts as often as both have it", "no no no", "no no", 4 / 5],
    ["punctuation joins, it does not part", "$1,248.17", "124817", 1],
    ["no word shared", "yes", "no", 0],
    ["words inside words are none", "theory", "ory", 0],
  ])("%s", (_, answer, gold, value) => {
    expect(score(answer, gold)).toBeCloseTo(value, 12);
  });

  test.each([
    ["", "", 1],
    ["the", "a", 1],
    ["", "gold", 0],
    ["answer", "?!", 0],
    [null, "gold", 0],
  ])("%j against %j is %d: without a word on one side only equality counts", (answer, gold, value) => {
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
    // The README of Google's rouge-score: fmeasure of its example, computed by hand from its 9 and 8 words, 5 in
    // sequence.
    ["The quick brown dog jumps on the log.", "The quick brown fox jumps over the lazy dog", (2 * 5) / 17],
    ["9:30 a.m.", "9 30 a m", 1],
    ["", "gold", 0],
    [null, "gold", 0],
    ["?", "?", 0],
  ])("%j against %j", (answer, gold, value) => {
    expect(score(answer, gold)).toBeCloseTo(value, 12);
  });

  test("finds the longest sequence that a search of all of them finds", () => {
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
    ["two dozen", "26"],
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
  ])("1 for %j where the gold answer is %j, and the other way round", (a, b) => {
    expect(dates(a, b)).toBe(1);
    expect(dates(b, a)).toBe(1);
  });

  test.each([
    ["May 5", "May 5, 2001"],
    ["May 5, 2001", "May 5"],
    ["May 5, 2001", "May 2001"],
    ["on May 5 at 9:30, in EB3801", "May 5"],
    ["room 12, 1430", "2:30 pm"],
  ])("1 for %j where the gold answer is %j: what one leaves open may be anything", (answer, gold) => {
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
  ])("0 for %j where the gold answer is %j", (answer, gold) => {
    expect(dates(answer, gold)).toBe(0);
  });

  test.each(["Kay Mann", "$40", "You may go", "24/7", "1/2/3/4", "25:99", "24:30", "2001"])(
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

test("a trace gets every score that is asked for by its name", () => {
  const sources = ["<gold@x>"];
  expect(scoreTrace(trace({ answer: "40 dollars", sources }), itself, RESULT_FILE_SCORERS)).toEqual({
    exactMatch: { value: 0 },
    semanticScore: { value: 0.5 },
    sourcesCorrect: { value: 1 },
    foundGold: { value: 0 },
    readGold: { value: 0 },
  });
});

test("scoring does not change the trace, and does the same again", () => {
  const finished = trace({
    sources: ["<gold@x>"],
    toolCalls: [called("email_get", { message_id: "<gold@x>", body: "" })],
  });
  const before = structuredClone(finished);
  const scores = scoreTrace(finished, itself, SCORER_NAMES);
  expect(finished).toEqual(before);
  expect(scoreTrace(finished, itself, SCORER_NAMES)).toEqual(scores);
});

test("every scorer tells what a reader must know of it, and gives a number or why there is none", () => {
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

describe("over the demo mail", () => {
  let demo: TestDb;
  let mails: MailLookup;
  beforeAll(async () => {
    demo = await openDemo();
    mails = openMailLookup(demo.db);
  });
  afterAll(() => demo.close());

  test("a gold mail and each of its copies are one mail, others are not", async () => {
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
] as const)("a score of %d is in the band %s", (score, band) => {
  expect(bandOf(score)).toBe(band);
});
