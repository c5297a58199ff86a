import { expect, it } from "vitest";
import { FORMATS } from "../../src/trace-formats/formats.js";
import { traceSchema } from "../../src/traces/trace.js";
import { contextOf } from "./context.js";
import { ANSWERED, FAILED } from "./traces.js";

it.each([
  ["an answered", ANSWERED],
  ["a failed", FAILED],
])("%s trace is one line that holds all of it", (_, trace) => {
  const lines = [...FORMATS.jsonl.lines([trace], contextOf())];
  expect(lines).toHaveLength(1);
  expect(lines[0]).not.toContain("\n");
  expect(traceSchema.strict().parse(JSON.parse(lines[0] ?? ""))).toEqual(trace);
});

it("no format puts a line end into a line, whatever the mail holds", () => {
  const trace = { ...ANSWERED, answer: "one\ntwo\r\nthree\u2028four" };
  for (const [name, format] of Object.entries(FORMATS)) {
    if (!("lines" in format)) continue;
    for (const line of format.lines([trace], contextOf())) expect(line, name).not.toMatch(/[\r\n]/);
  }
});
