import fc from "fast-check";
import { expect, it } from "vitest";
import { otlpLine } from "../../../src/exports/otlp/otlp-format.js";
import { hostileTrace } from "../hostile-traces.js";
import { ANSWERED } from "../traces.js";
import { problemsOf } from "./otlp-rules.js";

const OPTIONS = { version: "1.0.0", content: true, tools: [] };

it("any trace gives one line that follows the rules", () => {
  fc.assert(
    fc.property(hostileTrace, fc.boolean(), (trace, content) => {
      const lines = otlpLine(trace, { ...OPTIONS, content });
      expect(lines).toHaveLength(1);
      expect(lines[0]).not.toMatch(/[\r\n]/);
      expect(problemsOf(lines[0] ?? "")).toEqual([]);
    }),
    { numRuns: 300 },
  );
});

it("a tool result of a megabyte stays whole", () => {
  const content = "x".repeat(1_000_000);
  const messages = ANSWERED.messages.map((message) => (message.role === "tool" ? { ...message, content } : message));
  const [line = ""] = otlpLine({ ...ANSWERED, messages }, OPTIONS);
  expect(problemsOf(line)).toEqual([]);
  expect(line).toContain(content);
});
