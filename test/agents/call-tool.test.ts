import { describe, expect, test } from "vitest";
import { callTool } from "../../src/agents/agent-loop.js";
import type { ToolCall } from "../../src/models/model.js";
import { never } from "../runs/demo-setup.js";
import { broken, echo, ending } from "./echo-tools.js";

const context = { inbox: "a@b.example", cutoff: null, signal: never };
const tool = echo();
const tools = new Map([tool, ending, broken].map((one) => [one.id, one]));
const make = (call: Partial<ToolCall>) =>
  callTool({ id: "c1", name: "echo", arguments: {}, ...call }, 4, tools, context);

describe("a call the model got wrong is answered with what would be right:", () => {
  test.each(["send_email", "", "constructor", "Echo", "echo "])("the unknown tool %j", async (name) => {
    const { message, record, result } = await make({ name });
    const error = `There is no tool "${name}". The tools are: echo, return_final_answer, broken.`;
    expect(result).toEqual({ ok: false, kind: "unknown_tool", error });
    expect(message).toEqual({ role: "tool", toolCallId: "c1", name, content: error, isError: true });
    expect(record).toMatchObject({ name, result: null, error, errorKind: "unknown_tool", turn: 4 });
  });

  test("arguments that are no JSON object, which never reach the tool", async () => {
    const before = tool.calls.length;
    const { record } = await make({ invalid: '{"query": "du' });
    expect(record).toMatchObject({
      arguments: {},
      result: null,
      errorKind: "unparsable_call",
      error: "The arguments of echo are not one JSON object. Call it again with valid JSON.",
    });
    expect(tool.calls).toHaveLength(before);
  });

  test("an unknown tool with broken arguments is an unknown tool", async () => {
    expect((await make({ name: "nothing", invalid: "{" })).record.errorKind).toBe("unknown_tool");
  });

  test.each(["bad_arguments", "invalid_email", "failed"] as const)("what the tool refuses as %s", async (refuse) => {
    const { message, record } = await make({ arguments: { refuse } });
    expect(message).toMatchObject({ content: `refused: ${refuse}`, isError: true });
    expect(record).toMatchObject({ arguments: { refuse }, result: null, errorKind: refuse });
  });
});

test("a tool that throws is a fault of ours and goes through", async () => {
  await expect(make({ name: "broken" })).rejects.toThrow(new TypeError("a wire has come loose"));
});

test("a call that works gives its result to the model as JSON and to the record as it is", async () => {
  const args = { words: ["a", "ä"], limit: 3 };
  const { message, record, result } = await make({ id: "c9", arguments: args });
  expect(result).toEqual({ ok: true, value: args });
  expect(message).toEqual({
    role: "tool",
    toolCallId: "c9",
    name: "echo",
    content: '{"words":["a","ä"],"limit":3}',
    isError: false,
  });
  expect(record).toEqual({
    id: "c9",
    name: "echo",
    arguments: args,
    result: args,
    error: null,
    errorKind: null,
    turn: 4,
    startedAt: expect.stringMatching(/^\d{4}-\d\d-\d\dT.*Z$/),
    durationMs: expect.any(Number),
  });
  expect(tool.calls.at(-1)).toEqual({ args, context });
});
