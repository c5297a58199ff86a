import { describe, expect, it } from "vitest";
import { stripControls } from "../../src/platform/text.js";
import { traceText } from "../../src/reports/trace-text.js";
import type { QuestionTrace as Trace } from "../../src/traces/trace.js";
import { judged } from "../scoring/judged-trace.js";
import { ANSWERED, FAILED } from "../trace-formats/traces.js";

describe("a trace as text", () => {
  it("tells question, conversation, calls and answer in their order", () => {
    expect(traceText(ANSWERED)).toMatchInlineSnapshot(`
      "trace_1  email-search (acme/best)  run run_1
      task 7  kim@example.com  2001-05-14

      Question: When is the call?

      [system]
        You search.

      [user]
        When is the call?

      [assistant]
        Let me look.
        -> email_search(query: "call")
        -> email_get({broken)
        -> email_get(message_id: "<1@x>")

      [email_search]
        {"total":1}

      [email_get, error]
        not JSON

      [assistant]
        On Friday.

      Ending:   answered after 2 turns, 3.5 s
      Time:     model 1.7 s, tools 13 ms, waiting 0 ms
                MMMMMMMMMMMMMMMMMMMMMMMMMMMMM-------------------------------
                M model 1.7 s, t tools 13 ms, - other 1.8 s
      Answer:   On Friday.
      Sources:  <1@x>
      Gold:     Friday
      Mails:    <1@x>
      Scores:   exactMatch 0.000, semanticScore 0.500, readGold -"
    `);
  });

  it("tells the judge's verdict, why, and how far its votes agree", () => {
    const line = (judge: Trace["judge"]) => /^Judge: .*$/m.exec(traceText({ ...ANSWERED, judge }))?.[0];
    const vote = { verdict: "correct", reason: "r", cached: false } as const;
    expect(line(null)).toBeUndefined();
    expect(line(judged("correct", { cast: [vote] }))).toBe("Judge:    correct: so it is (acme/judge)");
    expect(line(judged("wrong", { cast: [vote, vote, vote], agreement: 2 / 3 }))).toBe(
      "Judge:    wrong: so it is (acme/judge, 3 votes, agreement 0.667)",
    );
    expect(line(judged(null))).toBe("Judge:    no verdict: the judge failed (acme/judge)");
  });

  it("of a failed task tells the error, and dashes for what it has not", () => {
    const foot = traceText(FAILED).split("\n").slice(-8);
    expect(foot).toEqual([
      "Ending:   model_error after 0 turns, 3.5 s",
      "Time:     model 0 ms, tools 0 ms, waiting 0 ms",
      "Error:    401 no",
      "Answer:   -",
      "Sources:  -",
      "Gold:     Friday",
      "Mails:    <1@x>",
      "Scores:   none: a failed task is not scored",
    ]);
  });

  it("shortens a long message, and says by how much", () => {
    const long = { ...ANSWERED, messages: [{ role: "user" as const, content: "x".repeat(1_600) }] };
    const text = traceText(long);
    expect(text).toContain(`  ${"x".repeat(1_500)}\n  … (100 characters more)`);
    expect(text).not.toContain("x".repeat(1_501));
  });
});

describe("what is printed", () => {
  it.each([
    ["an escape sequence", "\u001b[31mred", "␛[31mred"],
    ["a carriage return that would overwrite the line", "safe\rfake", "safe␍fake"],
    ["a NUL and a bell", "\u0000\u0007", "␀␇"],
    ["a C1 control and DEL", "\u009b\u007f", "\ufffd\ufffd"],
    ["bidi overrides and isolates", "\u202eevil\u202c\u2066x\u2069", "\ufffdevil\ufffd\ufffdx\ufffd"],
    ["bidi marks", "\u200e\u200f\u061c", "\ufffd\ufffd\ufffd"],
  ])("shows %s as a picture of itself", (_, raw, shown) => expect(stripControls(raw)).toBe(shown));

  it("keeps lines, tabs, accents, other scripts and emoji", () => {
    const text = "a\tb\nJosé café 日本語 שלום 👩‍👩‍👧 “q”";
    expect(stripControls(text)).toBe(text);
  });
});
