import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { junit } from "../../src/reports/junit-report.js";
import type { TaskResult } from "../../src/traces/task-result.js";
import { head, task } from "../analysis/runs.js";

const xml = (...results: TaskResult[]) => [...junit(head(), ["exactMatch"], () => results)].join("");

const FOUR = [
  task(1, { exactMatch: 1 }, { question: "Who?", executionTimeMs: 1_500, inbox: "ann@x.example" }),
  task(2, { exactMatch: 0 }, { question: "When?", agentAnswer: "May", groundTruth: "June", epoch: 2 }),
  task(3, {}, { question: "Why?", ending: "timeout", error: "600 s are over" }),
  task(4, { exactMatch: null }, { question: "How?" }),
];

describe("JUnit XML", () => {
  it("has a test case per task: wrong is a failure, failed an error, without the score skipped", () => {
    const text = xml(...FOUR);
    expect(text).toMatch(
      /^<\?xml version="1\.0" encoding="UTF-8"\?>\n<testsuites name="art-e" tests="4" failures="1" errors="1" skipped="1" time="1\.538">/,
    );
    expect(text).toContain('<testsuite name="art-e (acme/best), exactMatch" id="run_a" tests="4"');
    expect(text).toContain('<testcase classname="ann@x.example" name="1 Who?" time="1.500"/>');
    expect(text).toMatch(
      /name="2\/2 When\?".+>\n +<failure type="exactMatch" message="exactMatch 0">[^<]+Answer: {3}May\nGold: {5}June\n/,
    );
    expect(text).toMatch(/name="3 Why\?".+>\n +<error type="timeout" message="600 s are over">/);
    expect(text).toMatch(/name="4 How\?".+>\n +<skipped message="no exactMatch"\/>/);
  });

  it("of nothing is an empty suite", () => expect(xml()).toContain('tests="0" failures="0"'));

  it("has a suite for each score that is gated by", () => {
    const tasks = [task(1, { exactMatch: 0, foundGold: 1 }), task(2, { exactMatch: 0, foundGold: 1 })];
    const text = [...junit(head(), ["foundGold", "exactMatch"], () => tasks)].join("");
    expect(text).toContain('<testsuites name="art-e" tests="4" failures="2"');
    expect(text).toContain('foundGold" id="run_a foundGold" tests="2" failures="0"');
    expect(text).toContain('exactMatch" id="run_a exactMatch" tests="2" failures="2"');
    checkWellFormed(text);
  });

  it("takes 1 for wrong where lower is better", () => {
    const scores = { exactMatch: { ...head().scores.exactMatch, better: "lower" as const } };
    const run = head({ scores: scores as never });
    const text = [...junit(run, ["exactMatch"], () => FOUR.slice(0, 2))].join("");
    expect(text).toMatch(/name="1 Who\?".+>\n +<failure/);
  });

  const hostile =
    "a\u0000b\u0008\u001b[31m ]]> </failure><x y=\"1\" z='2'/> &amp; &#0; <!-- \ud800 \uffff \u202e\r\nend";

  it("is well formed whatever a mail or an answer holds", () => {
    const text = xml(task(1, { exactMatch: 0 }, { question: hostile, agentAnswer: hostile, groundTruth: hostile }));
    expect(text).not.toMatch(/<x |<!--|\]\]>/);
    expect(text).toContain("&lt;/failure&gt;&lt;x y=&quot;1&quot;");
    checkWellFormed(text);
  });

  it("is well formed for any text", () => {
    const anything = fc.string({ unit: "binary" });
    fc.assert(
      fc.property(anything, anything, anything, (question, answer, error) => {
        checkWellFormed(xml(task(1, { exactMatch: 0 }, { question, agentAnswer: answer, inbox: error })));
        checkWellFormed(xml(task(1, {}, { question, ending: "model_error", error })));
      }),
    );
  });
});

/** XML 1.0: only its characters, no bare & or <, every element closed in its order, attributes without line breaks. */
function checkWellFormed(text: string): void {
  expect(text.isWellFormed()).toBe(true);
  expect(text.match(/[^\t\n\r\u{20}-\u{d7ff}\u{e000}-\u{fffd}\u{10000}-\u{10ffff}]/u)).toBeNull();
  expect(text.replaceAll(/&(amp|lt|gt|quot|#\d+);/g, "").includes("&")).toBe(false);
  const open: string[] = [];
  const rest = text.replace(/<(\?xml[^<>]*\?|\/?[a-z]+(?: [a-z]+="[^"<>\n\t]*")*\/?)>/g, (_, tag: string) => {
    const name = tag.match(/[a-z]+/)?.[0] ?? "";
    if (tag.startsWith("/")) expect(open.pop()).toBe(name);
    else if (!tag.startsWith("?") && !tag.endsWith("/")) open.push(name);
    return "";
  });
  expect(open).toEqual([]);
  expect(rest).not.toMatch(/[<>]/);
}
