import { readdirSync } from "node:fs";
import { beforeAll, describe, expect, it } from "vitest";
import { boxLines, demoQuestion, demoQuestions, type Ended, jsonLines, MAIL, QUESTIONS, workFolder } from "../art-e.js";
import { answersOf, resultsSchema, shippedSchema, totalsSchema } from "../results-schema.js";

const { artE, path, read, readJson, write } = workFolder({ mail: MAIL });

const RUN = `run -a baseline --dataset ${QUESTIONS}`;

describe("run -a baseline over all of the demo's questions", () => {
  let one: Ended;
  let sixteen: Ended;

  beforeAll(async () => {
    [one, sixteen] = await Promise.all([
      artE(`${RUN} -l 0 --concurrency 1 -o one.json`),
      artE(`${RUN} -l 0 --concurrency 16 -o sixteen.json --json`),
    ]);
  });

  it("ends well, with nothing on stderr", () => {
    expect([one, sixteen]).toMatchObject([
      { code: 0, stderr: "" },
      { code: 0, stderr: "" },
    ]);
  });

  it("writes a results file of exactly the documented fields", () => {
    const results = resultsSchema.parse(readJson("one.json"));
    expect(results).toMatchObject({
      agentId: "baseline",
      model: "offline/baseline",
      split: "test",
      totalTasks: 73,
      completedTasks: 73,
      failedTasks: 0,
      endings: { answered: 73 },
      costUsd: 0,
      dataset: { source: QUESTIONS, revision: null },
      settings: { concurrency: 1, cutoff: "query_date", selection: { limit: 0 } },
    });
  });

  it("writes what the JSON Schema that ships describes, and nothing beside it", () => {
    const results = readJson("one.json");
    expect(shippedSchema.parse(results)).toEqual(results);
    const [first, ...rest] = results.taskResults;
    for (const wrong of [
      { ...results, more: 1 },
      { ...results, taskResults: [{ ...first, epoch: 0 }, ...rest] },
      { ...results, scores: { exactMatch: { value: 1 } } },
    ]) {
      expect(shippedSchema.safeParse(wrong).success).toBe(false);
    }
  });

  it("keeps the tasks in the order of their ids, with question and answer of the dataset", () => {
    const tasks = readJson("sixteen.json").taskResults;
    expect(
      tasks.map(({ taskId, question, groundTruth }: Record<string, unknown>) => [taskId, question, groundTruth]),
    ).toEqual(demoQuestions.toSorted((a, b) => a.id - b.id).map(({ id, question, answer }) => [id, question, answer]));
  });

  it("gives the same answers whether one or sixteen are under way at once", () => {
    const [first, second] = ["one.json", "sixteen.json"].map((name) => answersOf(resultsSchema.parse(readJson(name))));
    expect(first).toHaveLength(73);
    expect(second).toEqual(first);
  });

  it("averages what the tasks say", () => {
    const { taskResults, avgSemanticScore, foundGold } = resultsSchema.parse(readJson("one.json"));
    const mean = (values: number[]) => values.reduce((sum, value) => sum + value, 0) / values.length;
    expect(avgSemanticScore).toBeCloseTo(mean(taskResults.map((task) => task.semanticScore ?? Number.NaN)), 12);
    expect(foundGold).toBeCloseTo(mean(taskResults.map((task) => Number(task.foundGold))), 12);
  });

  it("tells the totals in a box, and where the rest is", () => {
    const { runId, avgSemanticScore, totalTimeMs } = readJson("one.json");
    expect(one.stdout).toContain("\nART-E Benchmark Results: baseline (offline/baseline)\n");
    expect(boxLines(one.stdout)).toMatchObject({
      Run: runId,
      Tasks: "73 of the test split: 73 completed, 0 failed",
      "Semantic score": expect.stringMatching(
        new RegExp(`^${avgSemanticScore.toFixed(3)} \\[0\\.\\d{3}, 0\\.\\d{3}\\] n=73$`),
      ),
      Endings: "answered 73",
      Tokens: "0 in (0 cached), 0 out",
      Cost: "$0.00",
      Results: "one.json",
      Traces: `art-e show ${runId}/TASK, art-e export-traces --run ${runId} -o traces.jsonl`,
    });
    expect(totalTimeMs).toBeGreaterThan(0);
  });

  it("with --json writes the totals as one document, those of the results file", () => {
    const { db, output, ...totals } = JSON.parse(sixteen.stdout);
    expect({ db, output }).toEqual({ db: "./art-e.db", output: "sixteen.json" });
    const { settings, limits, versions, dataset, corpusFingerprint, taskResults, ...head } = readJson("sixteen.json");
    expect(totalsSchema.parse(totals)).toEqual(head);
  });

  it("leaves no half-written file beside the results", () => {
    expect(readdirSync(path("")).sort()).toEqual(["art-e.db", "one.json", "sixteen.json"]);
  });
});

describe("run", () => {
  it("without --output, --limit or --quiet answers ten questions and leaves them in the file", async () => {
    const { code, stdout } = await artE(`${RUN}`);
    expect(code).toBe(0);
    expect(boxLines(stdout).Tasks).toBe("10 of the test split: 10 completed, 0 failed");
    expect(boxLines(stdout)).not.toHaveProperty("Results");
    const stored = await artE("stats --run latest --json");
    expect(JSON.parse(stored.stdout)).toMatchObject({ runId: boxLines(stdout).Run, completedTasks: 10 });
  });

  it("--record keeps the replies, and a replay of them gives the same answers without asking anybody", async () => {
    const ids = "--ids 3,9,21";
    await artE(`${RUN} ${ids} --record replies.jsonl -o recorded.json`);
    const { code } = await artE(`${RUN} ${ids} --model-id replay/replies.jsonl -o replayed.json`);
    expect(code).toBe(0);
    const [recorded, replayed] = ["recorded.json", "replayed.json"].map((name) => resultsSchema.parse(readJson(name)));
    expect(replayed?.model).toBe("replay/replies.jsonl");
    expect(replayed && answersOf(replayed)).toEqual(recorded && answersOf(recorded));
    expect(jsonLines(read("replies.jsonl"))).toHaveLength(recorded?.turns ?? 0);
  });

  it("records the limits it was given, which are kept to", async () => {
    const flags = "--max-turns 2 --max-tokens 300 --temperature 0.5 --cutoff off --task-timeout 60";
    const { stdout } = await artE(`${RUN} --ids 5 ${flags} -o limits.json --json`);
    expect(JSON.parse(stdout)).toMatchObject({ endings: { out_of_turns: 1 }, turns: 2 });
    expect(readJson("limits.json").settings).toMatchObject({
      maxTurns: 2,
      maxTokens: 300,
      temperature: 0.5,
      cutoff: "off",
      taskTimeoutMs: 60_000,
    });
  });

  it("with --cutoff off finds mail of after the question's day, which is invisible without", async () => {
    const early = { ...demoQuestion(3), query_date: "2000-03-01" };
    write("early.jsonl", JSON.stringify(early));
    const outcomes = [];
    for (const cutoff of ["off", "query_date"]) {
      const { stdout } = await artE(`run -a baseline --dataset early.jsonl --cutoff ${cutoff} --json`);
      outcomes.push(JSON.parse(stdout).foundGold);
    }
    expect(outcomes).toEqual([1, 0]);
  });
});
