import { expect, it } from "vitest";
import { rubricRequest, runRubric } from "../../src/evals/run-evals/run-rubric.js";
import { openRubricModel } from "../../src/evals/run-evals.js";
import type { Model } from "../../src/models/model.js";
import { trace } from "../scoring/trace.js";

it("openRubricModel removes trailing slashes from the base URL, which is part of the cache key", async () => {
  const env = { ANTHROPIC_API_KEY: "k", ANTHROPIC_BASE_URL: "http://localhost:1/" };
  const settings = { env, db: "x.db", cacheDir: "cache", agentStderr: null };
  expect((await openRubricModel("anthropic/claude-sonnet-5", settings)).server).toBe("http://localhost:1");
});

it("runRubric reports a cached result without time and cost", async () => {
  const cache = { get: () => ({ result: "fail", reason: "x".repeat(501) }), put: () => Promise.resolve() };
  const model: Model = { id: "x/y", complete: () => Promise.reject(new Error("must not be called")) };
  const traces = [{ ...trace({}), scores: {} }];
  let outcomes = 0;
  const calls = { model, server: null, cache, onOutcome: () => outcomes++ };
  expect(await runRubric({ rubric: "It is polite." }, traces, calls, new AbortController().signal)).toEqual([
    { score: 0, reason: "x".repeat(500), error: null, ms: 0, costUsd: 0 },
  ]);
  expect(outcomes).toBe(1);
});

it.each([
  [undefined, "You check one trace", "Rubric: It is polite.\n\nTRACE above"],
  ["wording", "Your task is to decide", "Rubric: It is polite.\n\nTRACE above"],
  ["position", "You check one trace", "TRACE below\n\nRubric: It is polite."],
] as const)("rubricRequest words the prompt in another way for the variant %s", (variant, system, order) => {
  const { messages, tools, ...request } = rubricRequest("It is polite.", "Question: Why?", variant);
  const content = messages[0]?.content
    .replace(/<trace.*data marked \w+\. Check the trace against the rubric/s, "TRACE")
    .replace(/ and call record_result once: first the reason, in one sentence, then the result\./, "");
  expect([content, request.system?.startsWith(system)]).toEqual([order, true]);
  expect([request.maxTokens, request.temperature, tools?.[0]?.parameters.additionalProperties]).toEqual([
    2_048,
    0,
    false,
  ]);
});
