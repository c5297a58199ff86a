import { describe, expect, test } from "vitest";
import { majority } from "../../src/scoring/judge.js";
import type { Verdict, Vote } from "../../src/traces/trace.js";

const votes = (...verdicts: (Verdict | null)[]): Vote[] =>
  verdicts.map((verdict, i) => ({ verdict, reason: `${verdict ?? "unread"} ${i + 1}`, cached: false }));

describe("of several votes", () => {
  test.each<[string, Vote[], Verdict | null, number | null, string]>([
    ["one is the verdict", votes("partly"), "partly", 1, "partly 1"],
    ["all agree", votes("correct", "correct", "correct"), "correct", 1, "correct 1"],
    ["most win, with their own reason", votes("wrong", "correct", "correct"), "correct", 2 / 3, "correct 2"],
    ["the stricter of tied ones wins", votes("correct", "wrong"), "wrong", 1 / 2, "wrong 2"],
    [
      "of three that all differ the strictest",
      votes("correct", "partly", "abstained"),
      "abstained",
      1 / 3,
      "abstained 3",
    ],
    ["one that could not be read does not count", votes("correct", null, "correct"), "correct", 1, "correct 1"],
    ["half of them unread leave no verdict", votes("correct", null), null, null, "unread 2"],
    ["nor do all of them", votes(null, null), null, null, "unread 1"],
  ])("%s", (_, cast, verdict, agreement, reason) => {
    expect(majority(cast)).toEqual({ verdict, agreement, reason });
  });
});
