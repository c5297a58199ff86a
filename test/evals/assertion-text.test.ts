import { describe, expect, it } from "vitest";
import type { Assertion, EvalOf } from "../../src/evals/definition.js";
import { assertionText, runDataEvals } from "../../src/evals/run-evals/run-rules.js";
import { trace } from "../scoring/trace.js";

it.each([
  [{ contains: "Regards" }, 'the answer contains "Regards"'],
  [{ lacks: "sorry" }, 'the answer does not contain "sorry"'],
  [{ matches: "^[0-9]+$" }, "the answer matches ^[0-9]+$"],
  [{ json: [] }, "the answer is JSON"],
  [{ json: ["total"] }, "the answer is JSON with total"],
  [{ json: ["total", "currency"] }, "the answer is JSON with total, currency"],
])('assertionText describes %j as "%s"', (assertion, text) => expect(assertionText(assertion)).toBe(text));

describe("an assertion", () => {
  it.each<[string, Assertion, boolean]>([
    ["Best REGARDS,  Ann", { contains: "regards, ann" }, true],
    ["Best", { contains: "regards" }, false],
    ["Best", { lacks: "regards" }, true],
    ["Regards", { lacks: "regards" }, false],
    ["12", { matches: "^[0-9]+$" }, true],
    ["x12", { matches: "^[0-9]+$" }, false],
    ["null", { json: [] }, true],
    ["null", { json: ["total"] }, false],
    ["none", { json: [] }, false],
    ["3", { json: [] }, true],
    ["3", { json: ["total"] }, false],
    ['{"total": 3}', { json: ["total"] }, true],
    ['{"total": 3}', { json: ["total", "currency"] }, false],
  ])("decides about the answer %j with %j (passes %s)", (answer, assertion, passes) => {
    const definition: EvalOf<"assertions"> = {
      name: "said",
      version: 1,
      kind: "assertions",
      reference: false,
      criterion: "It says so.",
      answer: { all: [assertion] },
      origin: { by: "person", seed: null, labels: null },
    };
    const [outcome] = runDataEvals([definition], { ...trace({ answer }), scores: {} });
    expect(outcome).toMatchObject({ score: passes ? 1 : 0, error: null });
  });
});
