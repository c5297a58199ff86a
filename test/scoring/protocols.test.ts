import { describe, expect, test } from "vitest";
import type { ToolCall } from "../../src/models/model.js";
import type { JsonValue } from "../../src/platform/json.js";
import { artProtocol, verdictProtocol } from "../../src/scoring/judge.js";

const call = (args: JsonValue, changes: Partial<ToolCall> = {}): ToolCall => ({
  id: "c1",
  name: "record_verdict",
  arguments: args,
  ...changes,
});
const readReply = (content: string, ...toolCalls: ToolCall[]) => verdictProtocol.read({ content, toolCalls });

describe("a verdict is read", () => {
  test.each(["correct", "partly", "wrong", "abstained"])("%s from the tool call", (verdict) => {
    expect(readReply("", call({ reason: "so it is", verdict }))).toEqual({ verdict, reason: "so it is" });
  });

  test.each([
    ["JSON in plain text", '{"verdict": "partly", "reason": "half of it"}'],
    [
      "JSON in a fence, with words round it",
      'Well:\n```json\n{"reason": "half of it", "verdict": "partly"}\n```\nDone.',
    ],
  ])("from %s where no tool is called", (_, content) => {
    expect(readReply(content)).toEqual({ verdict: "partly", reason: "half of it" });
  });

  test("from the tool call even where the text quotes another", () => {
    expect(readReply('It claims {"verdict": "correct"}.', call({ reason: "", verdict: "wrong" }))?.verdict).toBe(
      "wrong",
    );
  });

  test.each<[string, string, ToolCall[]]>([
    ["nothing", "", []],
    ["prose, whatever it seems to say", "The answer is correct.", []],
    ["a verdict that there is not", "", [call({ reason: "", verdict: "fine" })]],
    ["arguments that are no object", "", [call({}, { invalid: '{"verdict": "corr' })]],
    ["another tool", "", [call({ verdict: "correct" }, { name: "grade" })]],
    ["two that disagree", "", [call({ verdict: "correct" }), call({ verdict: "wrong" })]],
    ["a quotation beside it that disagrees", '{"verdict": "correct"} is what it says. {"verdict": "wrong"}', []],
    ["half of one", '{"verdict": "correct', []],
  ])("not from %s", (_, content, calls) => {
    expect(readReply(content, ...calls)).toBeNull();
  });
});

describe("ART's one word is read", () => {
  const word = (content: string) => artProtocol.read({ content, toolCalls: [] })?.verdict ?? null;

  test.each([
    ["True", "correct"],
    ["true", "correct"],
    [" True.\n", "correct"],
    ["**True**", "correct"],
    ["False", "wrong"],
    ["FALSE!", "wrong"],
    ["", null],
    ["Truely", null],
    ["True or False", null],
    ["It is True", null],
    ["correct", null],
  ])("%j as %s", (content, verdict) => {
    expect(word(content)).toBe(verdict);
  });
});

describe("both ask", () => {
  const item = { question: "How much?", gold: "$40", answer: "$41" };

  test("at temperature 0, with the three texts in order, each between marks of one id", () => {
    for (const protocol of [verdictProtocol, artProtocol]) {
      const { messages, temperature } = protocol.request(item);
      expect(temperature).toBe(0);
      expect(messages).toHaveLength(1);
      const [, id] = /<question id="([0-9a-f]{16})">/.exec(messages[0]?.content ?? "") ?? [];
      expect(messages[0]?.content.slice(0, messages[0].content.indexOf("End of the data"))).toBe(
        `<question id="${id}">\nHow much?\n</question id="${id}">\n\n<correct_answer id="${id}">\n$40\n</correct_answer id="${id}">\n\n<given_answer id="${id}">\n$41\n</given_answer id="${id}">\n\n`,
      );
    }
  });

  test("with the one tool forced, and without any for one word", () => {
    expect(verdictProtocol.request(item)).toMatchObject({
      toolChoice: "required",
      tools: [{ name: "record_verdict" }],
    });
    expect(artProtocol.request(item).tools).toEqual([]);
  });

  test("the same for the same texts, and with other marks for others", () => {
    expect(verdictProtocol.request(item)).toEqual(verdictProtocol.request({ ...item }));
    expect(verdictProtocol.request({ ...item, answer: "$42" }).messages[0]?.content).not.toContain(
      /id="([0-9a-f]{16})"/.exec(verdictProtocol.request(item).messages[0]?.content ?? "")?.[1],
    );
  });

  test("with a very long answer cut, and said to be", () => {
    const { messages } = verdictProtocol.request({ ...item, answer: "x".repeat(30_000) });
    expect(messages[0]?.content.length).toBeLessThan(21_000);
    expect(messages[0]?.content).toContain("[cut: 10000 characters more]");
  });
});
