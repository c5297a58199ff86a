import { describe, expect, it } from "vitest";
import type { Completion, Message, ToolSpec } from "../../src/models/model.js";
import { separateReply } from "../../src/models/unparsed-text.js";

const SEARCH: ToolSpec = {
  name: "email_search",
  description: "Searches.",
  parameters: { type: "object", properties: { query: { type: "string" }, limit: { type: "integer" } } },
};

const plain = (content: string): Completion => ({
  content,
  toolCalls: [],
  finishReason: "stop",
  rawFinishReason: "stop",
  usage: null,
  latencyMs: 1,
  retries: [],
});

const separate = (content: string, tools: readonly ToolSpec[] = [SEARCH]) =>
  separateReply(plain(content), { tools, messages: [] });

describe("separateReply", () => {
  it.each([
    ["a closed block", "<think>\nMaybe 9.9?\n</think>\n\n4.5 cents", "4.5 cents", "Maybe 9.9?"],
    ["a block that the prompt opened", "Maybe 9.9?\n</think>\n\n4.5 cents", "4.5 cents", "Maybe 9.9?"],
    ["a truncated block", "<think>Maybe 9.9", "", "Maybe 9.9"],
    ["two blocks", "<think>a</think>4.5 <think>b</think>cents", "4.5 cents", "a\n\nb"],
    ["an opening tag inside a block", "<think>a <think> b</think>4.5 cents", "4.5 cents", "a <think> b"],
    ["Mistral's tags", "[THINK]a[/THINK]4.5 cents", "4.5 cents", "a"],
    ["Kimi's tags", "◁think▷a◁/think▷4.5 cents", "4.5 cents", "a"],
    [
      "Cohere's tokens",
      "<|START_THINKING|>a<|END_THINKING|><|START_RESPONSE|>4.5 cents<|END_RESPONSE|>",
      "4.5 cents",
      "a",
    ],
    ["Hunyuan's answer", "<think>a</think>\n<answer>\n4.5 cents\n</answer>", "4.5 cents", "a"],
    [
      "Sky-T1's tokens",
      "<|begin_of_thought|>a<|end_of_thought|>\n<|begin_of_solution|>4.5 cents<|end_of_solution|>",
      "4.5 cents",
      "a",
    ],
    ["Granite's words", "Here is my thought process: a\n\nHere is my response: 4.5 cents", "4.5 cents", "a"],
    ["Seed's tags", "<seed:think>a</seed:think>4.5 cents", "4.5 cents", "a"],
    [
      "harmony channels",
      "<|channel|>analysis<|message|>Maybe 9.9?<|end|><|start|>assistant<|channel|>final<|message|>4.5 cents<|return|>",
      "4.5 cents",
      "Maybe 9.9?",
    ],
    ["harmony channels without their tokens", "analysisMaybe 9.9?assistantfinal4.5 cents", "4.5 cents", "Maybe 9.9?"],
  ])("removes reasoning from the text (%s)", (_, content, text, reasoning) => {
    expect(separate(content)).toMatchObject({ content: text, reasoning, unparsed: ["reasoning"] });
  });

  it.each([
    ["Hermes", '<tool_call>\n{"name": "email_search", "arguments": {"query": "adder"}}\n</tool_call>'],
    ["Hermes, truncated after the JSON", '<tool_call>{"name": "email_search", "arguments": {"query": "adder"}}'],
    [
      "arguments that are JSON in a string",
      '<tool_call>{"name":"email_search","arguments":"{\\"query\\":\\"adder\\"}"}</tool_call>',
    ],
    ["Qwen3-Coder", "<tool_call><function=email_search><parameter=query>\nadder\n</parameter></function></tool_call>"],
    ["Qwen3-Coder without its wrapper", "<function=email_search><parameter=query>adder</parameter></function>"],
    ["Llama 3.1", '<function=email_search>{"query": "adder"}</function>'],
    ["Llama 3.1, after a tag", '<|python_tag|>{"name": "email_search", "parameters": {"query": "adder"}}'],
    ["GLM", "<tool_call>email_search\n<arg_key>query</arg_key>\n<arg_value>adder</arg_value>\n</tool_call>"],
    [
      "harmony",
      '<|channel|>commentary to=functions.email_search <|constrain|>json<|message|>{"query":"adder"}<|call|>',
    ],
    [
      "harmony, with the tool in the role",
      '<|start|>assistant to=functions.email_search<|channel|>commentary json<|message|>{"query":"adder"}',
    ],
    ["Mistral, array", '[TOOL_CALLS][{"name": "email_search", "arguments": {"query": "adder"}}]'],
    ["Mistral, name and arguments", '[TOOL_CALLS]email_search[ARGS]{"query": "adder"}'],
    [
      "Kimi K2",
      '<|tool_calls_section_begin|><|tool_call_begin|>functions.email_search:0<|tool_call_argument_begin|>{"query": "adder"}<|tool_call_end|><|tool_calls_section_end|>',
    ],
    [
      "DeepSeek V3",
      '<｜tool▁calls▁begin｜><｜tool▁call▁begin｜>function<｜tool▁sep｜>email_search\n```json\n{"query": "adder"}\n```<｜tool▁call▁end｜><｜tool▁calls▁end｜>',
    ],
    [
      "DeepSeek V3.1",
      '<｜tool▁calls▁begin｜><｜tool▁call▁begin｜>email_search<｜tool▁sep｜>{"query": "adder"}<｜tool▁call▁end｜><｜tool▁calls▁end｜>',
    ],
    [
      "DSML",
      '<｜DSML｜function_calls><｜DSML｜invoke name="email_search"><｜DSML｜parameter name="query" string="true">adder</｜DSML｜parameter></｜DSML｜invoke></｜DSML｜function_calls>',
    ],
    [
      "MiniMax",
      '<minimax:tool_call><invoke name="email_search"><parameter name="query">adder</parameter></invoke></minimax:tool_call>',
    ],
    ["bare JSON", '{"name": "email_search", "arguments": {"query": "adder"}}'],
    ["fenced JSON", '```json\n{"name": "email_search", "parameters": {"query": "adder"}}\n```'],
    [
      "OpenAI's own format",
      '{"type":"function","function":{"name":"email_search","arguments":"{\\"query\\":\\"adder\\"}"}}',
    ],
    ["Gemini's Python", 'print(default_api.email_search(query="adder"))'],
    ["Apertus", '<|tools_prefix|>[{"email_search": {"query": "adder"}}]<|tools_suffix|>'],
    ["LangChain's JSON", '{"action": "email_search", "action_input": {"query": "adder"}}'],
    ["JSON with the arguments first", '{"args": {"query": "adder"}, "tool": "functions.email_search"}'],
    [
      "arguments that are encoded twice",
      '{"name":"email_search","arguments":"\\"{\\\\\\"query\\\\\\":\\\\\\"adder\\\\\\"}\\""}',
    ],
    [
      "a call after reasoning that is never closed",
      '<think>I search.\n<tool_call>{"name":"email_search","arguments":{"query":"adder"}}</tool_call>',
    ],
  ])("reads a tool call in the text (%s)", (_, content) => {
    const { toolCalls, finishReason, content: text } = separate(content);
    expect(toolCalls).toEqual([{ id: "call00001", name: "email_search", arguments: { query: "adder" } }]);
    expect({ finishReason, text }).toEqual({ finishReason: "tool_calls", text: "" });
  });

  it("reads several calls, and keeps the text around them", () => {
    const call = (query: string) => `<tool_call>{"name":"email_search","arguments":{"query":"${query}"}}</tool_call>`;
    const { content, toolCalls } = separate(`I search.\n${call("a")}\n${call("b")}`);
    expect(content).toBe("I search.");
    expect(toolCalls.map((one) => one.arguments)).toEqual([{ query: "a" }, { query: "b" }]);
  });

  it("converts an argument to the type of its parameter", () => {
    const { toolCalls } = separate(
      "<function=email_search><parameter=query>2001</parameter><parameter=limit>5</parameter></function>",
    );
    expect(toolCalls[0]?.arguments).toEqual({ query: "2001", limit: 5 });
  });

  it.each([
    ["a tool that does not exist", '<tool_call>{"name": "web_search", "arguments": {}}</tool_call>'],
    ["unreadable JSON", '<tool_call>{"name": "email_search", "arguments": {"que</tool_call>'],
  ])("marks a call as broken (%s)", (_, content) => {
    expect(separate(content)).toMatchObject({ content, toolCalls: [], finishReason: "broken_call" });
  });

  it.each([
    ["a message id", "It is in <31893264.1075840732105.JavaMail.demo@kestrel>."],
    ["a comparison", "volumes < 500 and prices > 20"],
    ["JSON that is an answer", '{"answer": "4.5 cents", "sources": []}'],
    ["JSON without the name of a tool", '{"name": "Marcus Hale", "arguments": {"a": 1}}'],
    ["an answer about analysis", "analysis of the adder: 4.5 cents"],
  ])("does not change other text (%s)", (_, content) => {
    const reply = plain(content);
    expect(separateReply(reply, { tools: [SEARCH], messages: [] })).toBe(reply);
  });

  it.each([
    ["Llama 4's Python", "[email_search(query='(it) a, b', limit=5)]", { query: "(it) a, b", limit: 5 }],
    ["Python without brackets", "email_search(query='x', limit=5)", { query: "x", limit: 5 }],
    [
      "Olmo's Python",
      '<function_calls>\nemail_search(query="x", limit=None)\n</function_calls>',
      { query: "x", limit: null },
    ],
    ["Phi-4's functools", 'functools[{"name": "email_search", "arguments": {"query": "x"}}]', { query: "x" }],
    [
      "Cohere's action",
      '<|START_ACTION|>[{"tool_call_id": "0", "tool_name": "email_search", "parameters": {"query": "x"}}]<|END_ACTION|>',
      { query: "x" },
    ],
    ["Granite's token", '<|tool_call|>[{"name": "email_search", "arguments": {"query": "x"}}]', { query: "x" }],
    [
      "InternLM's action",
      '<|action_start|><|plugin|>{"name": "email_search", "parameters": {"query": "x"}}<|action_end|>',
      { query: "x" },
    ],
  ])("reads a call in %s", (_, content, expected) => {
    const { toolCalls, finishReason, content: text } = separate(content);
    expect(toolCalls.map(({ name, arguments: args }) => [name, args])).toEqual([["email_search", expected]]);
    expect({ finishReason, text }).toEqual({ finishReason: "tool_calls", text: "" });
  });

  it.each([
    "<|tool_call>call:email_search{query:<|x|>}<tool_call|>",
    "<start_function_call>call:email_search{query:x}<end_function_call>",
  ])("reports a call that it cannot read (%s)", (content) => {
    expect(separate(content).finishReason).toBe("broken_call");
  });

  it.each([
    ["JSON after a sentence", 'I will search.\n{"name": "email_search", "arguments": {"query": "adder"}}'],
    ["JSON in the middle of a sentence", 'Let me call email_search {"query": "adder"} now.'],
    ["JSON with the tool as its key", 'First: {"email_search": {"query": "adder"}}'],
    ["ReAct", 'Thought: I search.\nAction: email_search\nAction Input: {"query": "adder"}\nObservation: none'],
    ["tags with the names of the tool and its parameters", "<email_search>\n<query>adder</query>\n</email_search>"],
    ["YAML", "tool: email_search\nargs:\n  query: adder"],
    [
      "DSML with a misspelled token",
      '<DSML|call name="email_search"><DSML|arg name="query">adder</DSML|arg></DSML|call>',
    ],
    ["Python after a sentence", 'I will search. email_search(query="adder")'],
  ])("reports a call in an unknown notation once (%s)", (_, content) => {
    expect(separate(content)).toMatchObject({ content, toolCalls: [], finishReason: "broken_call" });
    const told: Message[] = [
      { role: "assistant", content, toolCalls: [] },
      { role: "user", content: "Your tool call could not be read." },
    ];
    const again = separateReply(plain(content), { tools: [SEARCH], messages: told });
    expect(again).toMatchObject({ content, toolCalls: [], finishReason: "stop" });
  });

  it.each([
    "I called email_search(query) before.",
    "The query 'adder' with email_search found 3 emails: the price is 4.5 cents.",
    "I used email_search. The adder is 4.5 cents.",
    "unknown_tool(query='x')",
    "The email says [email_search(query='x')].",
    "<answer>42</answer> and more",
  ])("does not change an answer (%s)", (content) => {
    expect(separate(content)).toMatchObject({ content, toolCalls: [], finishReason: "stop" });
  });

  it("does not search for calls if the request has no tools", () => {
    const content = '{"name": "email_search", "arguments": {"query": "adder"}}';
    expect(separate(content, []).content).toBe(content);
  });

  it("does not search the text for calls if the server sent some", () => {
    const content = '<tool_call>{"name":"email_search","arguments":{"query":"b"}}</tool_call>';
    const call = { id: "x", name: "email_search", arguments: { query: "a" } };
    const reply: Completion = { ...plain(content), toolCalls: [call], finishReason: "tool_calls" };
    expect(separateReply(reply, { tools: [SEARCH], messages: [] }).toolCalls).toEqual([call]);
  });

  it("terminates on any text, including tags that are never closed", () => {
    for (const tag of ["<think>", "</think>", "<tool_call>", "<|channel|>", "<parameter=a>", "<invoke ", "to="]) {
      expect(separate(tag.repeat(20_000)).rawFinishReason).toBe("stop");
    }
  });
});
