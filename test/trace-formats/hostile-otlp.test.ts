import fc from "fast-check";
import { expect, it } from "vitest";
import { hostileTrace } from "./hostile-traces.js";
import { otlpLines } from "./otlp-line.js";
import { problemsOf } from "./otlp-reader.js";
import { ANSWERED } from "./traces.js";

it("any trace gives one line that follows the rules", () => {
  fc.assert(
    fc.property(hostileTrace, fc.boolean(), (trace, content) => {
      const lines = otlpLines(trace, [], content);
      expect(lines).toHaveLength(1);
      expect(lines[0]).not.toMatch(/[\r\n]/);
      expect(problemsOf(lines[0] ?? "")).toEqual([]);
    }),
    { numRuns: process.env.ART_E_LONG ? 10_000 : 300 },
  );
});

it("a tool result of a megabyte stays whole", () => {
  const content = "x".repeat(1_000_000);
  const messages = ANSWERED.messages.map((message) => (message.role === "tool" ? { ...message, content } : message));
  const [line = ""] = otlpLines({ ...ANSWERED, messages });
  expect(problemsOf(line)).toEqual([]);
  expect(line).toContain(content);
});
