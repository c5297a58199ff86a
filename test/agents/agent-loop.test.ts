import { describe, expect, test } from "vitest";
import { newTranscript, runAgent } from "../../src/agents/agent-loop.js";
import { ModelError } from "../../src/models/model.js";
import type { Tool } from "../../src/tools/tool.js";
import { broken, echo, ending } from "./echo-tools.js";
import { agentRun, call, finish, roll, scripted } from "./scripted-model.js";

const EMPTY = "Your reply was empty. Call a tool, or give your answer.";
const CUT_OFF = "Your reply was cut off for its length. Be brief: call one tool, or give a short answer.";

describe("the loop throws, and the transcript keeps what was before,", () => {
  test("what the model port throws", async () => {
    const error = new ModelError("rate_limit", "429", { retryable: true });
    const run = agentRun(scripted([call("echo", { a: 1 }), error]), [echo()]);
    const transcript = newTranscript(run);
    await expect(runAgent(run, transcript)).rejects.toBe(error);
    expect(transcript.messages.map((message) => message.role)).toEqual(["system", "user", "assistant", "tool"]);
    expect(transcript.turns).toHaveLength(1);
    expect(transcript.toolCalls).toHaveLength(1);
  });

  test("what a broken tool throws: that is no fault of the model's", async () => {
    const run = agentRun(scripted([call("broken")]), [broken]);
    const transcript = newTranscript(run);
    await expect(runAgent(run, transcript)).rejects.toThrow("a wire has come loose");
    expect(transcript.turns).toHaveLength(1);
    expect(transcript.toolCalls).toEqual([]);
  });

  test("the signal's reason", async () => {
    const controller = new AbortController();
    const last: Tool = {
      ...echo(),
      async call() {
        controller.abort(new Error("stopped"));
        return { ok: true, value: null };
      },
    };
    const context = { inbox: null, cutoff: null, signal: controller.signal };
    const run = agentRun(scripted([call("echo"), finish("late")]), [last], { context });
    await expect(runAgent(run, newTranscript(run))).rejects.toThrow("stopped");
  });
});

describe("a reply that is neither a call nor an answer", () => {
  test.each([
    ["empty", { content: "" }, EMPTY],
    ["blank", { content: " \n\t" }, EMPTY],
    ["of no known end and empty", { content: "", finishReason: "other" }, EMPTY],
    ["cut off for its length", { content: "The dues are", finishReason: "length" }, CUT_OFF],
    ["cut off before its first word", { content: "", finishReason: "length" }, CUT_OFF],
  ] as const)("%s is complained about, and the loop goes on", async (_, line, complaint) => {
    const rollout = await roll([line, finish("$40")], [ending]);
    expect(rollout).toMatchObject({ ending: "answered", answer: "$40" });
    expect(rollout.requests[1]?.messages).toEqual([
      { role: "user", content: "How much are the dues?" },
      { role: "assistant", content: line.content, toolCalls: [] },
      { role: "user", content: complaint },
    ]);
    expect(rollout.turns).toHaveLength(2);
  });

  test("uses up a turn: nothing else in all of them is out_of_turns", async () => {
    const rollout = await roll([{}, {}, {}, {}], [ending], { settings: { maxTurns: 4 } });
    expect(rollout).toMatchObject({ ending: "out_of_turns", answer: null, sources: [] });
    expect(rollout.turns).toHaveLength(4);
  });
});

describe("tool_protocol_error", () => {
  const unusable = { toolCalls: [{ name: "echo", arguments: {}, invalid: "{" }] };

  test.each([
    ["unknown tools", call("no_such_tool")],
    ["unparsable arguments", unusable],
    ["bad arguments", call("echo", { refuse: "bad_arguments" })],
    ["two bad calls at once", { toolCalls: [...unusable.toolCalls, { name: "nothing", arguments: {} }] }],
  ])("comes after three turns of %s, before the turns are used up", async (_, line) => {
    const rollout = await roll([line, line, line, finish("late")], [echo(), ending]);
    expect(rollout).toMatchObject({ ending: "tool_protocol_error", answer: null, sources: [] });
    expect(rollout.turns).toHaveLength(3);
    expect(rollout.messages.at(-1)?.role).toBe("tool");
  });

  test.each([
    ["that works", call("echo")],
    ["for a mail that is not there", call("echo", { refuse: "invalid_email" })],
    ["that fails through no fault of the model's", call("echo", { refuse: "failed" })],
    ["that works beside one that does not", { toolCalls: [...unusable.toolCalls, { name: "echo", arguments: {} }] }],
  ])("is put off by a call %s", async (_, good) => {
    const lines = [unusable, unusable, good, unusable, unusable, finish("$40")];
    expect(await roll(lines, [echo(), ending])).toMatchObject({ ending: "answered", answer: "$40" });
  });

  test("does not come from refusals that the model may meet any number of times", async () => {
    const lines = Array.from({ length: 5 }, () => call("echo", { refuse: "invalid_email" }));
    const rollout = await roll(lines, [echo()], { settings: { maxTurns: 5 } });
    expect(rollout.ending).toBe("out_of_turns");
  });
});

describe("an answer", () => {
  test("by return_final_answer, with its sources", async () => {
    const rollout = await roll([call("echo", { a: 1 }), finish(" $40\n", ["<a@b>"])], [echo(), ending]);
    expect(rollout).toMatchObject({ ending: "answered", answer: "$40", sources: ["<a@b>"] });
    expect(rollout.toolCalls.map((record) => [record.name, record.turn])).toEqual([
      ["echo", 0],
      ["return_final_answer", 1],
    ]);
  });

  test("in plain text is the last turn's text only, without sources", async () => {
    const thinking = { content: "Let me look for the dues.", toolCalls: [{ name: "echo", arguments: {} }] };
    const rollout = await roll([thinking, { content: " They are $40. \n" }], [echo(), ending]);
    expect(rollout).toMatchObject({ ending: "answered", answer: "They are $40.", sources: [] });
  });

  test("of the tool counts, not the text beside it", async () => {
    const rollout = await roll([{ ...finish("$40"), content: "I am done." }], [ending]);
    expect(rollout.answer).toBe("$40");
  });

  test("in the very last turn still counts", async () => {
    const settings = { maxTurns: 2 };
    expect(await roll([call("echo"), finish("$40")], [echo(), ending], { settings })).toMatchObject({
      ending: "answered",
      answer: "$40",
    });
    expect((await roll([call("echo"), call("echo")], [echo(), ending], { settings })).ending).toBe("out_of_turns");
  });

  test("before the other calls of its turn leaves those unmade", async () => {
    const tool = echo();
    const both = [...(finish("$40").toolCalls ?? []), { name: "echo", arguments: {} }];
    expect(await roll([{ toolCalls: both }], [tool, ending])).toMatchObject({ ending: "answered" });
    expect(tool.calls).toEqual([]);
  });

  test.each(["I don't know", "I do not know.", "Sorry, I don’t know"])(
    "%j without sources is dont_know",
    async (text) => {
      expect(await roll([finish(text)], [ending])).toMatchObject({ ending: "dont_know", answer: text, sources: [] });
      expect(await roll([{ content: text }], [ending])).toMatchObject({ ending: "dont_know", answer: text });
    },
  );

  test.each([
    ["I don't know", ["<a@b>"]],
    ["I don't know her number, but her fax is 316-555-0117", []],
  ])("%j with the sources %j is an answer", async (text, sources) => {
    expect(await roll([finish(text, sources)], [ending])).toMatchObject({ ending: "answered", answer: text, sources });
  });

  test("that is a refusal ends it too, empty or not", async () => {
    const refuse = (content: string) => roll([{ content, finishReason: "refusal" }], [ending]);
    expect(await refuse("I cannot help with that.")).toMatchObject({
      ending: "answered",
      answer: "I cannot help with that.",
    });
    expect(await refuse("")).toMatchObject({ ending: "answered", answer: "" });
  });
});

describe("of several tool calls in one turn", () => {
  const three = { toolCalls: ["a", "b", "c"].map((word) => ({ name: "echo", arguments: { word } })) };

  test("all are made, in order, each answered under its id", async () => {
    const tool = echo();
    const rollout = await roll([three, finish("x")], [tool, ending]);
    expect(tool.calls.map(({ args }) => args)).toEqual([{ word: "a" }, { word: "b" }, { word: "c" }]);
    expect(rollout.requests[1]?.messages.slice(2)).toEqual(
      ["a", "b", "c"].map((word, i) => ({
        role: "tool",
        toolCallId: `call_1_${i + 1}`,
        name: "echo",
        content: `{"word":"${word}"}`,
        isError: false,
      })),
    );
  });

  test("only the first is made where the agent says so, and the others are told why not", async () => {
    const tool = echo();
    const rollout = await roll([three, finish("x")], [tool, ending], { settings: { toolCalls: "first" } });
    expect(tool.calls.map(({ args }) => args)).toEqual([{ word: "a" }]);
    expect(rollout.toolCalls.map(({ id }) => id)).toEqual(["call_1_1", "call_2_1"]);
    const results = rollout.requests[1]?.messages.slice(2);
    expect(results?.map((message) => message.role === "tool" && [message.toolCallId, message.isError])).toEqual([
      ["call_1_1", false],
      ["call_1_2", true],
      ["call_1_3", true],
    ]);
    expect(results?.[1]?.content).toContain("only the first tool call of a turn is made");
  });

  test("after the answer none is made, and each is told why not", async () => {
    const tool = echo();
    const all = { toolCalls: [...(finish("$40").toolCalls ?? []), { name: "echo", arguments: { word: "late" } }] };
    const rollout = await roll([all], [tool, ending]);
    expect(tool.calls).toEqual([]);
    expect(rollout.toolCalls.map(({ name }) => name)).toEqual(["return_final_answer"]);
    const results = rollout.messages.flatMap((message) => (message.role === "tool" ? [message] : []));
    expect(results.map(({ name, isError }) => [name, isError])).toEqual([
      ["return_final_answer", false],
      ["echo", true],
    ]);
    expect(results[1]?.content).toBe("Not called: the answer was given before it.");
  });

  test("an answer that is not the first does not end a loop that makes only the first", async () => {
    const both = { toolCalls: [{ name: "echo", arguments: {} }, ...(finish("early").toolCalls ?? [])] };
    const rollout = await roll([both, finish("$40")], [echo(), ending], { settings: { toolCalls: "first" } });
    expect(rollout.answer).toBe("$40");
  });
});

describe("the model is asked", () => {
  test("with the prompt, the conversation, the tools and the agent's settings", async () => {
    const settings = { maxTokens: 77, temperature: 0.5, toolChoice: "required" } as const;
    const state = { provider: "anthropic", value: [{ type: "thinking", signature: "s" }] };
    const lines = [{ ...call("echo", { a: 1 }), content: "hm", providerState: state }, finish("$40")];
    const { requests, messages } = await roll(lines, [echo(), ending], { settings });
    expect(requests[0]).toEqual({
      system: "You answer from a mailbox.",
      messages: [{ role: "user", content: "How much are the dues?" }],
      tools: [
        { name: "echo", description: "gives back what it gets (echo)", parameters: echo().parameters },
        { name: "return_final_answer", description: "ends", parameters: ending.parameters },
      ],
      toolChoice: "required",
      maxTokens: 77,
      temperature: 0.5,
    });
    expect(requests[1]?.messages[1]).toEqual({
      role: "assistant",
      content: "hm",
      toolCalls: [{ id: "call_1_1", name: "echo", arguments: { a: 1 } }],
      providerState: state,
    });
    expect(messages[0]).toEqual({ role: "system", content: "You answer from a mailbox." });
    expect(messages.slice(1, 4)).toEqual(requests[1]?.messages);
  });

  test("and what each turn took is kept: tokens, price, retries, its end", async () => {
    const retries = [{ attempt: 1, reason: "529", waitedMs: 5 }];
    const odd = { ...call("echo"), usage: null, retries, rawFinishReason: "tool_use", latencyMs: 12 };
    const { turns } = await roll([odd, finish("$40")], [echo(), ending]);
    expect(turns).toEqual([
      {
        startedAt: expect.stringMatching(/^\d{4}-.*Z$/),
        latencyMs: 12,
        waitedMs: 0,
        finishReason: "tool_calls",
        rawFinishReason: "tool_use",
        usage: null,
        costUsd: null,
        retries,
        cached: false,
      },
      expect.objectContaining({ usage: { inputTokens: 100, outputTokens: 10, cachedInputTokens: 40 }, costUsd: 0.01 }),
    ]);
  });
});
