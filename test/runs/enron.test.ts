import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { readCorpusStats } from "../../src/mail/corpus.js";
import { loadQuestionFile } from "../../src/questions/files.js";
import { ENRON, needs } from "../machine-requirements.js";
import { never, openWith, type TestDb } from "./demo-setup.js";
import { answersOf, baseline, benchmark, type Finished } from "./run-setup.js";

describe("the baseline over real Enron mail", needs("real-mail"), () => {
  let real: TestDb;
  let alone: Finished;

  const run = async (concurrency: number) => {
    const set = await loadQuestionFile(join(ENRON, "questions.jsonl"), "test", never);
    return benchmark(real.db, { agentId: "baseline", model: await baseline(), set, concurrency });
  };

  beforeAll(async () => {
    real = await openWith(join(ENRON, "emails.csv"));
    alone = await run(1);
  }, 60_000);
  afterAll(() => real?.close());

  test("imports all of it", () => {
    expect(readCorpusStats(real.db)).toMatchObject({ messages: 1329, inboxes: 5, unresolvedOwners: 0 });
  });

  test("completes every question, none failed", () => {
    expect(alone.totals).toMatchObject({ totalTasks: 60, completedTasks: 60, failedTasks: 0 });
  });

  test("finds the gold mail and cites it as often as a search by words can", () => {
    const missed = alone.results.filter((result) => !result.sourcesCorrect).map((result) => result.taskId);
    expect(alone.totals.foundGold).toBeGreaterThanOrEqual(0.97);
    expect(alone.totals.sourcesCorrect, `not cited: ${missed.join(", ")}`).toBeGreaterThanOrEqual(0.8);
  });

  test("answers byte for byte the same, one at a time and sixteen at once", async () => {
    expect(answersOf(await run(16))).toBe(answersOf(alone));
  });
});
