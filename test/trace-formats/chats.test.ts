import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import ts from "typescript";
import { afterAll, describe, expect, it } from "vitest";
import { stepShape } from "../../src/server/response-shapes.js";
import { type ExportedTrace, ExportReport } from "../../src/trace-formats/export-traces/exported-trace.js";
import { FORMATS, iofoldSteps } from "../../src/trace-formats/formats.js";
import { readChats } from "./chat-reader.js";
import { contextOf } from "./context.js";
import { exportedTraceSchema } from "./exported-trace.js";
import { ALL_KINDS, BY_TOOL, CHAT, CUT_OFF, PROGRAM, REFUSED, SUITE, TOOLS } from "./kinds-of-traces.js";
import { ANSWERED, FAILED } from "./traces.js";

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

describe("the chat format", () => {
  it.each(["openai", "hf"] as const)(
    "writes only traces that have an answer, for all kinds of traces in the dialect %s",
    (dialect) => {
      const { read, report } = chats(ALL_KINDS, dialect);
      // Answer by tool (two epochs), refused, truncated, the chat and the suite task.
      expect(read).toHaveLength(6);
      expect(report.leftOut).toEqual({
        "no answer": 5,
        "a call without a result": 1,
        "a tool result without a call": 1,
      });
    },
  );

  it("repeats an answer that was given through a tool, but gives it no weight", () => {
    const [line] = chats([BY_TOOL]).read;
    expect(line?.messages.slice(-2)).toEqual([
      { role: "tool", tool_call_id: "c3", content: "Answered." },
      { role: "assistant", content: "On Friday.", weight: 0 },
    ]);
    expect(line).toMatchObject({ parallel_tool_calls: true, tools: [{ function: { name: "email_search" } }, {}, {}] });
  });

  it("writes arguments as strings or as objects, depending on the dialect", () => {
    const call = (dialect: "openai" | "hf") => chats([BY_TOOL], dialect).read[0]?.messages[2];
    expect(call("openai")).toMatchObject({ tool_calls: [{ function: { arguments: '{"query":"call"}' } }, {}] });
    expect(call("hf")).toMatchObject({
      content: null,
      tool_calls: [{ function: { arguments: { query: "call" } } }, {}],
    });
    expect(chats([BY_TOOL], "hf").read[0]).not.toHaveProperty("parallel_tool_calls");
  });

  it("gives no weight to truncated, empty or wrong replies, or to replies in earlier chats", () => {
    expect(weights(CUT_OFF)).toEqual([0, 0, 1]);
    expect(weights(REFUSED)).toEqual([1]);
    expect(weights(CHAT)).toEqual([0, 1, 1, 0]);
    const messages = BY_TOOL.messages.map((message) =>
      message.role === "tool" && message.toolCallId === "c1" ? { ...message, isError: true } : message,
    );
    expect(weights({ ...BY_TOOL, messages })).toEqual([0, 1, 0]);
  });

  it("omits malformed calls if the dialect has no weights", () => {
    const messages = BY_TOOL.messages.map((message) =>
      message.role === "assistant"
        ? { ...message, toolCalls: message.toolCalls.map((call) => ({ ...call, arguments: {}, invalid: "{no" })) }
        : message,
    );
    expect(chats([{ ...BY_TOOL, messages }]).read).toHaveLength(1);
    expect(chats([{ ...BY_TOOL, messages }], "hf").report.leftOut).toEqual({ "a call with invalid JSON": 1 });
  });

  it("omits calls to unknown tools and lines that are too long", () => {
    const context = contextOf({ toolsOf: () => TOOLS.slice(0, 1) });
    expect([...FORMATS.chat.lines([BY_TOOL], context)]).toEqual([]);
    expect(context.report.leftOut).toEqual({ "a call to an unknown tool": 1 });
    const turns = BY_TOOL.turns.map((turn) => ({
      ...turn,
      usage: { inputTokens: 65_500, outputTokens: 37, cachedInputTokens: 0 },
    }));
    expect(chats([{ ...BY_TOOL, turns }]).report.leftOut).toEqual({ "over 65,536 tokens": 1 });
  });

  it("reports the number of lines and tokens, and says if there are too few lines", () => {
    expect(chats([BY_TOOL, SUITE]).report.notes).toEqual([
      "2 lines of about 110 tokens.",
      "Trainers for this format require at least 10 lines.",
    ]);
    expect(chats(Array<ExportedTrace>(10).fill(BY_TOOL)).report.notes).toEqual(["10 lines of about 550 tokens."]);
  });

  it("lists the called tools if the agent's tools are unknown", () => {
    const [line] = [...FORMATS.chat.lines([BY_TOOL], contextOf())];
    expect(readChats(line ?? "", "openai", { minLines: 1 })[0]?.tools?.map((tool) => tool.function.name)).toEqual([
      "email_search",
      "return_final_answer",
    ]);
    expect([...FORMATS.chat.lines([ANSWERED, PROGRAM], contextOf())]).toEqual([]);
  });
});

describe("lines of chats", () => {
  /** Checks lines of chats against the openai package's own types, with the TypeScript compiler. */

  // The file is inside the project, so that the compiler finds the package.
  const folder = mkdtempSync(join(import.meta.dirname, "chat-types-"));

  afterAll(() => rmSync(folder, { recursive: true, force: true }));

  const [line = "", cutOff = ""] = FORMATS.chat.lines([BY_TOOL, CUT_OFF], contextOf({ toolsOf: () => TOOLS }));

  /** Weights exist only for fine-tuning and are not in the types. */
  const literal = (json: string) =>
    JSON.stringify(JSON.parse(json, (key, value) => (key === "weight" ? undefined : value)));

  const GOOD = literal(line);

  const CASES: Readonly<Record<string, [line: string, isGood: boolean]>> = {
    by_tool: [GOOD, true],
    cut_off: [literal(cutOff), true],
    object_arguments: [GOOD.replace('"arguments":"{\\"query\\":\\"call\\"}"', '"arguments":{"query":"call"}'), false],
    unknown_role: [GOOD.replace('"role":"user"', '"role":"person"'), false],
    no_call_id: [GOOD.replace('"tool_call_id":"c1",', ""), false],
    extra_field: [GOOD.replace('"tool_call_id":"c1",', '"tool_call_id":"c1","scores":{},'), false],
    unnamed_tool: [GOOD.replace('"name":"email_get",', ""), false],
  };

  it("match the types, but broken lines do not", () => {
    const files = Object.entries(CASES).map(([name, [json]]) => {
      const file = join(folder, `${name}.ts`);
      writeFileSync(
        file,
        `import type { ChatCompletionCreateParamsNonStreaming as P } from "openai/resources/chat/completions";
       export const line: Pick<P, "messages" | "tools" | "parallel_tool_calls"> = ${json};`,
      );
      return file;
    });
    const program = ts.createProgram(files, {
      noEmit: true,
      strict: true,
      skipLibCheck: true,
      types: [],
      module: ts.ModuleKind.NodeNext,
      target: ts.ScriptTarget.ES2022,
    });
    const refused = files.map((file) => {
      const source = program.getSourceFile(file);
      return program.getSemanticDiagnostics(source).length > 0;
    });
    expect(refused).toEqual(Object.values(CASES).map(([, isGood]) => !isGood));
  });
});

const stepsOf = (trace: Parameters<typeof iofoldSteps>[0]) =>
  iofoldSteps(trace).map((line) => stepShape.parse(JSON.parse(line)));

describe("the iofold format", () => {
  it("writes one step per model call, followed by one step per tool call in it", () => {
    expect(
      stepsOf(ANSWERED).map(({ step_id, metadata }) => [step_id, metadata.parent_span_id, metadata.span_name]),
    ).toEqual([
      ["trace_1_turn1", null, "acme/best"],
      ["trace_1_turn1_tool1", "trace_1_turn1", "email_search"],
      ["trace_1_turn1_tool2", "trace_1_turn1", "email_get"],
      ["trace_1_turn2", null, "acme/best"],
    ]);
  });

  it("writes steps of exactly these fields for every kind of trace", () => {
    for (const trace of ALL_KINDS)
      expect([trace.traceId, new Set(stepsOf(trace).map(({ trace_id }) => trace_id)).size]).toEqual([trace.traceId, 1]);
  });

  it("adds the prompt and the question to the first model call, and contains each message only once", () => {
    const added = stepsOf(ANSWERED).flatMap((step) => step.messages_added);
    expect(added.map(({ role, content }) => [role, content])).toEqual([
      ["system", "You search."],
      ["user", "When is the call?"],
      ["assistant", "Let me look."],
      ["tool", '{"total":1}'],
      ["tool", "not JSON"],
      ["assistant", "On Friday."],
    ]);
  });

  it("contains the model's input and output, the duration and the tokens", () => {
    const [first, , , last] = stepsOf(ANSWERED);
    expect(first).toMatchObject({
      timestamp: "2026-01-02T03:04:05.100Z",
      input: "When is the call?",
      output: "Let me look.",
      metadata: { latency_ms: 800, tokens_input: 100, tokens_output: 20 },
      error: null,
    });
    expect(last).toMatchObject({ output: "On Friday.", metadata: { tokens_input: null, tokens_output: null } });
  });

  it("stores the results of a reply's calls, and errors for calls that were rejected or never executed", () => {
    expect(stepsOf(ANSWERED)[0]?.tool_calls).toEqual([
      { tool_name: "email_search", arguments: { query: "call" }, result: { total: 1 }, error: null },
      { tool_name: "email_get", arguments: {}, result: null, error: "not JSON" },
      { tool_name: "email_get", arguments: { message_id: "<1@x>" }, result: null, error: "not called" },
    ]);
    expect(stepsOf(ANSWERED)[2]).toMatchObject({ input: {}, output: null, error: "not JSON" });
  });

  it("writes one step with the error if a task failed before any reply", () => {
    const steps = stepsOf(FAILED);
    expect(steps).toMatchObject([{ step_id: "trace_2_turn1", output: null, error: "401 no", tool_calls: [] }]);
    expect(steps[0]?.messages_added).toHaveLength(2);
  });

  it("writes the error only into the last model step if a task failed later", () => {
    const steps = stepsOf({ ...ANSWERED, ending: "timeout", error: "too late" });
    expect(steps.map((step) => step.error)).toEqual([null, null, "not JSON", "too late"]);
  });
});

it.each([
  ["an answered", ANSWERED],
  ["a failed", FAILED],
])("writes %s trace completely on one line of jsonl", (_, trace) => {
  const lines = [...FORMATS.jsonl.lines([trace], contextOf())];
  expect(lines).toHaveLength(1);
  expect(lines[0]).not.toContain("\n");
  const { features, ...written } = exportedTraceSchema.parse(JSON.parse(lines[0] ?? ""));
  expect(written).toEqual(trace);
  expect(features).toMatchObject({ turns: trace.turns.length, seconds: trace.durationMs / 1_000 });
});

it("writes no line ends inside a line in any format, whatever the mail contains", () => {
  const trace = { ...ANSWERED, answer: "one\ntwo\r\nthree\u2028four" };
  for (const [name, format] of Object.entries(FORMATS)) {
    if (!("lines" in format)) continue;
    for (const line of format.lines([trace], contextOf())) expect(line, name).not.toMatch(/[\r\n]/);
  }
});
