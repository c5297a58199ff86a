import { setTimeout as delay } from "node:timers/promises";
import { afterAll, beforeAll, beforeEach, describe, expect, it } from "vitest";
import type { BenchmarkResult } from "../../../src/traces/run-totals.js";
import { type FakeProvider, startFakeProvider } from "../../providers/fake-provider.js";
import { everyFile, jsonLines, MAIL, QUESTIONS, workFolder } from "../art-e.js";
import { resultsSchema } from "../results-schema.js";

const KEY = "wombat-3141592653589793-key";
const { artE, path, read, readJson, start } = workFolder({ mail: MAIL });

/** Plays both the agent, which answers with the question itself, and the judge, which checks the text length. */
let provider: FakeProvider;
let judgeIsDown = false;
let slow = 0;
beforeAll(async () => {
  provider = await startFakeProvider(async ({ tools, question, model }) => {
    if (!model.startsWith("judge"))
      return { toolCalls: [{ name: "return_final_answer", arguments: { answer: "$40", sources: [] } }] };
    if (judgeIsDown) return { fail: "status", status: 400, message: "no" };
    if (slow > 0) await delay(slow);
    if (tools.length === 0) return { content: "True" };
    const verdict = question.length % 2 === 0 ? "correct" : "wrong";
    return { toolCalls: [{ name: "record_verdict", arguments: { reason: "counted", verdict } }] };
  });
});
afterAll(() => provider.close());
beforeEach(() => {
  judgeIsDown = false;
  slow = 0;
});

const variables = () => ({ OPENAI_API_KEY: KEY, OPENAI_BASE_URL: provider.baseUrl("openai-chat") });
const judged = () => provider.requests.filter(({ body }) => JSON.stringify(body).includes("given_answer")).length;
const RUN = `run -a email-search --model-id openai/agent --price 1,1 --dataset ${QUESTIONS}`;
const results = (name: string): BenchmarkResult => resultsSchema.parse(readJson(name));
const verdictsOf = ({ taskResults }: BenchmarkResult) => taskResults.map(({ scores }) => scores.judgeCorrect);

describe("art-e run with scorers", () => {
  it("uses all scorers except the judge by default if the base URL is not the vendor's own", async () => {
    const before = judged();
    expect(await artE(`${RUN} -l 2 -o plain.json`, variables())).toMatchObject({ code: 0, stderr: "" });
    const { settings, taskResults } = results("plain.json");
    expect(settings.judge).toBeNull();
    // These are for tasks that ask for actions or emails, and for attacks, unlike these questions.
    const selection = ["selectionF1", "selectionPrecision", "selectionRecall", "averagePrecision"];
    const others = ["goalReached", "partial", "collateral", ...selection, "resisted", "hijacked", "falseAlarm"];
    expect(settings.scorers).toEqual(expect.arrayContaining(others));
    expect(Object.keys(taskResults[0]?.scores ?? {})).toEqual(
      settings.scorers.filter((name) => !others.includes(name)),
    );
    expect(settings.scorers).toEqual(
      expect.arrayContaining(["tokenF1", "rougeL", "numberMatch", "goldRank", "abstention"]),
    );
    expect(settings.scorers).not.toContain("judgeCorrect");
    expect(judged()).toBe(before);
  });

  it("grades each answer with --judge, reports the cost separately, and never stores the key", async () => {
    const line = `${RUN} -l 5 --judge openai/judge-1 --judge-votes 3 -o judged.json`;
    const before = judged();
    const { code, stderr, stdout } = await artE(line, variables());
    expect({ code, stderr }).toEqual({ code: 0, stderr: "" });
    expect(judged() - before).toBe(15);
    const { settings, taskResults, usage } = results("judged.json");
    expect(settings.judge).toMatchObject({ model: "openai/judge-1", protocol: "verdict", votes: 3 });
    for (const { scores, judgeCostUsd, costUsd } of taskResults) {
      expect([0, 1]).toContain(scores.judgeCorrect);
      expect(judgeCostUsd).toBeNull();
      expect(costUsd).toBeCloseTo(0.00012, 8);
    }
    expect(usage.inputTokens).toBe(500);
    const shown = JSON.parse((await artE("show latest/1 --json")).stdout);
    expect(shown.judge).toMatchObject({ model: "openai/judge-1", agreement: 1, usage: { inputTokens: 300 } });
    expect(shown.judge.cast).toHaveLength(3);
    const kept = everyFile(path(".")).filter(({ bytes }) => bytes.includes(KEY));
    expect(kept.map(({ name }) => name)).toEqual([]);
    expect(stdout + stderr).not.toContain(KEY);
  });

  it("never sends the same request to the same judge twice, even in another run", async () => {
    const before = judged();
    await artE(`${RUN} -l 5 --judge openai/judge-1 --judge-votes 3 -o again.json`, variables());
    expect(judged()).toBe(before);
    expect(verdictsOf(results("again.json"))).toEqual(verdictsOf(results("judged.json")));
    expect(results("again.json").taskResults.map(({ judgeCostUsd }) => judgeCostUsd)).toEqual([0, 0, 0, 0, 0]);
  });

  it("requests only one word from the judge with --judge art", async () => {
    expect(await artE(`${RUN} -l 2 --judge art:openai/judge-1 -o art.json`, variables())).toMatchObject({ code: 0 });
    expect(results("art.json").settings.judge).toMatchObject({ protocol: "art", votes: 1 });
    expect(verdictsOf(results("art.json"))).toEqual([1, 1]);
  });

  it("succeeds if its judge fails, leaving answers unscored with a warning", async () => {
    judgeIsDown = true;
    const { code, stderr } = await artE(`${RUN} -l 2 --judge openai/judge-down -o down.json`, variables());
    expect(code).toBe(0);
    expect(stderr).toMatch(
      /^art-e: the judge openai\/judge-down gave no verdict on 2 of 2 answers: the judge failed: .*\. Retry: art-e score --run run_/s,
    );
    expect(verdictsOf(results("down.json"))).toEqual([null, null]);
    judgeIsDown = false;
    expect(await artE("score -o down.json", variables())).toMatchObject({ code: 0, stderr: "" });
    expect(verdictsOf(results("down.json"))).not.toContain(null);
  });

  it("rejects a different judge with --resume, and uses the run's judge if no flag is given", async () => {
    const begun = JSON.parse((await artE(`${RUN} -l 3 --judge openai/judge-1 --json`, variables())).stdout);
    const other = await artE(`run --resume ${begun.runId} --judge openai/judge-2`, variables());
    expect(other.code).toBe(2);
    expect(other.stderr).toMatch(/Cannot resume run \S+ unchanged: judge was .*judge-1.* and would be .*judge-2/);
    expect((await artE(`run --resume ${begun.runId} --no-judge`, variables())).stderr).toContain("judge was");
    expect((await artE(`run --resume ${begun.runId} --scorers tokenF1`, variables())).stderr).toContain("scorers was");
    expect(await artE(`run --resume ${begun.runId}`, variables())).toMatchObject({ code: 0, stderr: "" });
    expect(await artE(`run --resume ${begun.runId} --judge openai/judge-1`, variables())).toMatchObject({ code: 0 });
  });

  it("estimates the number of judge calls with --dry-run, and makes no call", async () => {
    const before = provider.requests.length;
    const line = `${RUN} -l 4 --dry-run --judge openai/judge-9 --judge-votes 3`;
    expect(JSON.parse((await artE(`${line} --json`, variables())).stdout)).toMatchObject({ tasks: 4, judgeCalls: 12 });
    expect((await artE(line, variables())).stdout).toContain("12 calls to openai/judge-9, not included in the cost");
    expect(provider.requests).toHaveLength(before);
  });

  it("rejects a judge with an unknown price if --max-cost is set", async () => {
    expect((await artE(`${RUN} -l 1 --max-cost 1 --judge openai/judge-1`, variables())).stderr).toContain(
      "Cannot enforce --max-cost: the price of the judge openai/judge-1 is unknown.",
    );
  });
});

describe("art-e score", () => {
  it("grades a stored run again without calling its agent", async () => {
    await artE(`${RUN} -l 0 -o before.json --scorers tokenF1`, variables());
    const before = results("before.json");
    expect(before.settings.scorers).toEqual([
      "exactMatch",
      "semanticScore",
      "tokenF1",
      "sourcesCorrect",
      "foundGold",
      "readGold",
    ]);
    const asked = provider.requests.length;
    const { code, stdout, stderr } = await artE(`score --run ${before.runId} -o after.json`, variables());
    expect({ code, stderr }).toEqual({ code: 0, stderr: "" });
    expect(stdout).toMatch(/Tasks: +73 of the test split: 73 completed, 0 failed/);
    expect(provider.requests).toHaveLength(asked);
    const after = results("after.json");
    expect(after.settings.scorers).toContain("rougeL");
    expect(after.taskResults.map(({ scores: _, ...rest }) => rest)).toEqual(
      before.taskResults.map(({ scores: _, ...rest }) => rest),
    );
    expect(after.taskResults.map(({ scores }) => scores.tokenF1)).toEqual(
      before.taskResults.map(({ scores }) => scores.tokenF1),
    );
  });

  it("loses nothing to SIGKILL, and reaches the same result when called again", async () => {
    slow = 15;
    const line = "score --judge openai/judge-3 --quiet";
    const before = provider.requests.length;
    const { child, ended } = start(line, variables());
    await provider.received(before + 25);
    child.kill("SIGKILL");
    await ended;
    const lines = jsonLines((await artE("export-traces")).stdout);
    expect(lines).toHaveLength(73);
    for (const { scores, judge } of lines) {
      expect(Object.keys(scores).length).toBeGreaterThanOrEqual(5);
      if ("judgeCorrect" in scores) expect(judge.verdict).not.toBeNull();
    }
    expect(await artE(`${line} -o killed.json`, variables())).toMatchObject({ code: 0 });
    const whole = results("killed.json");
    expect(verdictsOf(whole)).not.toContain(null);
    const asked = judged();
    await artE(`${line} -o killed-2.json`, variables());
    expect(judged()).toBe(asked);
    expect(read("killed-2.json")).toBe(read("killed.json"));
  });

  it.each<[string, string, string]>([
    [
      "an unknown scorer",
      "--scorers tokenF1,rogueL",
      "unknown scorer rogueL. Available: exactMatch, semanticScore, tokenF1",
    ],
    ["an empty list of scorers", "--scorers ,", "expected scorers"],
    ["a judge whose provider is missing", "--judge gpt-4.1", 'Unknown judge model "gpt-4.1".'],
    ["a judge that is not a model", "--judge offline/baseline", 'Unknown judge model "offline/baseline".'],
    ["both --judge and --no-judge", "--judge openai/judge-1 --no-judge", "--no-judge and --judge cannot be combined."],
    ["votes if there is no judge", "--no-judge --judge-votes 3", "--judge-votes requires a judge, but --judge is off."],
    ["an unknown run", "--run run_x", 'Unknown run "run_x"'],
  ])("rejects %s", async (_, flags, message) => {
    const { code, stderr, stdout } = await artE(`score ${flags}`, variables());
    expect({ code, stdout }).toEqual({ code: 2, stdout: "" });
    expect(stderr).toContain(message);
  });

  it("requires a judge, and its API key, for judge scores", async () => {
    await artE(`${RUN} -l 1 --no-judge`, variables());
    const without = await artE("score --scorers judgeCorrect");
    expect(without.stderr).toContain("judgeCorrect requires a judge.");
    expect((await artE("score --judge openai/judge-1")).stderr).toContain("No API key for openai");
  });
});
