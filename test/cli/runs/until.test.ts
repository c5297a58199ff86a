import { copyFileSync } from "node:fs";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { needs } from "../../machine-requirements.js";
import { type RedisServer, startRedis } from "../../queue/redis-server.js";
import { MAIL, QUESTIONS, workFolder } from "../art-e.js";
import { Workers } from "../queue/queue-setup.js";

describe("a run that stops itself with --until", () => {
  const folder = workFolder({ mail: MAIL });
  const { artE, path, readJson, write } = folder;
  const RUN = ["run", "-a", "baseline", "--dataset", QUESTIONS, "-l", "0", "--quiet"];
  /** Knows all gold answers, and charges one cent for each. */
  const GOLD_AGENT = `
    import { readFileSync } from "node:fs";
    import { createInterface } from "node:readline";
    const lines = readFileSync(${JSON.stringify(QUESTIONS)}, "utf8").trim().split("\\n");
    const answers = new Map(lines.map((line) => JSON.parse(line)).map(({ id, answer }) => [String(id), answer]));
    for await (const line of createInterface({ input: process.stdin })) {
      const { id } = JSON.parse(line);
      console.log(JSON.stringify({ id, answer: answers.get(id.split("/")[0]), sources: [], cost_usd: 0.01 }));
    }`;
  /** With two turns, the baseline agent cites no sources. */
  const until = (claim: string, ...flags: string[]) => artE([...RUN, "--until", claim, ...flags]);

  beforeAll(async () => {
    expect(await artE([...RUN, "--max-turns", "2", "--name", "short", "-o", "short.json"])).toMatchObject({ code: 0 });
    copyFileSync(path("art-e.db"), path("mail.db"));
  });

  const ran = async (claim: string, ...flags: string[]) => {
    const { code, stdout, stderr } = await until(claim, "--json", ...flags);
    expect({ code, stderr }).toEqual({ code: 0, stderr: "" });
    return JSON.parse(stdout);
  };

  let stopped: ReturnType<typeof ran> | undefined;
  /** A run that an established claim stopped, shared by the tests that only read it. */
  const stoppedRun = () => {
    stopped ??= ran("better than short on sources", "--concurrency", "1");
    return stopped;
  };

  it("stops when the claim is established, and reports both intervals and when each may be read", async () => {
    const { code, stdout } = await until("better than short on sources", "--concurrency", "2", "--name", "long");
    expect(code).toBe(0);
    expect(stdout).toMatch(
      /^Until: {4}better than run_\S+ on sourcesCorrect: established after 9 of 73 questions \(5% error\)$/m,
    );
    expect(stdout).toMatch(
      / {10}difference \+[01]\.\d{3} \[-?0\.\d{3}, 1\.000\] always-valid \(2\.5% error per side\), may be read at any time\n/,
    );
    expect(stdout).toContain("fixed-n, must not be read before all planned questions are answered\n");
  });

  it("tests questions in a seeded random order, so the verdict does not depend on the concurrency", {
    tags: ["slow"],
  }, async () => {
    const settledAfter = async (...flags: string[]) => {
      const { until, totalTasks } = await ran("better than short on semantic", ...flags);
      expect(until.verdict).toBe("established");
      expect(totalTasks).toBeLessThan(73);
      return until.settledAfter;
    };
    const alone = await settledAfter("--concurrency", "1");
    expect(await settledAfter("--concurrency", "8")).toBe(alone);
    expect(await settledAfter("--concurrency", "8", "--seed", "2")).not.toBe(alone);
  });

  it("stops when the claim is refuted, with a results file as the baseline", async () => {
    const { until, settings, status } = await ran(
      `better than ${path("short.json")} by 0.9 on semantic`,
      "-o",
      "r.json",
    );
    expect(until).toMatchObject({ verdict: "refuted", metric: "semanticScore", plannedQuestions: 73 });
    expect({ settings, status }).toMatchObject({ status: "interrupted" });
    expect(readJson("r.json").settings.until).toEqual({
      relation: "better",
      by: 0.9,
      notBy: null,
      seed: 1,
      baseline: path("short.json"),
      metric: "semanticScore",
    });
  });

  it("answers all tasks if the claim stays open", async () => {
    const { until, status } = await ran("different from short on foundGold");
    expect(status).toBe("completed");
    expect(until).toMatchObject({ verdict: null, settledAfter: null, questions: 73 });
  });

  it("asks the epochs of a question together, and counts questions", async () => {
    const { until, totalTasks } = await ran("better than short on sources", "--epochs", "3", "--concurrency", "1");
    expect(until.settledAfter).toBe(9);
    expect(totalTasks).toBeLessThan(30);
  });

  it("keeps the order and continues the test when it is resumed", async () => {
    write("gold.mjs", GOLD_AGENT);
    const agent = ["run", "--agent-command", `"${process.execPath}" '${path("gold.mjs")}'`, "--dataset", QUESTIONS];
    const flags = ["-l", "0", "--concurrency", "1", "--quiet", "--until", "better than short on semantic"];
    const whole = JSON.parse((await artE([...agent, ...flags, "--json"])).stdout);
    expect(whole.until).toMatchObject({ verdict: "established", settledAfter: 9 });

    const stopped = await artE([...agent, ...flags, "--max-cost", "0.05", "--json"]);
    expect(stopped.stderr).toContain("--max-cost 0.05 is reached");
    expect(JSON.parse(stopped.stdout).until).toMatchObject({ verdict: null, questions: 5 });
    const resumed = JSON.parse((await artE("run --resume latest --max-cost 9 --json --quiet")).stdout);
    expect(resumed.until).toMatchObject({ claim: whole.until.claim, verdict: "established", settledAfter: 9 });
    expect(resumed.totalTasks).toBeLessThan(12);
  });

  it("ends immediately if a stopped run is resumed", async () => {
    const stopped = await stoppedRun();
    const resumed = JSON.parse((await artE(`run --resume ${stopped.runId} --json --quiet`)).stdout);
    expect(resumed.totalTasks).toBe(stopped.totalTasks);
    expect(resumed.until).toEqual(stopped.until);
  });

  it("appears in runs show and reports, with its effect on the intervals", async () => {
    const { runId } = await stoppedRun();
    const row = /better than \S+ on sourcesCorrect\. If this stopped the run, the intervals of its scores do not hold/;
    expect((await artE(`runs show ${runId}`)).stdout).toMatch(new RegExp(`^Until: +${row.source}$`, "m"));
    expect((await artE(`report ${runId} --format md`)).stdout).toMatch(
      new RegExp(`^\\| Until \\| ${row.source} \\|$`, "m"),
    );
    expect((await artE("report short --format md")).stdout).not.toContain("Until");
  });

  it("estimates with --dry-run the number of questions at several true gains", async () => {
    const { stdout } = await until("better than short or not by 0.2 on sources", "--dry-run", "--json");
    const stops = JSON.parse(stdout).until;
    expect(stops.map(({ effect }: { effect: number }) => effect)).toEqual([0, 0.02, 0.05, 0.1, 0.2]);
    for (const { meanQuestions } of stops) expect(meanQuestions).toBeLessThanOrEqual(73);
    expect(stops[4].established).toBeGreaterThan(stops[1].established);
    expect(stops[0].refuted).toBeGreaterThan(0.5);
  });

  it("warns in compare about fixed-n figures of a stopped run, and shows always-valid ones with --sequential", async () => {
    const { runId } = await stoppedRun();
    const plain = await artE(`compare short ${runId} --flips 0`);
    expect(plain.stderr).toContain(
      "It was run with --until, so only always-valid intervals may be read (--sequential).",
    );
    expect(plain.stdout).not.toContain("always-valid");
    const { stdout } = await artE(`compare short ${runId} --sequential --metric sources --flips 0`);
    expect(stdout).toMatch(
      /^Sources correct +(?:9|10) +\+1\.000 \[-?0\.\d{3}, 1\.000\] +\+1\.000 \[0\.\d{3}, 1\.000\] +\d+\.\d\d +(?:open|better)$/m,
    );
    expect(stdout).toContain("The always-valid interval may be read at any time.");
    write("again.json", JSON.stringify({ ...readJson("short.json"), runId: "run_again" }));
    const many = await artE(`compare short ${runId} again.json --sequential --metric sources --json`);
    const [first, second] = JSON.parse(many.stdout).comparisons;
    expect(first.metrics[0].sequential).toMatchObject({ correctedVerdict: null });
    expect(first.metrics.find(({ metric }: { metric: string }) => metric === "costUsd").sequential).toBeNull();
    expect(second.metrics[0].sequential).toMatchObject({ eValue: 1, verdict: null, correctedP: 1 });
    const { stdout: report } = await artE(`report short ${runId} --format md`);
    expect(report).toContain("so read the always-valid interval: a difference of +");
  });

  it.each([
    ["bett than short", '--until: expected "better than RUN [by N] [or not by N] [on SCORE]"'],
    ["better than short by 0.2 or not by 0.1", '"or not by 0.1" must be more than "by 0.2"'],
    ["no worse than short", '"no worse than RUN by N" requires a margin above 0'],
    ["different from short by 0.1", '"different from" has no "by"'],
    ["better than short by -1", '--until: expected a number after "by", not "-1"'],
    ["better than short by 5%", '--until: expected a number after "by", not "5%"'],
    ["better than nothing", "nothing"],
    ["better than short on goldRank", "cannot test goldRank: it is of at least 1"],
    ["better than short on nonsense", '--until: unknown score "nonsense" of run short.'],
    ["better than short by 2 on sources", "a difference of 2 is impossible: sources is from 0 to 1."],
  ])("rejects the claim %s", async (claim, message) => {
    const { code, stderr } = await until(claim);
    expect(code).toBe(2);
    expect(stderr).toContain(message);
  });

  it("rejects a baseline gate and a new claim for a resumed run", async () => {
    const gated = await until("better than short on sources", "--baseline", "short");
    expect(gated).toMatchObject({ code: 2 });
    expect(gated.stderr).toContain("--until and --baseline cannot be combined");
    const resumed = await artE(["run", "--resume", "latest", "--until", "better than short"]);
    expect(resumed.stderr).toContain("--until does not apply to a resumed run");
  });
});

describe("a queued run that stops itself", needs("redis"), () => {
  const folder = workFolder({ mail: MAIL });
  const { artE, path } = folder;
  const RUN = `run -a baseline --dataset ${QUESTIONS} -l 0 --quiet`;
  const workers = new Workers(folder, () => redis.url);
  let redis: RedisServer;

  beforeAll(async () => {
    copyFileSync(path("art-e.db"), path("mail.db"));
    expect(await artE(`${RUN} --max-turns 2 --name short`)).toMatchObject({ code: 0 });
    redis = await startRedis({});
    workers.start("a", "--concurrency 2");
  });
  afterAll(async () => {
    await workers.close();
    await redis?.close();
  });

  it("takes back the tasks that no worker has started", { tags: ["slow"] }, async () => {
    const claim = "better than short on sources";
    const { code, stdout } = await artE([...RUN.split(" "), "--until", claim, "--queue", redis.url, "--json"]);
    expect(code).toBe(0);
    const { until, totalTasks } = JSON.parse(stdout);
    expect(until).toMatchObject({ verdict: "established", settledAfter: 9 });
    expect(totalTasks).toBeLessThan(73);
  });
});
