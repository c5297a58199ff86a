import { describe, expect, it } from "vitest";
import { FORMATS } from "../../src/trace-formats/formats.js";
import { type ExportedTrace, ExportReport } from "../../src/trace-formats/trace-format.js";
import { readChats } from "./chat-reader.js";
import { contextOf } from "./context.js";
import { ALL_KINDS, BY_TOOL, CHAT, CUT_OFF, PROGRAM, REFUSED, SUITE, TOOLS } from "./kinds-of-traces.js";
import { ANSWERED } from "./traces.js";

function chats(traces: readonly ExportedTrace[], dialect: "openai" | "hf" = "openai") {
  const report = new ExportReport();
  const context = contextOf({ report, options: { dialect, reward: "", content: true }, toolsOf: () => TOOLS });
  const lines = [...FORMATS.chat.lines(traces, context)];
  return { report, read: readChats(lines.join("\n"), dialect, { minLines: 0 }) };
}

const weights = (trace: ExportedTrace) =>
  (chats([trace]).read[0]?.messages ?? []).flatMap((message) =>
    message.role === "assistant" ? [(message as { weight?: number }).weight ?? 1] : [],
  );

describe("chats for fine-tuning", () => {
  it.each(["openai", "hf"] as const)("of all kinds of traces are those of answers, in the dialect %s", (dialect) => {
    const { read, report } = chats(ALL_KINDS, dialect);
    // By tool (two epochs), refused, cut off, the chat and the suite.
    expect(read).toHaveLength(6);
    expect(report.leftOut).toEqual({ "no answer": 5, "a call without its result": 1, "a result of no call": 1 });
  });

  it("say an answer that was given by a tool once more, without weight", () => {
    const [line] = chats([BY_TOOL]).read;
    expect(line?.messages.slice(-2)).toEqual([
      { role: "tool", tool_call_id: "c3", content: "Answered." },
      { role: "assistant", content: "On Friday.", weight: 0 },
    ]);
    expect(line).toMatchObject({ parallel_tool_calls: true, tools: [{ function: { name: "email_search" } }, {}, {}] });
  });

  it("write arguments as text or as objects", () => {
    const call = (dialect: "openai" | "hf") => chats([BY_TOOL], dialect).read[0]?.messages[2];
    expect(call("openai")).toMatchObject({ tool_calls: [{ function: { arguments: '{"query":"call"}' } }, {}] });
    expect(call("hf")).toMatchObject({
      content: null,
      tool_calls: [{ function: { arguments: { query: "call" } } }, {}],
    });
    expect(chats([BY_TOOL], "hf").read[0]).not.toHaveProperty("parallel_tool_calls");
  });

  it("give no weight to replies that were cut off, empty or wrong, nor to those of earlier chats", () => {
    expect(weights(CUT_OFF)).toEqual([0, 0, 1]);
    expect(weights(REFUSED)).toEqual([1]);
    expect(weights(CHAT)).toEqual([0, 1, 1, 0]);
    const messages = BY_TOOL.messages.map((message) =>
      message.role === "tool" && message.toolCallId === "c1" ? { ...message, isError: true } : message,
    );
    expect(weights({ ...BY_TOOL, messages })).toEqual([0, 1, 0]);
  });

  it("leave malformed calls out where there are no weights", () => {
    const messages = BY_TOOL.messages.map((message) =>
      message.role === "assistant"
        ? { ...message, toolCalls: message.toolCalls.map((call) => ({ ...call, arguments: {}, invalid: "{no" })) }
        : message,
    );
    expect(chats([{ ...BY_TOOL, messages }]).read).toHaveLength(1);
    expect(chats([{ ...BY_TOOL, messages }], "hf").report.leftOut).toEqual({ "a call that is no JSON": 1 });
  });

  it("leave out calls of a tool that is not there, and what is too long", () => {
    const context = contextOf({ toolsOf: () => TOOLS.slice(0, 1) });
    expect([...FORMATS.chat.lines([BY_TOOL], context)]).toEqual([]);
    expect(context.report.leftOut).toEqual({ "a call of a tool that is not there": 1 });
    const turns = BY_TOOL.turns.map((turn) => ({
      ...turn,
      usage: { inputTokens: 65_500, outputTokens: 37, cachedInputTokens: 0 },
    }));
    expect(chats([{ ...BY_TOOL, turns }]).report.leftOut).toEqual({ "over 65,536 tokens": 1 });
  });

  it("say how many lines and tokens there are, and that they are too few", () => {
    expect(chats([BY_TOOL, SUITE]).report.notes).toEqual([
      "2 lines of about 110 tokens.",
      "Trainers of this format take no fewer than 10 lines.",
    ]);
    expect(chats(Array<ExportedTrace>(10).fill(BY_TOOL)).report.notes).toEqual(["10 lines of about 550 tokens."]);
  });

  it("name the tools that were called where nobody knows what the agent was told", () => {
    const [line] = [...FORMATS.chat.lines([BY_TOOL], contextOf())];
    expect(readChats(line ?? "", "openai", { minLines: 1 })[0]?.tools?.map((tool) => tool.function.name)).toEqual([
      "email_search",
      "return_final_answer",
    ]);
    expect([...FORMATS.chat.lines([ANSWERED, PROGRAM], contextOf())]).toEqual([]);
  });
});
