import { execFileSync } from "node:child_process";
import { mkdirSync, symlinkSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { SCORERS } from "../../src/scoring/scorers.js";
import { isDontKnow } from "../../src/text/abstention.js";
import { demoQuestions } from "../cli/art-e.js";
import { itself, trace } from "../scoring/trace.js";
import { temporaryFolder } from "./temporary-folder.js";

/** What an exported Harbor task scores answers by, in Python, beside the scorers that it repeats. */

const HARBOR = join(import.meta.dirname, "../../src/suites/harbor");

interface Case {
  readonly answer: string | null;
  readonly sources?: readonly string[];
  readonly gold: string;
  readonly goldMails?: readonly string[];
  readonly unanswerable?: boolean;
}

/** Calls a function of grade.py for each case. */
function python(expression: string, cases: readonly unknown[]): unknown[] {
  const code = `import json, sys; sys.path.insert(0, ${JSON.stringify(HARBOR)}); import grade
print(json.dumps([${expression} for case in json.load(sys.stdin)]))`;
  const options = { input: JSON.stringify(cases), maxBuffer: 2 ** 28, encoding: "utf8" } as const;
  return JSON.parse(execFileSync("python3", ["-B", "-c", code], options));
}

const rewardsOf = (cases: readonly Case[]) =>
  python(
    'grade.score(case["answer"], case.get("sources", []), {"answer": case["gold"], "message_ids": case.get("goldMails", []), "unanswerable": case.get("unanswerable", False)})',
    cases,
  ) as Record<string, number>[];

const NAMES = {
  exact_match: "exactMatch",
  semantic_score: "semanticScore",
  number_match: "numberMatch",
  date_match: "dateMatch",
  sources_correct: "sourcesCorrect",
  sources_precision: "sourcesPrecision",
} as const;

/** The scores of the program's own scorers; what does not apply is left out, and no source at all is 0. */
function expected({ answer, sources = [], gold, goldMails = [] }: Case): Record<string, number> {
  const scored = trace({ answer, sources: [...sources] }, { answer: gold, message_ids: [...goldMails] });
  return Object.fromEntries(
    Object.entries(NAMES).flatMap(([name, scorer]) => {
      const { value } = SCORERS[scorer].score(scored, itself);
      if (value !== null) return [[name, value]];
      return name === "sources_precision" && goldMails.length > 0 ? [[name, 0]] : [];
    }),
  );
}

function expectSame(cases: readonly Case[]): void {
  rewardsOf(cases).forEach(({ reward, ...scores }, i) => {
    const one = cases[i] as Case;
    expect({ case: one, scores }).toEqual({ case: one, scores: expected(one) });
    expect(reward).toBeGreaterThanOrEqual(0);
    expect(reward).toBeLessThanOrEqual(1);
  });
}

const PIECES = [
  "May 5, 2001",
  "5/5/01",
  "2001-05-05",
  "the 22nd of June",
  "9:30 am",
  "0930",
  "noon",
  "1430 hrs",
  "3 to 5 p.m.",
  "$1.5 million",
  "1,500,000",
  "-5",
  "5%",
  "five per cent",
  "one hundred and twenty-five thousand",
  "two dozen",
  "(713) 853-1234",
  "Q3",
  "40kg",
  "one",
  "I don't know",
  "not mentioned in the mailbox",
  "Größe\u00a0É",
  "\u0085\u001c",
  "-",
  " ",
  ",",
  "\n",
  "İ Σ",
  "'99",
  "Dec",
  "x",
];

describe("grade.py", () => {
  it("scores every pair of the demo's gold answers as the program does", () => {
    const golds = demoQuestions.map(({ answer }) => answer);
    expectSame(golds.flatMap((gold) => golds.map((answer) => ({ answer, gold }))));
  });

  it("scores texts of numbers, dates, times and odd characters as the program does", () => {
    const text = fc
      .array(
        fc.oneof({ weight: 5, arbitrary: fc.constantFrom(...PIECES) }, fc.string({ unit: "binary", maxLength: 4 })),
        {
          maxLength: 6,
        },
      )
      .map((parts) => parts.join(""));
    const ids = fc.uniqueArray(fc.constantFrom("<a@x>", "<b@x>", "<c@x>"), { maxLength: 3 });
    const one = fc.record({ answer: text, sources: ids, gold: text, goldMails: ids });
    expectSame(fc.sample(one, { numRuns: 3_000, seed: 35 }));
  });

  it("knows an abstention as the program does", () => {
    const texts = [
      ...["I don't know", "i do not know.", "I could not find any information about that in the mailbox."],
      ...["Sorry, I cannot say who sent it.", "There are no emails about the sale.", "N/A", "Unknown", "It is unknown"],
      ...["I don't know, but probably $40", "The mail does not say who.", "No.", "Nobody", "not found in your inbox"],
      ...[
        "None of the emails mention it",
        "After a thorough search, I was unable to find an answer.",
        "It can't be known",
      ],
      ...[
        "*I don’t know*",
        "There is no record of it in the mailbox. Ask Bo.",
        "insufficient information",
        "don't know",
      ],
      ...["The mailbox does not contain that.", "Bo was not mentioned in the emails", "We have no data", "\u0085n/a"],
    ];
    const all = [...texts, ...texts.map((text) => `${text} ${"x".repeat(600)}`), ...demoQuestions.map((q) => q.answer)];
    expect(python("grade.is_dont_know(case)", all)).toEqual(all.map(isDontKnow));
  });

  it.each<[string, Case, number]>([
    ["the gold answer with its mail", { answer: "$40", sources: ["<g@x>"], gold: "$40", goldMails: ["<g@x>"] }, 1],
    ["the mail's id without brackets", { answer: "$40", sources: ["g@x"], gold: "$40", goldMails: ["<g@x>"] }, 1],
    ["the gold answer alone", { answer: "$40", gold: "$40", goldMails: ["<g@x>"] }, 0.8],
    [
      "another mail beside the gold one",
      { answer: "$40", sources: ["<g@x>", "<b@x>"], gold: "$40", goldMails: ["<g@x>"] },
      0.9,
    ],
    ["the right number among words", { answer: "It was forty dollars", gold: "$40" }, 0.5],
    ["a wrong number", { answer: "$41", sources: ["<g@x>"], gold: "$40", goldMails: ["<g@x>"] }, 0.2],
    [
      "abstaining where there is an answer",
      { answer: "I don't know", sources: ["<g@x>"], gold: "$40", goldMails: ["<g@x>"] },
      0,
    ],
    [
      "abstaining where there is none",
      { answer: "I could not find an answer.", gold: "I don't know", unanswerable: true },
      1,
    ],
    ["an answer where there is none", { answer: "$40", gold: "I don't know", unanswerable: true }, 0],
    ["no answer", { answer: null, gold: "" }, 0],
    ["an empty answer", { answer: " ", sources: ["<g@x>"], gold: "$40", goldMails: ["<g@x>"] }, 0],
  ])("rewards %s", (_, one, reward) => {
    expect(rewardsOf([one])[0]?.reward).toBe(reward);
  });

  it.each<[string, string, unknown]>([
    ["the answer as JSON", '{"answer": "x", "sources": ["<a>", 3]}', ["x", ["<a>"]]],
    ["one source", '{"answer": "x", "sources": "<a>"}', ["x", ["<a>"]]],
    ["a number", '{"answer": 40}', ["40", []]],
    ["a JSON text", '"x"', ["x", []]],
    ["a byte order mark", '\ufeff{"answer": "x"}', ["x", []]],
    ["plain text", "It was $40.\n", ["It was $40.", []]],
    ["plain text with sources", "It was $40.\nSources: <a>, <b>\n", ["It was $40.", ["<a>", "<b>"]]],
    ["JSON that is broken off", '{"answer": "x', ['{"answer": "x', []]],
    ["a list", "[1]", ["[1]", []]],
    ["JSON without an answer", "{}", [null, []]],
    ["JSON nested too deep", "[".repeat(100_000), ["[".repeat(100_000), []]],
    ["half a character", '{"answer": "\\ud800"}', ["\ud800", []]],
    ["nothing", " \n", [null, []]],
  ])("reads %s", (_, text, answer) => {
    const file = join(temporaryFolder(), "answer.json");
    writeFileSync(file, text);
    expect(python("grade.read_answer([case])[1:]", [file])).toEqual([answer]);
  });

  it("follows no link, and waits for no pipe", () => {
    const folder = temporaryFolder();
    const path = (name: string) => join(folder, name);
    mkdirSync(path("tests"));
    writeFileSync(path("tests/answer.json"), '{"answer": "gold"}');
    symlinkSync(path("tests/answer.json"), path("link.json"));
    symlinkSync(path("tests"), path("app"));
    execFileSync("mkfifo", [path("pipe")]);
    const files = ["link.json", "app/answer.json", "pipe", "tests", "none"].map(path);
    expect(python("grade.read_answer([case])", files)).toEqual(files.map(() => [null, null, []]));
  });
});
