import { copyFileSync } from "node:fs";
import { beforeAll, describe, expect, it } from "vitest";
import { needs, slow } from "../../machine-requirements.js";
import { type RedisServer, startRedis } from "../../queue/redis-server.js";
import { jsonLines, MAIL, QUESTIONS, workFolder } from "../art-e.js";
import { Workers } from "../queue/queue-setup.js";

/** The offline baseline answers the same in every epoch. */

const folder = workFolder({ mail: MAIL });
const { artE, path, read } = folder;
const RUN = `run --dataset ${QUESTIONS} -l 20 --quiet`;

const done = async (line: string) => {
  const ended = await artE(line);
  expect({ line, code: ended.code, stderr: ended.stderr }).toMatchObject({ line, code: 0 });
  return ended.stdout;
};

beforeAll(async () => {
  copyFileSync(path("art-e.db"), path("mail.db"));
  await done(`${RUN} -a baseline --epochs 2 --name plain`);
  await done("run --repeat plain --perturb shuffled --name mixed --quiet");
  await done("run --repeat mixed --perturb reworded --name words --quiet");
  await done(`${RUN} -a art-e --model-id offline/baseline --perturb shuffled --name other-agent`);
});

describe("art-e reliability", () => {
  it("finds the perturbed repeats of a run, and reports 1 for each consistency property of a deterministic agent", async () => {
    const card = JSON.parse(await done("reliability plain --json"));
    expect(card.perturbedRuns.map(({ perturbation }: { perturbation: string }) => perturbation).sort()).toEqual([
      "reworded",
      "shuffled",
    ]);
    const consistency = card.rows.filter(({ dimension }: { dimension: string }) => dimension === "consistency");
    const names = consistency.map(({ name }: { name: string }) => name);
    expect(names).toEqual(["overall", "outcome", "agreement", "all 2 right", "tools", "tool order", "resources"]);
    for (const { name, estimate, source } of consistency) {
      expect(source).toMatch(/\d{4}/);
      if (name !== "all 2 right") expect({ name, ...estimate }).toMatchObject({ name, value: 1, n: 20, high: 1 });
    }
    const shuffled = card.rows.find(({ name }: { name: string }) => name === "shuffled").estimate;
    expect(shuffled.value).toBeLessThan(1);
    expect(shuffled.low).toBeLessThan(shuffled.value);
    expect(shuffled.high).toBeGreaterThan(shuffled.value);
  });

  it.each([
    [
      "reliability mixed",
      /Run run_\S+ is perturbed \(shuffled\)\.\n +Pass the plain run first: art-e reliability run_/,
    ],
    ["reliability plain other-agent", /differs from run_\S+ in agentId; prompt; toolsDigest/],
  ])("rejects %s", async (line, message) => {
    const { code, stderr } = await artE(line);
    expect({ line, code, stderr }).toEqual({ line, code: 2, stderr: expect.stringMatching(message) });
  });
});

describe("a perturbed run", () => {
  it("shows its perturbation in the list of runs, in its details, and next to the published figures", async () => {
    const runs: { name: string; perturbation: string | null }[] = JSON.parse(await done("runs list --json"));
    expect(runs.map(({ name, perturbation }) => [name, perturbation])).toEqual([
      ["other-agent", "shuffled"],
      ["words", "reworded"],
      ["mixed", "shuffled"],
      ["plain", null],
    ]);
    expect(await done("runs list")).toMatch(/ mixed +baseline \(shuffled\) /);
    expect(await done("runs show mixed")).toMatch(/^Perturbed: +shuffled$/m);
    expect(await done("runs show plain")).not.toContain("Perturbed:");
    expect(await done("compare mixed --published")).toContain("--perturb shuffled, not the default");
  });

  it("appears with the plain run's reliability in a Markdown report", async () => {
    await done("report plain words --format md -o both.md");
    const text = read("both.md");
    expect(text).toMatch(/^### Reliability of run_\S+: sourcesCorrect, 20 questions, 40 tasks$/m);
    expect(text).toMatch(/^\| consistency: outcome \| 1\.000 \(0\.\d{3} to 1\.000; n 20\) \|$/m);
    expect(text).toMatch(/^\| robustness: reworded \| \d\.\d{3} \(/m);
    expect(text).toContain("Rabanser et al. 2026, arXiv 2602.16666");
    await done("report mixed --format md -o one.md");
    expect(read("one.md")).not.toContain("Reliability");
  });

  it("gives the same answers with a queue as without one", slow(needs("redis")), async () => {
    const redis: RedisServer = await startRedis({});
    const workers = new Workers(folder, () => redis.url);
    try {
      workers.start("a", "--concurrency 2");
      workers.start("b", "--concurrency 2");
      const line = `${RUN} -a baseline --epochs 2 --perturb shuffled --name queued --queue ${redis.url}`;
      await done(line);
    } finally {
      await workers.close();
      await redis.close();
    }
    const calls = async (run: string) => {
      await done(`export-traces --run ${run} -o ${run}.jsonl --quiet`);
      const results = jsonLines(read(`${run}.jsonl`)).map(({ taskId, epoch, answer, toolCalls }) => {
        return [taskId, epoch, answer, toolCalls.map(({ result }: { result: unknown }) => result)];
      });
      return results.sort(([a, b], [c, d]) => a - c || b - d);
    };
    expect(await calls("queued")).toEqual(await calls("mixed"));
  });
});
