import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { context, type DemoTools, openDemoTools } from "./demo-tools.js";

let demo: DemoTools;
beforeAll(async () => {
  demo = await openDemoTools();
});
afterAll(() => demo.close());

describe("return_final_answer", () => {
  test.each([
    [{}, "answer"],
    [{ answer: "42" }, "sources"],
    [{ answer: 42, sources: [] }, "answer"],
    [{ answer: "42", sources: "<a@b>" }, "sources"],
    [{ answer: "42", sources: [1] }, "sources"],
    [{ answer: "42", sources: [], confidence: 1 }, "confidence"],
  ])("refuses %j", async (args, what) => {
    const refusal = await demo.refusal("return_final_answer", args);
    expect(refusal).toMatchObject({ kind: "bad_arguments", error: expect.stringContaining(what) });
  });

  test.each([
    ["42", ["<a@b>", "<c@d>"]],
    ["I don't know", []],
    ["", []],
  ])("ends with %j and the sources %j, as they were given", async (answer, sources) => {
    const result = await demo.tool("return_final_answer").call({ answer, sources }, context);
    expect(result).toEqual({ ok: true, value: { accepted: true }, final: { answer, sources } });
  });
});
