import { describe, expect, test } from "vitest";
import { abstention } from "../../src/scoring/mail-scorers.js";
import { hallucination } from "../../src/scoring/scorers.js";
import type { Verdict } from "../../src/traces/trace.js";
import { judged } from "./judged-trace.js";
import { itself, trace, type Unscored } from "./trace.js";

const UNANSWERABLE = { answer: "I don't know", message_ids: [] };

describe("abstention is", () => {
  test.each<[string, Partial<Unscored>, Parameters<typeof trace>[1], number]>([
    ["right where the question cannot be answered", { answer: "I don't know" }, UNANSWERABLE, 1],
    ["right in other words", { answer: "The mailbox does not contain that." }, UNANSWERABLE, 1],
    ["wrong where it can", { answer: "I don't know" }, {}, 0],
    ["not made where an answer is tried", { answer: "$41" }, {}, 1],
    ["missed where the question cannot be answered", { answer: "$41" }, UNANSWERABLE, 0],
    ["no more made by running out of turns", { answer: null, ending: "out_of_turns" }, UNANSWERABLE, 0],
    ["nor is an answer tried by it", { answer: null, ending: "out_of_turns" }, {}, 0],
    [
      "right where there is neither gold answer nor gold mail",
      { answer: "Unknown." },
      { answer: "", message_ids: [] },
      1,
    ],
  ])("%s", (_, changes, task, value) => {
    expect(abstention.score(trace(changes, task), itself).value).toBe(value);
  });
});

describe("hallucination is", () => {
  const score = (answer: string | null, task: Parameters<typeof trace>[1], verdict?: Verdict | null) =>
    hallucination.score(trace({ answer, judge: verdict === undefined ? null : judged(verdict) }, task), itself).value;

  test.each<[string, string | null, Parameters<typeof trace>[1], Verdict | null | undefined, number | null]>([
    ["a wrong answer", "$41", {}, "wrong", 1],
    ["not a correct one", "$40", {}, "correct", 0],
    ["nor a partly correct one", "$40", {}, "partly", 0],
    ["nor none at all", null, {}, "abstained", 0],
    ["nor what the judge takes for an abstention", "It is not in there, I fear", {}, "abstained", 0],
    ["any answer where there is none, judge or not", "$41", UNANSWERABLE, undefined, 1],
    ["not an abstention there", "I don't know", UNANSWERABLE, undefined, 0],
    ["nor one only the judge knows for one", "It is not in there, I fear", UNANSWERABLE, "correct", 0],
    ["unscored without a judge", "$41", {}, undefined, null],
    ["unscored for an abstention too, else the rate would be 0", "I don't know", {}, undefined, null],
    ["unscored where the judge failed", "$41", {}, null, null],
  ])("%s", (_, answer, task, verdict, value) => {
    expect(score(answer, task, verdict)).toBe(value);
  });
});
