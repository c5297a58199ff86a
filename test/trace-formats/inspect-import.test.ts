import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, describe, expect, it } from "vitest";
import type { ImportedTrace } from "../../src/trace-formats/imported-trace.js";
import { openImport } from "../../src/trace-formats/open-import.js";
import { contextOf } from "./context.js";
import { inspectJsonLog } from "./inspect-json-log.js";
import { BY_TOOL, SECOND_EPOCH } from "./kinds-of-traces.js";

/** Logs of Inspect's own solvers, which contain events and fields that art-e never writes. */

const folder = mkdtempSync(join(tmpdir(), "art-e-"));
afterAll(() => rmSync(folder, { recursive: true }));

const HEADER = {
  version: 2,
  status: "success",
  eval: { created: "2026-01-02T03:04:05Z", task: "t", model: "m/n", dataset: {}, config: {} },
};

async function read(changes: object, edit = (text: string) => text): Promise<ImportedTrace> {
  const path = join(folder, "log.json");
  const sample = { id: 1, epoch: 1, input: "When?", target: "Friday", ...changes };
  writeFileSync(path, edit(JSON.stringify({ ...HEADER, samples: [sample] })));
  for await (const { trace } of (await openImport(path)).traces()) return trace;
  throw new Error("no sample was read");
}

const USAGE = {
  input_tokens: 40,
  output_tokens: 20,
  total_tokens: 120,
  input_tokens_cache_read: 50,
  input_tokens_cache_write: 10,
  reasoning_tokens: 15,
  total_cost: 0.5,
};

const MODEL_EVENT = {
  event: "model",
  timestamp: "2026-01-02T03:04:05Z",
  model: "m/n",
  output: { model: "n-1", choices: [{ stop_reason: "stop" }], usage: USAGE, time: 2 },
};

const TURN = {
  model: "n-1",
  finishReason: "stop",
  latencyMs: 2_000,
  costUsd: 0.5,
  usage: { inputTokens: 100, outputTokens: 20, cachedInputTokens: 50, cacheWriteTokens: 10, reasoningTokens: 15 },
};

describe("an Inspect log", () => {
  it.each([
    ["a sandbox event with an output", { event: "sandbox", action: "exec", cmd: "ls", result: 0, output: "a.txt" }],
    [
      "an event that has numbers instead of strings",
      { event: "info", id: 5, type: 7, span_id: 1, function: {}, timestamp: 0 },
    ],
    ["an event whose list of tools contains names", { event: "custom", tools: ["bash"], error: 404, pending: "no" }],
    ["an event of an unknown kind", { event: "of tomorrow", output: [], arguments: "x", working_time: "1 s" }],
    ["an event without a kind", { output: 1 }],
    ["an event that is not an object", "text"],
  ])("yields its samples with their model calls if it contains %s", async (_, event) => {
    const trace = await read({ events: [event, MODEL_EVENT, event] });
    expect(trace.turns).toMatchObject([TURN]);
    expect(trace.toolCalls).toEqual([]);
  });

  it.each([
    ["metadata", "text"],
    ["scores", { a: "C", b: { value: "C", explanation: 5 } }],
    ["error", { message: null }],
    ["limit", { type: 5 }],
    ["total_time", "2 s"],
    ["output", "text"],
    ["store", []],
    ["attachments", { x: 5 }],
    ["model_usage", { "m/n": 5 }],
  ])("yields its samples even if the %s is odd", async (field, value) => {
    expect(await read({ [field]: value, events: [MODEL_EVENT] })).toMatchObject({ taskId: 1, turns: [TURN] });
  });

  it("counts a sample without an epoch as the first", async () => {
    expect(await read({ epoch: undefined })).toMatchObject({ taskId: 1, epoch: 1 });
  });

  it("yields a missing score if the score is NaN", async () => {
    const scores = { loss: { value: 7 }, correct: { value: "C" } };
    const trace = await read({ scores }, (text) => text.replace('"value":7', '"value":NaN'));
    expect(trace.scores).toEqual({ correct: { value: 1 } });
  });

  it("yields the scores that Inspect converts to numbers", async () => {
    const scores = { a: "yes", b: "False", c: "0.75", d: true, e: "P", f: "good", g: "", h: [1] };
    const written = Object.fromEntries(Object.entries(scores).map(([name, value]) => [name, { value }]));
    const values = Object.entries((await read({ scores: written })).scores).map(([name, { value }]) => [name, value]);
    expect(values).toEqual(Object.entries({ a: 1, b: 0, c: 0.75, d: 1, e: 0.5 }));
  });

  it("yields the calls that its cache answered as cached", async () => {
    const events = [
      { ...MODEL_EVENT, cache: "write" },
      { ...MODEL_EVENT, cache: "read" },
    ];
    expect((await read({ events })).turns).toMatchObject([{ cached: false }, { cached: true }]);
  });

  it("omits the calls of scorers in logs with steps", async () => {
    const step = (action: string, type: string) => ({ event: "step", action, type, name: "x" });
    const scorer = [step("begin", "scorer"), MODEL_EVENT, step("end", "scorer")];
    const trace = await read({ events: [step("begin", "solver"), MODEL_EVENT, step("end", "solver"), ...scorer] });
    expect(trace.turns).toMatchObject([TURN]);
  });

  it("yields the reasoning of replies, and the summary of redacted reasoning", async () => {
    const reply = (part: object) => ({
      role: "assistant",
      content: [
        { type: "reasoning", ...part },
        { type: "text", text: "Friday." },
      ],
    });
    const messages = [
      reply({ reasoning: "The email says so." }),
      reply({ reasoning: "gAAAA", redacted: true, summary: "In short." }),
      reply({ reasoning: "gAAAA", redacted: true }),
    ];
    const said = (await read({ messages })).messages;
    expect(said).toEqual([
      { role: "assistant", content: "Friday.", toolCalls: [], reasoning: "The email says so." },
      { role: "assistant", content: "Friday.", toolCalls: [], reasoning: "In short." },
      { role: "assistant", content: "Friday.", toolCalls: [] },
    ]);
  });

  it("yields the sample's tokens if model events are missing", async () => {
    const trace = await read({ model_usage: { "m/n": USAGE }, output: { choices: [{ stop_reason: "stop" }] } });
    expect(trace.turns).toMatchObject([{ ...TURN, model: "m/n", latencyMs: 0 }]);
  });
});

it("lists each sample id once, as read_eval_log_samples requires", () => {
  const traces = [BY_TOOL, SECOND_EPOCH, { ...BY_TOOL, traceId: "trace_9", taskId: "a-b" }];
  const log = JSON.parse(inspectJsonLog(traces, contextOf()));
  expect(log.eval.dataset).toMatchObject({ samples: 2, sample_ids: [8, "a-b"] });
  expect(log.samples.map(({ id, epoch }: { id: unknown; epoch: number }) => [id, epoch])).toEqual([
    [8, 1],
    [8, 2],
    ["a-b", 1],
  ]);
});
