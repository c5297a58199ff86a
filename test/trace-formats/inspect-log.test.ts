import { describe, expect, it } from "vitest";
import { programVersion } from "../../src/platform/program-files.js";
import type { ExportedTrace } from "../../src/trace-formats/export-traces/exported-trace.js";
import { FORMATS } from "../../src/trace-formats/formats.js";
import type { RunRow } from "../../src/traces/runs-store.js";
import { needs } from "../machine-requirements.js";
import { SETTINGS } from "../traces/saved-runs.js";
import { contextOf } from "./context.js";
import { inspectJsonLog } from "./inspect-json-log.js";
import { readEvalFile, readJsonLog } from "./inspect-reader.js";
import * as kinds from "./kinds-of-traces.js";
import { ANSWERED, FAILED } from "./traces.js";

const { ALL_KINDS, BY_TOOL, CHAT, SECOND_EPOCH, TOOLS } = kinds;

const RUN: RunRow = {
  id: "run_1",
  agentId: "email-search",
  model: "acme/best",
  split: "test",
  settings: SETTINGS,
  totalTasks: 9,
  dataset: { source: "/home/me/questions.jsonl", revision: null, sha256: "0".repeat(64) },
  corpusFingerprint: "f".repeat(64),
  limits: {} as RunRow["limits"],
  output: null,
  status: "completed",
  name: "first",
  note: null,
  tags: ["nightly"],
  activeMs: 1,
  startedAt: "2026-01-02T03:04:00.000Z",
  completedAt: "2026-01-02T03:05:00.000Z",
};

const contextWith = (run: RunRow | null = RUN) => contextOf({ run, toolsOf: () => TOOLS });

function evalBytes(traces: readonly ExportedTrace[], run: RunRow | null = RUN): Buffer {
  return Buffer.concat([...FORMATS.inspect.bytes(traces, contextWith(run))]);
}

function json(traces: readonly ExportedTrace[], run: RunRow | null = RUN): string {
  return inspectJsonLog(traces, contextWith(run));
}

// biome-ignore lint/suspicious/noExplicitAny: the tests check every field that they read.
type Any = any;

function sample(trace: ExportedTrace): Any {
  return (JSON.parse(json([trace])) as Any).samples[0];
}

const events = (trace: ExportedTrace, name: string): Any[] =>
  sample(trace).events.filter(({ event }: Any) => event === name);

describe("an Inspect log that art-e writes", needs("exports"), () => {
  it.each(["python", "viewer"] as const)("with all kinds of traces opens in %s", (reader) => {
    const { names, samples, header } = readEvalFile(evalBytes(ALL_KINDS), reader);
    expect(names).toEqual([
      "_journal/start.json",
      ...ALL_KINDS.map((trace) =>
        "taskId" in trace ? `samples/${trace.taskId}_epoch_${trace.epoch}.json` : `samples/trace_chat_epoch_1.json`,
      ).filter((name, i, all) => all.indexOf(name) === i),
      "_journal/summaries/1.json",
      "summaries.json",
      "reductions.json",
      "header.json",
    ]);
    expect(samples).toHaveLength(ALL_KINDS.length);
    const log = readJsonLog(json(ALL_KINDS), reader);
    expect(log).toMatchObject(header);
  });

  it.each(["python", "viewer"] as const)("without traces, or with chats, opens in %s", (reader) => {
    readJsonLog(json([]), reader);
    readJsonLog(json([], null), reader);
    readJsonLog(json([CHAT], null), reader);
    expect(readEvalFile(evalBytes([]), reader).samples).toEqual([]);
    expect(readEvalFile(evalBytes([CHAT], null), reader).samples).toHaveLength(1);
  });
});

describe("the header of an Inspect log", () => {
  const head = (traces: readonly ExportedTrace[], run: RunRow | null = RUN): Any => JSON.parse(json(traces, run));

  it("describes the run, but contains no private paths", () => {
    expect(head([BY_TOOL, SECOND_EPOCH])).toMatchObject({
      version: 2,
      status: "success",
      invalidated: false,
      tags: ["nightly"],
      eval: {
        run_id: "run_1",
        task: "art-e",
        model: "acme/best",
        created: RUN.startedAt,
        solver: "email-search",
        dataset: { name: "questions.jsonl", samples: 1 },
        config: { epochs: 2, turn_limit: 10 },
        packages: { "art-e": programVersion() },
      },
    });
    expect(head([kinds.SUITE]).eval.task).toBe("desk");
    expect(head([CHAT], null)).toMatchObject({ status: "success", eval: { task: "chats" } });
    expect(head([], { ...RUN, status: "interrupted" }).status).toBe("cancelled");
  });

  it("contains means over tasks, each of which is a mean over epochs", () => {
    const { results, reductions } = head([ANSWERED, BY_TOOL, SECOND_EPOCH, FAILED]);
    const score = (name: string) => results.scores.find((each: Any) => each.name === name);
    expect(score("exactMatch")).toMatchObject({
      scored_samples: 3,
      unscored_samples: 1,
      metrics: { accuracy: { value: 0.25 } },
    });
    expect(score("semanticScore").metrics.mean.value).toBe((0.5 + 0.375) / 2);
    expect(results).toMatchObject({ total_samples: 4, completed_samples: 3 });
    expect(reductions.find(({ scorer }: Any) => scorer === "semanticScore").samples).toEqual([
      { value: 0.5, sample_id: 7, history: [] },
      { value: 0.375, sample_id: 8, history: [] },
    ]);
  });

  it("includes cached tokens only in the total", () => {
    expect(head([BY_TOOL, SECOND_EPOCH]).stats.model_usage).toEqual({
      "acme/best": {
        input_tokens: 700,
        output_tokens: 50,
        total_tokens: 2150,
        input_tokens_cache_read: 1200,
        input_tokens_cache_write: 200,
        total_cost: 0.004,
      },
    });
  });
});

describe("a sample of an Inspect log", () => {
  it("contains letters for verdicts and for rates whose best value is 1, numbers otherwise, and no score if there is no value", () => {
    const values = Object.entries<Any>(sample(BY_TOOL).scores).map(([name, { value }]) => [name, value]);
    expect(Object.fromEntries(values)).toEqual({
      exactMatch: "C",
      hallucination: 1,
      semanticScore: 0.5,
      judgeScore: "P",
      judgeCorrect: "I",
    });
    expect(sample(BY_TOOL).scores.judgeScore).toMatchObject({
      explanation: "partly: near enough",
      answer: "On Friday.",
    });
    expect(sample(ANSWERED).scores).not.toHaveProperty("readGold");
  });

  it.each([
    ["stop", ANSWERED, "stop"],
    ["content_filter", kinds.REFUSED, "content_filter"],
    ["tool_calls", BY_TOOL, "tool_calls"],
  ] as const)("ends with the reason %s", (_, trace, reason) => {
    expect(sample(trace).output.choices[0].stop_reason).toBe(reason);
  });

  it("contains the gold answer of a question, including one in a suite task", () => {
    const task = { ...kinds.SUITE.task, emailQuestion: ANSWERED.task };
    expect(sample(ANSWERED).target).toBe("Friday");
    expect(sample({ ...kinds.SUITE, task }).target).toBe("Friday");
    expect(sample(kinds.SUITE).target).toBe("");
  });

  it("contains errors and limits", () => {
    const endOf = (trace: ExportedTrace) => {
      const { error, limit } = sample(trace);
      return { error: error?.message, limit };
    };
    expect(endOf(ANSWERED)).toEqual({ error: undefined, limit: undefined });
    expect(endOf(FAILED)).toEqual({ error: "401 no", limit: undefined });
    expect(endOf(kinds.NOT_STARTED)).toEqual({ error: "no machine", limit: undefined });
    expect(endOf(kinds.OUT_OF_TURNS)).toEqual({ error: undefined, limit: { type: "turn", limit: 10 } });
    expect(endOf(kinds.TIMED_OUT)).toEqual({ error: undefined, limit: { type: "time", limit: 1 } });
    expect(events(kinds.TIMED_OUT, "sample_limit")).toMatchObject([
      { type: "time", message: "No answer within 60 s." },
    ]);
    expect(events(FAILED, "error")).toMatchObject([{ error: { message: "401 no", traceback: "401 no" } }]);
  });

  it("contains each model call with its input, sent settings and time", () => {
    const [first, second] = events(BY_TOOL, "model");
    expect(first).toMatchObject({
      timestamp: "2026-01-02T03:04:05.100Z",
      completed: "2026-01-02T03:04:06.150Z",
      working_start: 0.1,
      working_time: 0.8,
      retries: 1,
      tool_choice: "any",
      config: { max_tokens: 512 },
      metadata: { waited_ms: 250, adjusted: [{ parameter: "temperature" }] },
      output: { model: "best-2026-01-01", usage: { input_tokens: 300, input_tokens_cache_read: 600 } },
    });
    expect(first.input.map(({ role }: Any) => role)).toEqual(["system", "user"]);
    expect(second.input.map(({ role }: Any) => role)).toEqual(["system", "user", "assistant", "tool", "tool"]);
    expect(first.tools).toHaveLength(3);
    const context = contextOf({ run: RUN, toolsOf: () => [] });
    const log = JSON.parse(inspectJsonLog([kinds.REFUSED], context)) as Any;
    const [without] = log.samples[0].events.filter(({ event }: Any) => event === "model");
    expect(without).toMatchObject({ tools: [], tool_choice: "none" });
  });

  it("omits the end time of a call that took longer than any date allows", () => {
    const turns = ANSWERED.turns.map((turn) => ({ ...turn, latencyMs: 1e308 }));
    const [first] = events({ ...ANSWERED, turns }, "model");
    expect(first.completed).toBe(first.timestamp);
  });

  it("stores a long text once, although each later call repeats it", () => {
    const { attachments, messages } = sample(BY_TOOL);
    const [[id, text], ...rest] = Object.entries<string>(attachments) as [[string, string]];
    expect({ text, rest }).toEqual({ text: "x".repeat(3_000), rest: [] });
    expect(events(BY_TOOL, "model")[1].input[3].content).toBe(`attachment://${id}`);
    expect(messages[3].content).toBe(text);
  });

  it("contains each executed tool call, with its error", () => {
    const [search, get, ...rest] = events(ANSWERED, "tool");
    expect(search).toMatchObject({ id: "c1", function: "email_search", result: '{"total":1}', working_time: 0.012 });
    expect(get).toMatchObject({ id: "c2", result: "", error: { type: "parsing", message: "not JSON" }, failed: true });
    expect(rest).toEqual([]);
    expect(sample(ANSWERED).messages[4]).toMatchObject({
      role: "tool",
      error: { type: "parsing" },
      tool_call_id: "c2",
    });
    expect(sample(ANSWERED).messages[2].tool_calls[1]).toMatchObject({ arguments: {}, parse_error: "{broken" });
  });

  it("contains a call that failed every time and has no reply", () => {
    expect(events(kinds.BROKEN_OFF, "model").map(({ error, output }: Any) => [error, output.choices.length])).toEqual([
      [undefined, 1],
      [kinds.BROKEN_OFF.error, 0],
    ]);
  });

  it("contains null only in the arguments of calls", () => {
    for (const trace of ALL_KINDS) {
      // The store contains the trace's own fields as a string.
      const text = JSON.stringify({ ...sample(trace), store: {} }).replaceAll('"limit":null', "");
      // A hostile model can write null into its answer, art-e does not.
      expect(text, trace.traceId).not.toMatch(/:null|\[null|,null/);
    }
  });
});

it("writes the same bytes in two exports of the same traces", () => {
  expect(evalBytes(ALL_KINDS).equals(evalBytes(ALL_KINDS))).toBe(true);
});
