import { describe, expect, it } from "vitest";
import type { TaskResult } from "../../../src/traces/task-result.js";
import { connect } from "../../server/training-server.js";
import { addressOf, jsonLines, MAIL, QUESTIONS, type Started, workFolder } from "../art-e.js";

const { artE, start, readJson } = workFolder({ mail: MAIL });

async function serve(line: string): Promise<{ url: string; started: Started }> {
  const started = start(`env serve --port 0 --dataset ${QUESTIONS} ${line}`);
  return { url: await addressOf(started), started };
}

describe("art-e env serve", () => {
  it("loses or duplicates no acknowledged trace if killed in the middle", async () => {
    const acknowledged: string[] = [];
    for (let kill = 0; kill < 2; kill++) {
      const { url, started } = await serve("--name killed");
      const before = acknowledged.length;
      const playing = Array.from({ length: 8 }, async (_, i) => {
        const client = await connect(url);
        for (let seed = i; ; seed += 8) {
          await client.reset({ seed });
          const { metadata } = await client.call("return_final_answer", { answer: "x", sources: [] });
          acknowledged.push(metadata.trace_id);
        }
      });
      const ended = Promise.allSettled(playing);
      await expect.poll(() => acknowledged.length - before).toBeGreaterThan(30);
      started.child.kill("SIGKILL");
      await Promise.all([ended, started.ended]);
    }
    const { stdout } = await artE("export-traces --run killed");
    const ids = jsonLines(stdout).map(({ traceId }) => traceId);
    expect(new Set(ids).size).toBe(ids.length);
    expect(new Set(ids)).toEqual(new Set([...ids, ...acknowledged]));
    expect((await artE("runs list")).stdout).toMatch(new RegExp(`killed .*interrupted +${ids.length}/${ids.length}`));
  });

  it("creates a run that the other commands accept", async () => {
    const { url, started } = await serve("--name played --reward exactMatch");
    const client = await connect(url);
    for (let index = 0; index < 3; index++) {
      await client.reset({ index });
      await client.call("return_final_answer", { answer: "x", sources: [] });
    }
    await client.reset({ index: 3 });
    client.close();
    started.child.kill("SIGINT");
    const { code, stderr } = await started.ended;
    expect(code).toBe(0);
    expect(stderr.match(/^art-e: .*train split.*$/gm)).toEqual([
      `art-e: Cannot use the train split of ${QUESTIONS}: all 73 questions belong to the test split. They are served as test questions.`,
    ]);
    expect((await artE("runs show played")).stdout).toMatch(/Reward:\s+0\.000 n=3/);
    expect((await artE("report played -o report.html --quiet")).code).toBe(0);
    expect((await artE("compare played killed")).stdout).toContain("Reward");
    expect((await artE("score --run played -o scored.json --quiet")).code).toBe(0);
    const results: TaskResult[] = readJson("scored.json").taskResults;
    expect(results.map(({ ending, scores }) => [ending, scores.reward])).toEqual([
      ["answered", 0],
      ["answered", 0],
      ["answered", 0],
      ["interrupted", undefined],
    ]);
    const resumed = await artE("run --resume played");
    expect([resumed.code, resumed.stderr]).toEqual([2, expect.stringContaining("it is a training run")]);
  });

  it("rejects invalid arguments in one line", async () => {
    for (const [flags, message] of [
      ["--reward art", "--reward art requires a judge"],
      ["--reward nonsense", "--reward: expected art or"],
      ["--agent nobody", 'Unknown agent "nobody"'],
      ["--host 0.0.0.0", "other machines can reach the server, but no token is set"],
      ["--split train", "all 73 questions belong to the test split."],
    ] as const) {
      const { code, stderr } = await artE(`env serve --port 0 --dataset ${QUESTIONS} ${flags}`);
      expect([code, stderr]).toEqual([2, expect.stringContaining(message)]);
    }
  });
});
