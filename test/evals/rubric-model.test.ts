import { expect, it } from "vitest";
import { openRubricModel } from "../../src/evals/run-evals.js";

it("openRubricModel removes trailing slashes from the base URL, which is part of the cache key", async () => {
  const env = { ANTHROPIC_API_KEY: "k", ANTHROPIC_BASE_URL: "http://localhost:1/" };
  const settings = { env, db: "x.db", cacheDir: "cache", agentStderr: null };
  expect((await openRubricModel("anthropic/claude-sonnet-5", settings)).server).toBe("http://localhost:1");
});
