import { expect, it } from "vitest";
import { openRubricModel } from "../../src/evals/run-evals.js";

it("takes the slashes off a server's address, by which results are cached", async () => {
  const env = { ANTHROPIC_API_KEY: "k", ANTHROPIC_BASE_URL: "http://localhost:1/" };
  const settings = { env, db: "x.db", cacheDir: "cache", agentStderr: null };
  expect((await openRubricModel("anthropic/claude-sonnet-5", settings)).server).toBe("http://localhost:1");
});
