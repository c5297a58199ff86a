import { mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { isDeepStrictEqual } from "node:util";
import { afterAll, describe, expect, it } from "vitest";
import type { Message } from "../../src/models/model.js";
import { reasoningText } from "../../src/models/provider-reasoning.js";
import type { ExportedTrace } from "../../src/trace-formats/export-traces/exported-trace.js";
import { FORMATS } from "../../src/trace-formats/formats.js";
import { openImport } from "../../src/trace-formats/open-import.js";
import type { ChatTrace, QuestionTrace, SuiteTrace, Turn } from "../../src/traces/trace.js";
import { contextOf } from "./context.js";
import { ALL_KINDS, BY_TOOL, CHAT, SUITE, TOOLS } from "./kinds-of-traces.js";

/** The facts that each format preserves in an export and import, as docs/results-and-traces.md documents them. */

const folder = mkdtempSync(join(tmpdir(), "art-e-"));
afterAll(() => rmSync(folder, { recursive: true }));

const COLUMNS = ["jsonl", "inspect", "atif", "otlp"] as const;

type Column = (typeof COLUMNS)[number];

async function roundTrip(format: Column, trace: ExportedTrace): Promise<ExportedTrace> {
  const path = join(folder, "file");
  const context = contextOf({ toolsOf: () => TOOLS });
  writeFileSync(
    path,
    format === "inspect"
      ? Buffer.concat([...FORMATS.inspect.bytes([trace], context)])
      : [...FORMATS[format].lines([trace], context)].join("\n"),
  );
  for await (const { trace: again } of (await openImport(path)).traces()) return again;
  throw new Error("nothing was read");
}

const [first, last] = BY_TOOL.turns as [Turn, Turn];

const thoughts = { provider: "anthropic", value: [{ type: "thinking", thinking: "Search first.", signature: "s" }] };

/** A trace with a value in every field that a format might lose. It ends with a tool message. */
const RICH: QuestionTrace = {
  ...BY_TOOL,
  traceId: "trace_0b9f3c9e-6a35-4a57-8a6d-0d3c5a5c0f11",
  durationMs: 3_500.25,
  messages: BY_TOOL.messages.map((message, i): Message => {
    if (i === 2 && message.role === "assistant") {
      const [one, two] = message.toolCalls;
      return {
        ...message,
        toolCalls: [{ ...one, arguments: {}, invalid: "{broken" } as never, two as never],
        providerState: thoughts,
      };
    }
    return i === 3 && message.role === "tool" ? { ...message, isError: true } : message;
  }),
  toolCalls: BY_TOOL.toolCalls.map((call, i) =>
    i === 0 ? { ...call, arguments: {}, result: null, error: "not JSON", errorKind: "unparsable_call" } : call,
  ),
  turns: [
    {
      ...first,
      waits: [{ kind: "slot", durationMs: 250 }],
      usage: { ...(first.usage as NonNullable<Turn["usage"]>), cacheWrite1hTokens: 40, reasoningTokens: 15 },
    },
    last,
  ],
  scores: { ...BY_TOOL.scores, readGold: { value: null, explanation: "the email is missing" } },
  remote: { sessionId: "s", traceId: "t" },
};

const LEFT: SuiteTrace = { ...SUITE, left: { pictures: [], omitted: 2 } as never };

const NUL: QuestionTrace = { ...BY_TOOL, answer: "a\0b" };
const LONE: QuestionTrace = { ...BY_TOOL, answer: "a\ud83d" };

const plain = (message: Message) =>
  message.role === "assistant"
    ? {
        role: message.role,
        content: message.content,
        toolCalls: message.toolCalls.map(({ id, name }) => ({ id, name })),
      }
    : message;

const withoutDetails = ({ waits, usage, ...turn }: Turn) => {
  const { cacheWrite1hTokens, ...tokens } = usage ?? { inputTokens: 0, outputTokens: 0, cachedInputTokens: 0 };
  return { ...turn, usage: tokens };
};

const task = (trace: ExportedTrace) => trace as QuestionTrace;

/** The rows of the documented table, each with a trace and the part of it to compare. */
const ROWS: Readonly<Record<string, readonly [ExportedTrace, (trace: ExportedTrace) => unknown]>> = {
  "messages, tool calls and tool results": [RICH, ({ messages }) => messages.map(plain)],
  "reasoning text": [RICH, ({ messages }) => messages.map(reasoningText)],
  "reasoning that only its provider can read (signatures, encrypted parts)": [
    RICH,
    ({ messages }) => messages.map((message) => ("providerState" in message ? message.providerState : null)),
  ],
  "arguments that are not JSON": [
    RICH,
    ({ messages }) => messages.map((message) => ("toolCalls" in message ? message.toolCalls : null)),
  ],
  "tool call records with errors and times": [RICH, ({ toolCalls }) => toolCalls],
  "model calls with tokens, reasoning tokens, cost, retries and times": [
    RICH,
    ({ turns }) => turns.map(withoutDetails),
  ],
  "parts of a model call's waiting time, and tokens in a one-hour cache": [
    RICH,
    ({ turns }) => turns.map(({ waits, usage }) => [waits, usage?.cacheWrite1hTokens]),
  ],
  "question, gold answer, answer, sources and judge": [
    RICH,
    (trace) => [task(trace).task, trace.answer, trace.sources, task(trace).judge],
  ],
  "scores with a value": [RICH, ({ scores }) => Object.entries(scores).filter(([, { value }]) => value !== null)],
  "scores without a value": [RICH, ({ scores }) => scores.readGold],
  "ids of an external agent's conversation": [RICH, (trace) => task(trace).remote],
  "collected images of a suite task": [LEFT, (trace) => (trace as SuiteTrace).left],
  "earlier messages of a chat": [CHAT, (trace) => [trace.messages.length, (trace as ChatTrace).historyLength]],
  "duration to a fraction of a millisecond": [RICH, ({ durationMs }) => durationMs],
  "NUL characters": [NUL, ({ answer }) => answer],
  "lone surrogates": [LONE, ({ answer }) => answer],
};

const page = readFileSync("docs/results-and-traces.md", "utf8");

/** The first cells of the documented table's rows. */
const documented = new Map(
  page
    .split("\n")
    .filter((line) => line.startsWith("| "))
    .map((line) => line.split("|").map((cell) => cell.trim()))
    .map(([, name = "", ...cells]) => [name, cells.slice(0, COLUMNS.length)]),
);

describe("the documented table of preserved facts", () => {
  it.each(Object.keys(ROWS))("agrees with the readers for %s", async (name) => {
    const [trace, of] = ROWS[name] as (typeof ROWS)[string];
    const found: string[] = [];
    for (const column of COLUMNS) {
      const again = of(await roundTrip(column, trace));
      found.push(isDeepStrictEqual(again, of(trace)) ? "kept" : "lost");
    }
    expect(documented.get(name)).toEqual(found);
  });
});

describe("a trace after export, import and another export", () => {
  it.each(COLUMNS)("contains the same %s bytes, whatever the kind of trace", async (column) => {
    for (const trace of [RICH, ...ALL_KINDS]) {
      const once = await roundTrip(column, trace);
      expect(await roundTrip(column, once), trace.traceId).toEqual(once);
    }
  });

  it("contains every message if the format is OTLP", async () => {
    for (const trace of ALL_KINDS) {
      const again = await roundTrip("otlp", trace);
      expect(again.messages, trace.traceId).toEqual(trace.messages);
    }
  });
});
