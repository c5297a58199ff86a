import { describe, expect, it, test } from "vitest";
import { z } from "zod";
import { ENDINGS } from "../../src/tasks/ending.js";
import { benchmarkResultSchema } from "../../src/traces/run-totals.js";
import { toTaskResult } from "../../src/traces/task-result.js";
import type { QuestionTrace as Trace, Turn } from "../../src/traces/trace.js";
import { trace } from "../scoring/trace.js";

const turn = (changes: Partial<Turn> = {}): Turn => ({
  startedAt: "2026-01-01T00:00:00.000Z",
  latencyMs: 10,
  finishReason: "tool_calls",
  rawFinishReason: "tool_use",
  usage: { inputTokens: 100, outputTokens: 10, cachedInputTokens: 40 },
  costUsd: 0.25,
  retries: [],
  cached: false,
  ...changes,
});

const scored = (changes: Partial<Trace> = {}): Trace => ({
  ...trace({ turns: [turn(), turn()], sources: ["<gold@x>"], durationMs: 1234.6 }),
  scores: {
    exactMatch: { value: 1 },
    semanticScore: { value: 0.5 },
    sourcesCorrect: { value: 1 },
    foundGold: { value: 0 },
    readGold: { value: null, explanation: "no gold emails for this question" },
  },
  ...changes,
});

describe("a trace's line in the results file", () => {
  test("contains all fields", () => {
    expect(toTaskResult(scored())).toEqual({
      taskId: 1,
      epoch: 1,
      inbox: "a@b.example",
      queryDate: "2001-05-14",
      howRealistic: 0.8,
      goldEmails: ["<gold@x>"],
      goldSources: 1,
      question: "How much are the dues?",
      groundTruth: "$40",
      agentAnswer: "$40",
      exactMatch: true,
      semanticScore: 0.5,
      executionTimeMs: 1235,
      modelTimeMs: 20,
      toolTimeMs: 0,
      waitingTimeMs: 0,
      traceId: "trace_1",
      ending: "answered",
      turns: 2,
      usage: { inputTokens: 200, outputTokens: 20, cachedInputTokens: 80 },
      costUsd: 0.5,
      judgeCostUsd: 0,
      sources: ["<gold@x>"],
      sourcesCorrect: true,
      foundGold: false,
      readGold: null,
      retries: 0,
      cachedReplies: 0,
      spent: { usage: { inputTokens: 200, outputTokens: 20, cachedInputTokens: 80 }, costUsd: 0.5 },
      scores: { exactMatch: 1, semanticScore: 0.5, sourcesCorrect: 1, foundGold: 0, readGold: null },
    });
  });

  test.each(ENDINGS)("contains an error for the ending %s only if that is a failure", (ending) => {
    const failure = ["model_error", "timeout", "interrupted", "not_started", "not_runnable"].includes(ending);
    const said = toTaskResult(scored({ ending, answer: null, error: "503 busy" }));
    expect(said.error).toBe(failure ? "503 busy" : undefined);
    expect(said.agentAnswer).toBe("");
    expect(toTaskResult(scored({ ending, error: null })).error).toBe(failure ? ending : undefined);
  });

  test("contains null, never false, for each score if there are no scores", () => {
    expect(toTaskResult(scored({ ending: "model_error", scores: {} }))).toMatchObject({
      exactMatch: null,
      semanticScore: null,
      sourcesCorrect: null,
      foundGold: null,
      readGold: null,
    });
  });

  test("contains no cost if a turn's price or usage is unknown", () => {
    const cost = (...turns: Turn[]) => toTaskResult(scored({ turns })).costUsd;
    expect(cost()).toBe(0);
    expect(cost(turn(), turn({ costUsd: null }))).toBeNull();
    expect(cost(turn({ usage: null, costUsd: null }), turn())).toBeNull();
  });

  test("counts the retries of all turns", () => {
    const retries = [1, 2].map((attempt) => ({ attempt, reason: "529", waitedMs: 1 }));
    expect(toTaskResult(scored({ turns: [turn({ retries }), turn(), turn({ retries })] })).retries).toBe(4);
  });
});

/** The shipped JSON Schema is generated from the zod schemas by `npx vitest run test/runs/results.test.ts -u`. */
const schema = z.toJSONSchema(benchmarkResultSchema, { target: "draft-2020-12", io: "input" });

const document = {
  $schema: schema.$schema,
  title: "ART-E results file",
  description: "What art-e run --output writes: the totals of a run, what makes it repeatable, and one line per task.",
  ...schema,
};

describe("the JSON Schema of the results file", () => {
  it("matches the file in the package", async () => {
    await expect(`${JSON.stringify(document, null, 2)}\n`).toMatchFileSnapshot("../../schema/results.schema.json");
  });

  it("describes every field", () => {
    const silent: string[] = [];
    const visit = (node: unknown, path: string): void => {
      if (typeof node !== "object" || node === null) return;
      const { properties, items, additionalProperties } = node as Record<string, unknown>;
      for (const [name, field] of Object.entries((properties ?? {}) as Record<string, { description?: string }>)) {
        if (!field.description && !PLAIN.test(`${path}.${name}`)) silent.push(`${path}.${name}`);
        visit(field, `${path}.${name}`);
      }
      visit(items, `${path}[]`);
      visit(additionalProperties, `${path}.*`);
    };
    visit(document, "");
    expect(silent).toEqual([]);
  });

  it("allows no additional fields", () => {
    expect(document).toMatchObject({ type: "object", additionalProperties: false });
    expect(document.required).toEqual(expect.arrayContaining(["runId", "scores", "slices", "taskResults"]));
  });
});

/** Tokens and prices, whose name and parent state the unit. */
const PLAIN =
  /\.(inputTokens|outputTokens|cachedInputTokens|price\.(input|output|cachedInput)|input|output|cachedInput)$/;
