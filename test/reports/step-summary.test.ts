import { describe, expect, it } from "vitest";
import { stepSummary } from "../../src/reports/markdown-report.js";
import { failUnder } from "../../src/runs/gates.js";
import { head, task } from "../analysis/runs.js";

describe("a step summary", () => {
  it("has the figures with their intervals, the gates, and what went wrong", () => {
    const run = head();
    const gates = [0.4, 0.6].map((limit) => failUnder({ metric: "accuracy", limit }, run, 0.9));
    const results = [
      task(1, { exactMatch: 1 }),
      task(2, { exactMatch: 0 }, { question: "When", agentAnswer: "May", groundTruth: "June" }),
      task(3, {}, { question: "Why", ending: "timeout", error: "over", groundTruth: "So" }),
    ];
    const text = stepSummary(run, gates, "exactMatch", results);
    expect(text).toContain("### ART-E: art-e &#40;acme&#47;best&#41;");
    expect(text).toContain("| Exact match | 0.500 | 0.200 to 0.800 | 10 |");
    expect(text).toMatch(/- :white_check_mark: passed accuracy/);
    expect(text).toMatch(/- :x: missed accuracy/);
    expect(text).toContain("<details><summary>2 wrong or failed by exactMatch</summary>");
    expect(text).toContain("| 2 | When | May | June |");
    expect(text).toContain("| 3 | Why | timeout&#58; over | So |");
  });

  it("shows twenty of many, and says how many there are", () => {
    const wrong = Array.from({ length: 3_000 }, (_, i) => task(i, { exactMatch: 0 }, { question: "x".repeat(9_000) }));
    const text = stepSummary(head(), [], "exactMatch", wrong);
    expect(text).toContain("3,000 wrong or failed by exactMatch, the first 20<");
    expect(text.length).toBeLessThan(100_000);
  });

  it("shows what a mail or an answer holds as text", () => {
    const hostile =
      "a | b\n<script>alert(1)</script> [x](javascript:1) ![i](//e) `c` **d** @org #1 www.evil.example \u202e\u001b[2J";
    const results = [task(1, { exactMatch: 0 }, { question: hostile, agentAnswer: hostile, groundTruth: "`" })];
    const text = stepSummary(head({ model: hostile }), [], "exactMatch", results);
    const [row = ""] = text.match(/^\| 1 \|.*$/m) ?? [];
    expect(row.match(/\|/g)).toHaveLength(5);
    expect(row.replaceAll(/&#\d+;/g, "")).not.toMatch(/[<>[\]()`*!@#:./\\_~]/);
    for (const raw of ["<script", "javascript:", "\u202e", "\u001b"]) expect(text).not.toContain(raw);
  });
});
