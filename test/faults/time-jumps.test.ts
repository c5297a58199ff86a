import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { setTimeout as delay } from "node:timers/promises";
import { afterAll, describe, expect, it } from "vitest";
import { MAIL, QUESTIONS, workFolder } from "../cli/art-e.js";
import { resultsSchema } from "../cli/results-schema.js";
import { needs } from "../machine-requirements.js";
import { startFakeProvider } from "../providers/fake-provider.js";
import { compileLibrary } from "./compile.js";

/** Runs during which the clock of the machine is set forward and back by hours. The program's own clock goes on. */

const { path, readJson, start } = workFolder({ mail: MAIL });
const libraries = mkdtempSync(join(tmpdir(), "art-e-clock-"));
const library = compileLibrary("jumping-clock", libraries);
afterAll(() => rmSync(libraries, { recursive: true, force: true }));

const TASKS = 12;
const HOURS = 6 * 3_600;

describe("a run whose clock jumps by hours", needs("compiler", library !== null), () => {
  it.each([
    ["forward and back", [HOURS, -HOURS, 0]],
    ["back and forward", [-HOURS, HOURS, 0]],
  ])("neither times out nor waits if the clock jumps %s", async (name, offsets) => {
    const output = `${name.replaceAll(" ", "-")}.json`;
    const file = path(`${output}.clock`);
    writeFileSync(file, BigInt64Array.of(0n));
    // In place: the program has mapped the file, and a truncated one would end it with SIGBUS.
    const setClock = (seconds: number) => writeFileSync(file, BigInt64Array.of(BigInt(seconds)), { flag: "r+" });
    let calls = 0;
    const provider = await startFakeProvider(async () => {
      calls++;
      // A rate limit, for which the program waits, and a server error.
      if (calls === 3) return { fail: "status", status: 429, headers: { "retry-after": "1" } };
      if (calls === 6) return { fail: "status", status: 500 };
      await delay(150);
      return { content: "No mail says so." };
    });
    const began = performance.now();
    const flags = `--rpm 240 --task-timeout 60 --request-timeout 30 --max-time 5 --concurrency 2 --judge off`;
    const run = start(
      `run -a email-search --model-id openai/m --base-url ${provider.baseUrl("openai-chat")} --dataset ${QUESTIONS} -l ${TASKS} ${flags} -o ${output} --no-progress`,
      { OPENAI_API_KEY: "test", LD_PRELOAD: library ?? "", CLOCK_OFFSET: file },
    );
    for (let i = 0; i < offsets.length; i++) {
      while (calls < 3 * (i + 1) && run.child.exitCode === null) await delay(10);
      setClock(offsets[i] ?? 0);
    }
    const { code, stderr } = await run.ended;
    await provider.close();
    expect({ code, stderr: stderr.match(/time|stopped/g) }).toEqual({ code: 0, stderr: null });
    const elapsedMs = performance.now() - began;
    const results = resultsSchema.parse(readJson(output));
    expect(results).toMatchObject({ completedTasks: TASKS, failedTasks: 0 });
    const { taskResults, totalTimeMs } = results;
    for (const ms of [totalTimeMs, ...taskResults.map(({ executionTimeMs }) => executionTimeMs)]) {
      expect(ms).toBeGreaterThan(0);
      expect(ms).toBeLessThan(elapsedMs);
    }
  });
});
