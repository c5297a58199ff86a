import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { reasoningText } from "../../src/models/provider-reasoning.js";
import { addUsage, NO_USAGE } from "../../src/models/usage.js";
import { traceText } from "../../src/reports/trace-text.js";
import { FORMATS } from "../../src/trace-formats/formats.js";
import { openImport } from "../../src/trace-formats/open-import.js";
import type { QuestionTrace } from "../../src/traces/trace.js";
import { needs } from "../machine-requirements.js";
import { readAtif } from "./atif-reader.js";
import { readChats } from "./chat-reader.js";
import { contextOf } from "./context.js";
import { inspectJsonLog } from "./inspect-json-log.js";
import { readJsonLog } from "./inspect-reader.js";
import { BY_TOOL, TOOLS } from "./kinds-of-traces.js";
import { otlpLines } from "./otlp-line.js";
import { problemsOf, spansOf, tracesDataSchema, valuesOf } from "./otlp-reader.js";

/** A model's reasoning in exports. Each provider stores it in its own form. */

const WITH_REASONING = { inputTokens: 100, outputTokens: 20, cachedInputTokens: 0, reasoningTokens: 15 };

const WHY = "The call is on Friday.";

const STATES = {
  anthropic: [
    { type: "thinking", thinking: WHY, signature: "s" },
    { type: "redacted_thinking", data: "x" },
    { type: "tool_use", id: "c1", name: "email_search", input: {} },
  ],
  "openai-responses": [{ type: "reasoning", encrypted_content: "x", summary: [{ type: "summary_text", text: WHY }] }],
  "openai-chat": { reasoning_content: WHY },
  "openai-chat of OpenRouter": { reasoning: WHY, reasoning_details: [{ type: "reasoning.text", text: WHY }] },
  google: { parts: [{ text: WHY, thought: true }, { text: "said" }], ids: [] },
};

const assistant = (provider: string, value: unknown) => ({
  role: "assistant",
  content: "said",
  toolCalls: [],
  providerState: { provider, value: value as never },
});

/** The answered trace with reasoning in its first reply. */
const THOUGHT: QuestionTrace = {
  ...(BY_TOOL as QuestionTrace),
  messages: BY_TOOL.messages.map((message, i) =>
    i === 2 ? { ...message, providerState: { provider: "anthropic", value: STATES.anthropic } } : message,
  ) as QuestionTrace["messages"],
};

it.each(Object.entries(STATES))("reasoningText reads the reasoning in the state of %s", (provider, value) => {
  expect(reasoningText(assistant(provider, value) as never)).toBe(WHY);
});

it.each([[null], ["text"], [[1, null, { type: "thinking" }]], [{ parts: 5 }], [{ reasoning_content: "  " }]])(
  "reasoningText finds no reasoning in %j",
  (value) => {
    expect(reasoningText(assistant("other", value) as never)).toBe("");
  },
);

describe("writing reasoning", () => {
  it("uses reasoning_content in ATIF", () => {
    const [line = ""] = [...FORMATS.atif.lines([THOUGHT], contextOf({ toolsOf: () => TOOLS }))];
    expect(readAtif(line).steps[2]).toMatchObject({ source: "agent" });
    expect(JSON.parse(line).steps[2].reasoning_content).toBe(WHY);
    expect(JSON.parse(line).steps[3]).not.toHaveProperty("reasoning_content");
  });

  it("puts a part of type reasoning before the other parts in OTLP", () => {
    const [line = ""] = otlpLines(THOUGHT, []);
    expect(problemsOf(line)).toEqual([]);
    const [, first] = spansOf(tracesDataSchema.parse(JSON.parse(line))).map(valuesOf);
    const [message] = JSON.parse(String(first?.get("gen_ai.output.messages")));
    expect(message.parts[0]).toEqual({ type: "reasoning", content: WHY });
    expect(otlpLines(THOUGHT, [], false)[0]).not.toContain(WHY);
  });

  it("keeps reasoning in chats of the dialect hf, which trainers of open models read", () => {
    const lines = (dialect: "openai" | "hf") => {
      const options = { dialect, reward: "", content: true } as const;
      return [...FORMATS.chat.lines([THOUGHT], contextOf({ options, toolsOf: () => TOOLS }))].join("\n");
    };
    expect(readChats(lines("hf"), "hf", { minLines: 0 })).toHaveLength(1);
    expect(JSON.parse(lines("hf")).messages[2].reasoning_content).toBe(WHY);
    expect(lines("openai")).not.toContain(WHY);
  });

  it("puts ContentReasoning before the text in Inspect logs", needs("exports"), async () => {
    const said = { ...THOUGHT, messages: THOUGHT.messages.map((m, i) => (i === 2 ? { ...m, content: "said" } : m)) };
    const log = inspectJsonLog([said as QuestionTrace], contextOf({ toolsOf: () => TOOLS }));
    await readJsonLog(log, "viewer");
    const [sample] = JSON.parse(log).samples;
    const reasoning = { type: "reasoning", reasoning: WHY, redacted: false };
    expect(sample.messages[2].content).toEqual([reasoning, { type: "text", text: "said" }]);
    const [model] = sample.events.filter(({ event }: { event: string }) => event === "model");
    expect(model.output).toMatchObject({ completion: "said", choices: [{ message: { content: [reasoning, {}] } }] });
  });
});

describe("reading reasoning", () => {
  it.each(["atif", "otlp", "inspect-json"] as const)("restores it from %s, with its tokens", async (format) => {
    const path = join(mkdtempSync(join(tmpdir(), "art-e-")), "file");
    const counted = { ...THOUGHT, turns: THOUGHT.turns.map((turn) => ({ ...turn, usage: WITH_REASONING })) };
    const context = contextOf({ toolsOf: () => TOOLS });
    const text =
      format === "inspect-json"
        ? inspectJsonLog([counted], context)
        : [...FORMATS[format].lines([counted], context)].join("");
    writeFileSync(path, text);
    for await (const { trace } of (await openImport(path)).traces()) {
      expect(reasoningText(trace.messages[2] as never)).toBe(WHY);
      expect(trace.turns.map(({ usage }) => usage?.reasoningTokens)).toEqual([15, 15]);
      expect(traceText(trace)).toContain(`  Reasoning:\n    ${WHY}`);
    }
    rmSync(path);
  });
});

it("sumUsage adds up reasoning tokens", () => {
  expect(addUsage(WITH_REASONING, addUsage(NO_USAGE, WITH_REASONING))).toMatchObject({ reasoningTokens: 30 });
  expect(addUsage(NO_USAGE, NO_USAGE)).toEqual(NO_USAGE);
});
