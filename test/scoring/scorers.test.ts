import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { type MailLookup, openMailLookup } from "../../src/mail/mailbox.js";
import { RESULT_FILE_SCORERS, SCORER_NAMES, SCORERS, scoreTrace } from "../../src/scoring/scorers.js";
import { demoSet, openDemo, question, type TestDb } from "../runs/demo-setup.js";
import { called, itself, trace } from "./trace.js";

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
