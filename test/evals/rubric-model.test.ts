import { expect, it } from "vitest";
import { runRubric } from "../../src/evals/run-evals/run-rubric.js";
import { openRubricModel } from "../../src/evals/run-evals.js";
import type { Model } from "../../src/models/model.js";
import { trace } from "../scoring/trace.js";

it("openRubricModel removes trailing slashes from the base URL, which is part of the cache key", async () => {
  const env = { ANTHROPIC_API_KEY: "k", ANTHROPIC_BASE_URL: "http://localhost:1/" };
  const settings = { env, db: "x.db", cacheDir: "cache", agentStderr: null };
  expect((await openRubricModel("anthropic/claude-sonnet-5", settings)).server).toBe("http://localhost:1");
});

it("runRubric reports a cached result without time and cost", async () => {
  const cache = { get: () => ({ result: "fail", reason: "It is rude." }), put: () => Promise.resolve() };
  const model: Model = { id: "x/y", complete: () => Promise.reject(new Error("must not be called")) };
  const traces = [{ ...trace({}), scores: {} }];
  let outcomes = 0;
  const calls = { model, server: null, cache, onOutcome: () => outcomes++ };
  expect(await runRubric({ rubric: "It is polite." }, traces, calls, new AbortController().signal)).toEqual([
    { score: 0, reason: "It is rude.", error: null, ms: 0, costUsd: 0 },
  ]);
  expect(outcomes).toBe(1);
});
