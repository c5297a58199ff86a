import { readdirSync } from "node:fs";
import { afterEach, beforeAll, describe, expect, it } from "vitest";
import type { RunComparison } from "../../../src/analysis/paired-comparison.js";
import { KNOWN_BAD_IDS } from "../../../src/questions/dataset.js";
import type { Question } from "../../../src/tasks/question.js";
import { sendFile, sendJson, startHub } from "../../platform/hub-server.js";
import { type FakeProvider, startFakeProvider } from "../../providers/fake-provider.js";
import { parquetOf } from "../../questions/question-rows.js";
import { boxLines, demoQuestions, type Ended, jsonLines, MAIL, MARCUS, QUESTIONS, workFolder } from "../art-e.js";
import { answersOf, resultsSchema, shippedSchema } from "../results-schema.js";

describe("a run of an agent", () => {
  const { artE, path, read, readJson } = workFolder({ mail: MAIL });
  const RUN = `run -a baseline --dataset ${QUESTIONS}`;

  describe("art-e run with the offline baseline over all of the demo's questions", () => {
    let ended: Ended;

    beforeAll(async () => {
      ended = await artE(`${RUN} -l 0 --concurrency 16 -o all.json --no-progress`);
    });

    it("succeeds, and writes nothing to stderr", () => expect(ended).toMatchObject({ code: 0, stderr: "" }));

    it("writes a results file of exactly the documented fields", () => {
      const results = resultsSchema.parse(readJson("all.json"));
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
        settings: { concurrency: 16, cutoff: "query_date", selection: { limit: 0 } },
      });
    });

    it("writes results that match the shipped JSON Schema exactly", () => {
      const results = readJson("all.json");
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

    it("orders tasks by id, with the dataset's questions and answers", () => {
      const tasks = readJson("all.json").taskResults;
      expect(
        tasks.map(({ taskId, question, groundTruth }: Record<string, unknown>) => [taskId, question, groundTruth]),
      ).toEqual(
        demoQuestions.toSorted((a, b) => a.id - b.id).map(({ id, question, answer }) => [id, question, answer]),
      );
    });

    it("averages the task scores", () => {
      const { taskResults, avgSemanticScore, foundGold } = resultsSchema.parse(readJson("all.json"));
      const mean = (values: number[]) => values.reduce((sum, value) => sum + value, 0) / values.length;
      expect(avgSemanticScore).toBeCloseTo(mean(taskResults.map((task) => task.semanticScore ?? Number.NaN)), 12);
      expect(foundGold).toBeCloseTo(mean(taskResults.map((task) => Number(task.foundGold))), 12);
    });

    it("prints the totals and the paths of the results in a box", () => {
      const { runId, avgSemanticScore, totalTimeMs } = readJson("all.json");
      expect(ended.stdout).toContain("\nART-E Benchmark Results: baseline (offline/baseline)\n");
      expect(boxLines(ended.stdout)).toMatchObject({
        Run: runId,
        Tasks: "73 of the test split: 73 completed, 0 failed",
        "Word overlap": expect.stringMatching(
          new RegExp(`^${avgSemanticScore.toFixed(3)} \\[0\\.\\d{3}, 0\\.\\d{3}\\] n=73$`),
        ),
        Endings: "answered 73",
        Tokens: "0 in (0 cached), 0 out",
        Cost: "$0.00",
        Results: "all.json",
        Traces: `art-e show ${runId}/TASK, art-e export-traces --run ${runId} -o traces.jsonl`,
        Evals: `art-e evals code ${runId}`,
      });
      expect(totalTimeMs).toBeGreaterThan(0);
    });

    it("leaves no unfinished file next to the results", () => {
      expect(readdirSync(path("")).sort()).toEqual(["all.json", "art-e.db"]);
    });
  });

  describe("art-e run", () => {
    it("prints the content of the results file as one document with --json", async () => {
      const { stdout } = await artE(`${RUN} -l 2 -o two.json --json --no-progress`);
      const { db, output, ...results } = JSON.parse(stdout);
      expect({ db, output }).toEqual({ db: "./art-e.db", output: "two.json" });
      expect(results).toEqual(readJson("two.json"));
      expect(results.taskResults).toHaveLength(2);
    });

    it("answers ten questions and stores them in the database if --output, --limit and --quiet are missing", async () => {
      const { code, stdout } = await artE(`${RUN}`);
      expect(code).toBe(0);
      expect(boxLines(stdout).Tasks).toBe("10 of the test split: 10 completed, 0 failed");
      expect(boxLines(stdout)).not.toHaveProperty("Results");
      const stored = await artE("stats --run latest --json");
      expect(JSON.parse(stored.stdout)).toMatchObject({ runId: boxLines(stdout).Run, completedTasks: 10 });
    });

    it("saves replies with --record, and replays the same answers later without any request", async () => {
      const ids = "--ids 3,9,21";
      await artE(`${RUN} ${ids} --record replies.jsonl -o recorded.json`);
      const { code } = await artE(`${RUN} ${ids} --model-id replay/replies.jsonl -o replayed.json`);
      expect(code).toBe(0);
      const [recorded, replayed] = ["recorded.json", "replayed.json"].map((name) =>
        resultsSchema.parse(readJson(name)),
      );
      expect(replayed?.model).toBe("replay/replies.jsonl");
      expect(replayed && answersOf(replayed)).toEqual(recorded && answersOf(recorded));
      expect(jsonLines(read("replies.jsonl"))).toHaveLength(recorded?.turns ?? 0);
    });

    it("records its limits, and obeys them", async () => {
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
  });
});

describe("selecting questions", () => {
  const { artE, readJson } = workFolder({ mail: MAIL });
  const REVISION = "0123456789abcdef0123456789abcdef01234567";
  let runs = 0;

  /** The ids of the questions that a run with these flags answers, in the order of the results file. */
  async function answered(flags: string, variables = {}): Promise<number[]> {
    const file = `results-${++runs}.json`;
    const { code, stderr } = await artE(`run -a baseline ${flags} -o ${file} --quiet`, variables);
    if (code !== 0) throw new Error(stderr);
    return readJson(file).taskResults.map((task: { taskId: number }) => task.taskId);
  }

  const idsOf = (questions: readonly Question[]) => questions.map((question) => question.id).sort((a, b) => a - b);
  const FILE = `--dataset ${QUESTIONS}`;

  describe("limits of art-e run on its questions", () => {
    // Each condition by itself: test/questions/dataset.test.ts.
    it.each<[string, (question: Question) => boolean]>([
      ["--ids 40,7,12", ({ id }) => [7, 12, 40].includes(id)],
      [
        `-l 0 --inbox ${MARCUS.toUpperCase()} --min-realism 0.9 --max-sources 1`,
        ({ inbox_address, how_realistic, message_ids }) =>
          inbox_address === MARCUS && how_realistic >= 0.9 && message_ids.length <= 1,
      ],
    ])("select only the questions that fit %s", async (flags, fits) => {
      const fitting = demoQuestions.filter(fits);
      expect(fitting.length).toBeGreaterThan(2);
      expect(await answered(`${FILE} ${flags}`)).toEqual(idsOf(fitting));
    });

    it("select a random part if --shuffle is given, the same for the same --seed", async () => {
      const first = await answered(`${FILE} --shuffle --seed 7 -l 4`);
      expect(first).toHaveLength(4);
      expect(await answered(`${FILE} --shuffle --seed 7 -l 4`)).toEqual(first);
      expect(first).not.toEqual(idsOf(demoQuestions.slice(0, 4)));
    });
  });

  describe("art-e run with the hub at HF_ENDPOINT", () => {
    it("reads a Parquet file of one revision, without known bad questions", async () => {
      const rows = demoQuestions.map((question) => ({ ...question, message_ids: [...question.message_ids] }));
      const bytes = parquetOf(rows);
      await using hub = await startHub((request, response) => {
        const known = `/datasets/corbt/enron_emails_sample_questions/resolve/${REVISION}/data/train-00000-of-00001.parquet`;
        if (request.url === known) sendFile(request, response, bytes);
        else response.writeHead(404).end();
      });
      const flags = `-s train --revision ${REVISION} --exclude-known-bad --min-realism 0.9 -l 0`;
      const good = demoQuestions.filter(({ id, how_realistic }) => !KNOWN_BAD_IDS.has(id) && how_realistic >= 0.9);
      expect(await answered(flags, { HF_ENDPOINT: hub.endpoint })).toEqual(idsOf(good));
    });

    it("reads a pinned revision, whose size is known, by default", async () => {
      const pinned = "abc84674cefc28ca4bf2cd3f0f0c9c860d690d70";
      const known = `/datasets/corbt/enron_emails_sample_questions/resolve/${pinned}/data/test-00000-of-00001.parquet`;
      const rows = demoQuestions
        .slice(0, 3)
        .map((question) => ({ ...question, message_ids: [...question.message_ids] }));
      const asked: (string | undefined)[] = [];
      await using hub = await startHub((request, response) => {
        asked.push(request.url);
        sendFile(request, response, parquetOf(rows));
      });
      const { code, stderr } = await artE("run -a baseline --cache-dir pinned-cache", { HF_ENDPOINT: hub.endpoint });
      expect(new Set(asked)).toEqual(new Set([known]));
      expect(code).toBe(1);
      expect(stderr).toMatch(/the file has \d+ bytes, not 267520/);
    });

    it("reads JSON rows if --use-json is given", async () => {
      await using hub = await startHub((_, response) =>
        sendJson(response, {
          rows: demoQuestions.slice(0, 4).map((row, i) => ({ row_idx: i, row, truncated_cells: [] })),
          num_rows_total: 4,
        }),
      );
      const variables = { HF_ROWS_ENDPOINT: hub.endpoint };
      expect(await answered("--use-json --cache-dir rows-cache", variables)).toEqual(idsOf(demoQuestions.slice(0, 4)));
    });
  });
});

describe("times of tasks", () => {
  /** Where a task's time went, from a server that makes a run wait to the output of compare. */

  const { artE, read, readJson } = workFolder({ mail: MAIL });
  let provider: FakeProvider;

  afterEach(() => provider.close());

  /** Refuses the first request, and asks to wait one second. */
  async function busyAtFirst(refusals: number) {
    let asked = 0;
    provider = await startFakeProvider(({ turn }) => {
      if (asked++ < refusals) return { fail: "status", status: 429, headers: { "retry-after": "1" } };
      if (turn > 0) return { content: "I don't know" };
      return { toolCalls: [{ name: "email_search", arguments: { query: "dues", inbox_id: MARCUS } }] };
    });
  }

  const RUN = `run -a email-search --no-judge --dataset ${QUESTIONS} --inbox ${MARCUS} -l 1`;

  const run = (line: string) =>
    artE(`${RUN} ${line}`, { ANTHROPIC_API_KEY: "test-key", ANTHROPIC_BASE_URL: provider.url });

  it("consist of model time, tool time and waiting time", async () => {
    await busyAtFirst(1);
    const waited = await run("-o waited.json");
    expect(waited.code).toBe(0);
    const { taskResults, ...totals } = resultsSchema.parse(readJson("waited.json"));
    const [task] = taskResults;
    const { modelTimeMs = -1, toolTimeMs = -1, waitingTimeMs = -1, executionTimeMs = -1 } = task ?? {};
    expect(waitingTimeMs).toBeGreaterThanOrEqual(1_000);
    expect(modelTimeMs).toBeGreaterThan(0);
    expect(toolTimeMs).toBeGreaterThan(0);
    expect(modelTimeMs + toolTimeMs).toBeLessThan(executionTimeMs - 1_000 + 1);
    expect(totals).toMatchObject({
      avgModelTimeMs: modelTimeMs,
      avgToolTimeMs: toolTimeMs,
      avgWaitingTimeMs: waitingTimeMs,
      avgExecutionTimeMs: executionTimeMs,
    });
    expect(boxLines(waited.stdout)["Time per task"]).toMatch(
      /^\S+ m?s \(model \S+ m?s, tools \S+ ms\); waiting [1-9]\.\d s$/,
    );
    expect(jsonLines((await artE("export-traces --run latest")).stdout)[0].turns[0].waitedMs).toBeCloseTo(
      waitingTimeMs,
      -2,
    );
    const [{ turns }] = jsonLines((await artE("export-traces --run latest")).stdout);
    expect(turns[0].waits.map(({ kind }: { kind: string }) => kind)).toEqual(
      expect.arrayContaining(["failed_attempt", "pause"]),
    );
    const shown = (await artE(`show ${task?.traceId}`)).stdout;
    expect(shown).toMatch(/^Time: {5}model .+, tools .+, waiting [1-9]\.\d s$/m);
    expect(shown).toMatch(/^ {10}[Mtsx~.w-]{58,62}\n {10}M model .+ pauses before retries \d\.\d s/m);
  });

  it("appear in reports, and compare's verdict excludes waiting time", async () => {
    expect((await artE("report latest --format csv -o tasks.csv")).code).toBe(0);
    expect(read("tasks.csv")).toContain("executionTimeMs,modelTimeMs,toolTimeMs,waitingTimeMs");
    expect((await artE("report latest --format md")).stdout).toMatch(/\| Waiting per task \| [1-9]\.\d s \|/);

    await busyAtFirst(0);
    expect((await run("-o free.json")).code).toBe(0);
    const { comparisons } = JSON.parse((await artE("compare waited.json free.json --json")).stdout) as {
      comparisons: RunComparison[];
    };
    const time = comparisons[0]?.metrics.find(({ label }) => label.includes("time"));
    const { avgModelTimeMs, avgToolTimeMs, avgWaitingTimeMs } = resultsSchema.parse(readJson("waited.json"));
    const worked = (avgModelTimeMs ?? 0) + (avgToolTimeMs ?? 0);
    expect(time).toMatchObject({ metric: "modelAndToolTimeMs", baseline: worked });
    expect(worked).toBeLessThan(avgWaitingTimeMs ?? 0);
  });
});
