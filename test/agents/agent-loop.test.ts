import { describe, expect, it, test } from "vitest";
import type { AgentStep } from "../../src/agents/agent-backend.js";
import { AgentLoop, callTool, promptFor } from "../../src/agents/agent-loop.js";
import { checkPrompt, renderPrompt } from "../../src/agents/prompt-template.js";
import { getAgent, listAgents } from "../../src/agents/registry-store.js";
import { ModelError, type ToolCall } from "../../src/models/model.js";
import { UserError } from "../../src/platform/errors.js";
import { loadTools } from "../../src/tools/load-tools.js";
import { openMailbox } from "../../src/tools/mailbox.js";
import type { Tool } from "../../src/tools/tool.js";
import { never, openEmpty } from "../runs/demo-setup.js";
import { broken, echo, ending } from "./echo-tools.js";
import { call, emptyTranscript, finish, play, roll, scripted } from "./scripted-model.js";

const EMPTY = "Your reply was empty. Call a tool, or give your answer.";
const NO_REQUEST = { system: "", messages: [], tools: [], toolChoice: "auto", maxTokens: 1 } as const;
const CUT_OFF = "Your reply was cut off for its length. Be brief: call one tool, or give a short answer.";

describe("the transcript of a loop that throws", () => {
  test("keeps the earlier turns if the model port throws", async () => {
    const error = new ModelError("rate_limit", "429", { retryable: true });
    const transcript = emptyTranscript();
    await expect(play(scripted([call("echo", { a: 1 }), error]), [echo()], {}, transcript)).rejects.toBe(error);
    expect(transcript.messages.map((message) => message.role)).toEqual(["system", "user", "assistant", "tool"]);
    expect(transcript.turns).toHaveLength(1);
    expect(transcript.toolCalls).toHaveLength(1);
  });

  test("keeps the current turn if a broken tool throws", async () => {
    const transcript = emptyTranscript();
    await expect(play(scripted([call("broken")]), [broken], {}, transcript)).rejects.toThrow(
      new TypeError("a wire has come loose"),
    );
    expect(transcript.turns).toHaveLength(1);
    expect(transcript.toolCalls).toEqual([]);
  });

  test("throws the signal's reason if the loop is aborted", async () => {
    const controller = new AbortController();
    const last: Tool = {
      ...echo(),
      async call() {
        controller.abort(new Error("stopped"));
        return { ok: true, value: null };
      },
    };
    const context = { inbox: null, cutoff: null, signal: controller.signal };
    await expect(play(scripted([call("echo"), finish("late")]), [last], { context })).rejects.toThrow("stopped");
  });
});

describe("replies without a call or an answer", () => {
  test.each([
    ["empty", { content: "" }, EMPTY],
    ["blank", { content: " \n\t" }, EMPTY],
    ["of no known end and empty", { content: "", finishReason: "other" }, EMPTY],
    ["cut off for its length", { content: "The dues are", finishReason: "length" }, CUT_OFF],
    ["cut off before its first word", { content: "", finishReason: "length" }, CUT_OFF],
  ] as const)("asks the model again after a reply that is %s", async (_, line, complaint) => {
    const rollout = await roll([line, finish("$40")], [ending]);
    expect(rollout).toMatchObject({ ending: "answered", answer: "$40" });
    expect(rollout.requests[1]?.messages).toEqual([
      { role: "user", content: "How much are the dues?" },
      { role: "assistant", content: line.content, toolCalls: [] },
      { role: "user", content: complaint },
    ]);
    expect(rollout.turns).toHaveLength(2);
  });

  test("ends as out_of_turns if every reply uses up a turn this way", async () => {
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
    ["two bad calls in one turn", { toolCalls: [...unusable.toolCalls, { name: "nothing", arguments: {} }] }],
  ])("ends the task after three turns of %s, before the turns are used up", async (_, line) => {
    const rollout = await roll([line, line, line, finish("late")], [echo(), ending]);
    expect(rollout).toMatchObject({ ending: "tool_protocol_error", answer: null, sources: [] });
    expect(rollout.turns).toHaveLength(3);
    expect(rollout.messages.at(-1)?.role).toBe("tool");
  });

  test.each([
    ["that works", call("echo")],
    ["for a missing email", call("echo", { refuse: "invalid_email" })],
    ["that fails through no fault of the model's", call("echo", { refuse: "failed" })],
    ["that works next to a failing call", { toolCalls: [...unusable.toolCalls, { name: "echo", arguments: {} }] }],
  ])("starts counting again after a call %s", async (_, good) => {
    const lines = [unusable, unusable, good, unusable, unusable, finish("$40")];
    expect(await roll(lines, [echo(), ending])).toMatchObject({ ending: "answered", answer: "$40" });
  });

  test("never ends the task because tools reject calls", async () => {
    const lines = Array.from({ length: 5 }, () => call("echo", { refuse: "invalid_email" }));
    const rollout = await roll(lines, [echo()], { settings: { maxTurns: 5 } });
    expect(rollout.ending).toBe("out_of_turns");
  });
});

describe("the agent's answer", () => {
  test("comes from return_final_answer, with its sources", async () => {
    const rollout = await roll([call("echo", { a: 1 }), finish(" $40\n", ["<a@b>"])], [echo(), ending]);
    expect(rollout).toMatchObject({ ending: "answered", answer: "$40", sources: ["<a@b>"] });
    expect(rollout.toolCalls.map((record) => [record.name, record.turn])).toEqual([
      ["echo", 0],
      ["return_final_answer", 1],
    ]);
  });

  test("comes from the last turn's plain text, without sources", async () => {
    const thinking = { content: "Let me look for the dues.", toolCalls: [{ name: "echo", arguments: {} }] };
    const rollout = await roll([thinking, { content: " They are $40. \n" }], [echo(), ending]);
    expect(rollout).toMatchObject({ ending: "answered", answer: "They are $40.", sources: [] });
  });

  test("comes from the tool, not from the text next to the call", async () => {
    const rollout = await roll([{ ...finish("$40"), content: "I am done." }], [ending]);
    expect(rollout.answer).toBe("$40");
  });

  test("counts even in the very last turn", async () => {
    const settings = { maxTurns: 2 };
    expect(await roll([call("echo"), finish("$40")], [echo(), ending], { settings })).toMatchObject({
      ending: "answered",
      answer: "$40",
    });
    expect((await roll([call("echo"), call("echo")], [echo(), ending], { settings })).ending).toBe("out_of_turns");
  });

  test.each(["I don't know", "I do not know.", "Sorry, I don’t know"])(
    "ends the task as dont_know if it is %j without sources",
    async (text) => {
      expect(await roll([finish(text)], [ending])).toMatchObject({ ending: "dont_know", answer: text, sources: [] });
      expect(await roll([{ content: text }], [ending])).toMatchObject({ ending: "dont_know", answer: text });
    },
  );

  test.each([
    ["I don't know", ["<a@b>"]],
    ["I don't know her number, but her fax is 316-555-0117", []],
  ])("ends the task as answered if it is %j with the sources %j", async (text, sources) => {
    expect(await roll([finish(text, sources)], [ending])).toMatchObject({ ending: "answered", answer: text, sources });
  });

  test("stays null if the model refuses, with or without a text", async () => {
    const refuse = (content: string) => roll([{ content, finishReason: "refusal" }], [ending]);
    const reason = "The model refused to answer: refusal: I cannot help with that.";
    expect(await refuse("I cannot help with that.")).toMatchObject({ ending: "refused", answer: null, reason });
    expect(await refuse("")).toMatchObject({ ending: "refused", answer: null });
  });

  test("stays open after an unreadable tool call, and the model calls again", async () => {
    const broken = { content: "print(default_api.echo())", finishReason: "broken_call" as const };
    const { answer, messages } = await roll([broken, finish("4.5 cents")], [ending]);
    expect(answer).toBe("4.5 cents");
    expect(messages[3]).toMatchObject({ role: "user", content: expect.stringContaining("could not be read") });
  });
});

describe("several tool calls in one turn", () => {
  const three = { toolCalls: ["a", "b", "c"].map((word) => ({ name: "echo", arguments: { word } })) };

  test("run in order, and each result has the call's id", async () => {
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

  test("lose all but the first call if the agent requires it, and the others get the reason", async () => {
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

  test("end at the answer, and each later call gets the reason", async () => {
    const tool = echo();
    const all = { toolCalls: [...(finish("$40").toolCalls ?? []), { name: "echo", arguments: { word: "late" } }] };
    const rollout = await roll([all], [tool, ending]);
    expect(rollout.ending).toBe("answered");
    expect(tool.calls).toEqual([]);
    expect(rollout.toolCalls.map(({ name }) => name)).toEqual(["return_final_answer"]);
    const results = rollout.messages.flatMap((message) => (message.role === "tool" ? [message] : []));
    expect(results.map(({ name, isError }) => [name, isError])).toEqual([
      ["return_final_answer", false],
      ["echo", true],
    ]);
    expect(results[1]?.content).toBe("Not called: the answer was given before it.");
  });

  test("continue the loop if only the first call runs and a later one is the answer", async () => {
    const both = { toolCalls: [{ name: "echo", arguments: {} }, ...(finish("early").toolCalls ?? [])] };
    const rollout = await roll([both, finish("$40")], [echo(), ending], { settings: { toolCalls: "first" } });
    expect(rollout.answer).toBe("$40");
  });
});

describe("requests to the model", () => {
  test("contain the prompt, the conversation, the tools and the agent's settings", async () => {
    const settings = { maxTokens: 77, temperature: 0.5, toolChoice: "required" } as const;
    const state = { provider: "anthropic", value: [{ type: "thinking", signature: "s" }] };
    const lines = [{ ...call("echo", { a: 1 }), content: "hm", providerState: state }, finish("$40")];
    const { requests, messages } = await roll(lines, [echo(), ending], { settings });
    expect(requests[0]).toEqual({
      system: "You answer from a mailbox.",
      task: { id: 1, epoch: 1 },
      messages: [{ role: "user", content: "How much are the dues?" }],
      tools: [
        { name: "echo", description: "returns its arguments (echo)", parameters: echo().parameters },
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

  test("create one turn each, with tokens, price, retries and duration", async () => {
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

const context = { inbox: "a@b.example", cutoff: null, signal: never };
const tool = echo();
const tools = new Map([tool, ending].map((one) => [one.id, one]));

const make = (call: Partial<ToolCall>) =>
  callTool({ id: "c1", name: "echo", arguments: {}, ...call }, 4, tools, context);

describe("errors for a wrong call", () => {
  test.each(["send_email", "", "constructor", "Echo", "echo "])(
    "list the available tools if the tool %j is unknown",
    async (name) => {
      const { message, record, result } = await make({ name });
      const error = `There is no tool "${name}". The tools are: echo, return_final_answer.`;
      expect(result).toEqual({ ok: false, kind: "unknown_tool", error });
      expect(message).toEqual({ role: "tool", toolCallId: "c1", name, content: error, isError: true });
      expect(record).toMatchObject({ name, result: null, error, errorKind: "unknown_tool", turn: 4 });
    },
  );

  test("ask for valid JSON if the arguments are not an object, and the tool is not called", async () => {
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

  test("report an unknown tool even if its arguments are broken too", async () => {
    expect((await make({ name: "nothing", invalid: "{" })).record.errorKind).toBe("unknown_tool");
  });

  test.each(["bad_arguments", "invalid_email", "failed"] as const)(
    "repeat a tool's own error of kind %s",
    async (refuse) => {
      const { message, record } = await make({ arguments: { refuse } });
      expect(message).toMatchObject({ content: `refused: ${refuse}`, isError: true });
      expect(record).toMatchObject({ arguments: { refuse }, result: null, errorKind: refuse });
    },
  );
});

test("sends a tool's result to the model as JSON, and records it unchanged", async () => {
  const args = { words: ["a", "ä"], limit: 3 };
  const started = performance.now();
  const { message, record, result } = await make({ id: "c9", arguments: args });
  expect(record.durationMs).toBeGreaterThanOrEqual(0);
  expect(record.durationMs).toBeLessThanOrEqual(performance.now() - started);
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

const told = (step: AgentStep) =>
  step.type === "reply" ? step.calls.map(({ name }) => name) : `result of ${step.call.name}`;

it("reports each reply with its calls, and each result, and waits for the listener", async () => {
  const steps: unknown[] = [];
  const model = scripted([
    {
      toolCalls: [
        { name: "echo", arguments: {} },
        { name: "echo", arguments: { refuse: "failed" } },
      ],
    },
    finish("$40"),
  ]);
  const heard: number[] = [];
  await play(model, [echo(), ending], {
    async onStep(step) {
      const asked = model.requests.length;
      steps.push(told(step));
      await new Promise(setImmediate);
      heard.push(model.requests.length - asked);
    },
  });
  expect(steps).toEqual([
    ["echo", "echo"],
    "result of echo",
    "result of echo",
    ["return_final_answer"],
    "result of return_final_answer",
  ]);
  expect(heard.every((since) => since === 0)).toBe(true);
});

it("does not report calls that the loop does not make", async () => {
  const steps: unknown[] = [];
  const two = {
    toolCalls: [
      { name: "echo", arguments: {} },
      { name: "echo", arguments: {} },
    ],
  };
  await play(scripted([two, call("echo"), finish("x")]), [echo(), ending], {
    settings: { toolCalls: "first" },
    onStep: (step) => void steps.push(told(step)),
  });
  expect(steps).toEqual([
    ["echo"],
    "result of echo",
    ["echo"],
    "result of echo",
    ["return_final_answer"],
    "result of return_final_answer",
  ]);
});

it("ends the run if a listener throws", async () => {
  const onStep = () => Promise.reject(new Error("nobody listens"));
  await expect(play(scripted([finish("x")]), [ending], { onStep })).rejects.toThrow("nobody listens");
});

describe("the step machine", () => {
  const silent: Tool = { ...echo(), call: () => new Promise(() => {}) };

  function startLoop(tool: Tool, controller = new AbortController()) {
    const transcript = emptyTranscript();
    const rules = {
      tools: [tool],
      toolCalls: "all",
      toolResults: "plain",
      toolTimeoutMs: 20,
      isOverBudget: () => false,
    } as const;
    const access = { inbox: null, cutoff: null, signal: controller.signal };
    const task = { id: 1, epoch: 1, instruction: "?", variables: {}, maxTurns: 9, context: access };
    const loop = new AgentLoop(rules, task, transcript);
    loop.start("prompt");
    const offer = async () => loop.offer(await scripted([call("echo")]).complete(NO_REQUEST, never), "2001-01-01");
    return { loop, transcript, offer };
  }

  it("stops waiting for a tool after its timeout, and treats the call as usable", async () => {
    const { loop, transcript, offer } = startLoop(silent);
    for (let i = 0; i < 4; i++) {
      expect(await offer()).toEqual([{ ok: false, kind: "timeout", error: "The tool took longer than 0.02 s." }]);
    }
    expect(loop.rollout).toBeNull();
    expect(transcript.toolCalls[3]).toMatchObject({ result: null, errorKind: "failed", turn: 3, durationMs: 20 });
    expect(transcript.messages.at(-1)).toMatchObject({ role: "tool", isError: true });
  });

  it("keeps the rollout of an agent that was ended during a call", async () => {
    const controller = new AbortController();
    const late: Tool = {
      ...echo(),
      async call() {
        loop.end("interrupted");
        return { ok: true, value: "late" };
      },
    };
    const { loop, transcript, offer } = startLoop(late, controller);
    await offer();
    expect(loop.rollout).toMatchObject({ ending: "interrupted", answer: null, toolCalls: [] });
    expect(transcript.messages.map(({ role }) => role)).toEqual(["system", "user", "assistant"]);
    expect(transcript.turns).toHaveLength(1);
  });

  it("throws the signal's reason without waiting for the tool", async () => {
    const controller = new AbortController();
    const { offer } = startLoop(silent, controller);
    const offered = offer();
    setImmediate(() => controller.abort(new Error("stopped")));
    await expect(offered).rejects.toThrow("stopped");
  });
});

describe("a task's cost limit", () => {
  const free = { ...call("echo"), usage: null };

  it("ends the task when the turns cost as much as the limit", async () => {
    const lines = [call("echo"), call("echo"), finish("$40")];
    const reached = await roll(lines, [echo(), ending], { maxTaskCostUsd: 0.02 });
    expect(reached).toMatchObject({ ending: "out_of_budget", answer: null, sources: [] });
    expect(reached.turns).toHaveLength(2);
    expect(await roll(lines, [echo(), ending], { maxTaskCostUsd: 0.021 })).toMatchObject({ ending: "answered" });
  });

  it("counts turns of unknown cost as free", async () => {
    const rollout = await roll([free, free, call("echo"), finish("$40")], [echo(), ending], { maxTaskCostUsd: 0.01 });
    expect(rollout.ending).toBe("out_of_budget");
    expect(rollout.turns.map(({ costUsd }) => costUsd)).toEqual([null, null, 0.01]);
  });

  it("uses the cost that the server reports instead of our own price", async () => {
    const rollout = await roll([{ ...call("echo"), costUsd: 5 }, finish("$40")], [echo(), ending], {
      maxTaskCostUsd: 4,
    });
    expect(rollout.turns.map(({ costUsd }) => costUsd)).toEqual([5]);
    const unknown = await roll([{ ...call("echo"), costUsd: null }, finish("$40")], [echo(), ending]);
    expect(unknown.turns[0]?.costUsd).toBeNull();
  });
});

it("records the model that answered, the wait, the cache use and the sent parameters per turn", async () => {
  const sent = { maxTokens: 100, temperature: 0, toolChoice: null };
  const providerState = { provider: "script", value: "r1" };
  const line = { ...call("echo"), model: "script-2", waitedMs: 7, cached: true, sent, providerState };
  const { turns, messages } = await roll([line, finish("$40")], [echo(), ending]);
  expect(turns[0]).toMatchObject({ model: "script-2", waitedMs: 7, cached: true, sent });
  expect(turns[1]).toMatchObject({ waitedMs: 0, cached: false });
  expect(turns[1]).not.toHaveProperty("model");
  expect(turns[1]).not.toHaveProperty("sent");
  const replies = messages.filter(({ role }) => role === "assistant");
  expect(replies[0]).toMatchObject({ providerState });
  expect(replies[1]).not.toHaveProperty("providerState");
});

const variables = {
  inbox_address: "marcus.hale@kestrelplains.example",
  query_date: "2001-05-14",
  max_turns: 10,
  tools: "- a: A",
};

describe("an agent's prompt", () => {
  test.each([
    "user_name",
    "user-name",
    "user.name",
    "inboxaddress",
    "constructor",
    "toString",
    "__proto__",
    "hasOwnProperty",
    "two words",
    "#if tools",
  ])("causes an error if it contains {{%s}}, and the error lists the available variables", (name) => {
    const render = () => renderPrompt(`You are {{${name}}}.`, variables);
    expect(render).toThrow(UserError);
    expect(render).toThrow(`{{${name}}}`);
    expect(() => checkPrompt(`You are {{${name}}}.`)).toThrow(`{{${name}}}`);
    try {
      render();
    } catch (error) {
      expect(error).toMatchObject({
        code: "prompt_variable_unknown",
        hint: "Available: {{inbox_address}}, {{query_date}}, {{max_turns}}, {{tools}}, {{snapshot}}, {{home}}.",
      });
    }
  });

  test("repeats each variable's value, with or without blanks around its name", () => {
    expect(renderPrompt("{{inbox_address}} {{ query_date }} {{max_turns}} {{max_turns}}", variables)).toBe(
      "marcus.hale@kestrelplains.example 2001-05-14 10 10",
    );
  });

  test("keeps single braces, and values that look like a variable or a replacement pattern", () => {
    const odd = { ...variables, inbox_address: "{{query_date}} $& $1" };
    expect(renderPrompt('{"a": {}} {{inbox_address}}', odd)).toBe('{"a": {}} {{query_date}} $& $1');
  });

  test("contains the mailbox and the date for every built-in mail agent", () => {
    const { db, close } = openEmpty();
    const agents = listAgents(db).filter(({ id }) => !["data-worker", "noop", "oracle"].includes(id));
    const prompts = agents.map((agent) => renderPrompt(agent.prompt, variables));
    close();
    expect(prompts).toHaveLength(5);
    for (const prompt of prompts) {
      expect(prompt).toContain(variables.inbox_address);
      expect(prompt).toContain("2001-05-14");
      expect(prompt).not.toContain("{{");
    }
  });

  test("describes the machine to the suite agent, and says if a task has no machine", () => {
    const { db, close } = openEmpty();
    const { prompt } = getAgent(db, "data-worker");
    close();
    const machine = { max_turns: 50, tools: "", snapshot: "jupyter", home: "/home/user" };
    expect(renderPrompt(prompt, machine)).toContain(
      "(snapshot: jupyter). You work as its user, whose home folder is /home/user,",
    );
    expect(renderPrompt(prompt, variables)).toContain("(snapshot: (none in this task))");
    for (const given of [machine, variables]) expect(renderPrompt(prompt, given)).not.toContain("{{");
  });

  test("lists the tools, one per line", () => {
    const { db, close } = openEmpty();
    const tools = loadTools(db, "art-e", { mailbox: openMailbox(db) });
    const text = promptFor({ prompt: "Your tools:\n{{tools}}" }, tools, variables, 10);
    close();
    expect(text.split("\n")).toEqual([
      "Your tools:",
      expect.stringMatching(/^- search_emails: Search the user's mailbox/),
      expect.stringMatching(/^- read_email: Read one mail/),
      expect.stringMatching(/^- return_final_answer: /),
    ]);
  });
});
