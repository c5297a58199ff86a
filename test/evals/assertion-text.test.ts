import { expect, it } from "vitest";
import { assertionText } from "../../src/evals/run-evals/run-rules.js";

it.each([
  [{ contains: "Regards" }, 'the answer contains "Regards"'],
  [{ lacks: "sorry" }, 'the answer does not contain "sorry"'],
  [{ matches: "^[0-9]+$" }, "the answer matches ^[0-9]+$"],
  [{ json: [] }, "the answer is JSON"],
  [{ json: ["total"] }, "the answer is JSON with total"],
  [{ json: ["total", "currency"] }, "the answer is JSON with total, currency"],
])("assertionText of %j is: %s", (assertion, text) => expect(assertionText(assertion)).toBe(text));
