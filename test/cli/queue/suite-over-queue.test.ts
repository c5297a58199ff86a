import { cpSync, readdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { needs } from "../../machine-requirements.js";
import type { FakeProvider } from "../../providers/fake-provider.js";
import { type RedisServer, startRedis } from "../../queue/redis-server.js";
import { machinesStart } from "../../suites/machines-start.js";
import { ROOT, type Started, workFolder } from "../art-e.js";
import { providerVariables, shell, startScriptedAgent } from "../suites/scripted-agent.js";

/** Tasks of a suite over a queue: done in machines of the worker, and graded by its own copy of the suite. */

const SUITE = join(ROOT, "fixtures/suites/demo");
const [KILNS, LAMPS] = ["142a807f", "8cb2db91"];
const { artE, path, readJson, start } = workFolder();

describe("a suite over a queue", needs("redis"), () => {
  describe("with machines", needs("sandbox", machinesStart), () => {
    let redis: RedisServer;
    let provider: FakeProvider;
    const workers: Started[] = [];
    const variables = () => ({ ...providerVariables(provider), ART_E_QUEUE_URL: redis.url });

    beforeAll(async () => {
      redis = await startRedis();
      provider = await startScriptedAgent((instruction) =>
        instruction.includes("kiln") ? [shell("grep 'kiln 3' ~/Desktop/kilns.log > ~/Desktop/kiln3.txt")] : [],
      );
    });
    afterAll(async () => {
      for (const { child, ended } of workers) {
        child.kill("SIGTERM");
        await ended;
      }
      await redis?.close();
      await provider?.close();
    });

    function startWorker(name: string, flags: string): { said(): string } {
      const worker = start(`worker --db ${name}.db --name ${name} --concurrency 2 ${flags}`, variables());
      workers.push(worker);
      let text = "";
      worker.child.stderr?.on("data", (more: string) => {
        text += more;
      });
      return { said: () => text };
    }

    it("has the grades of a run in one process, from a worker without mail; other folders are refused", async () => {
      cpSync(SUITE, path("same/demo"), { recursive: true });
      cpSync(SUITE, path("other/demo"), { recursive: true });
      const folder = path("other/demo/examples/terminal");
      const [id = ""] = readdirSync(folder);
      const file = join(folder, id, `${id}.json`);
      writeFileSync(file, readFileSync(file, "utf8").replace(/"instruction": "/, '"instruction": "Please: '));

      const line = `run --suite ${SUITE} --task ${KILNS},${LAMPS} -a data-worker --quiet`;
      expect(await artE(`${line} -o here.json`, providerVariables(provider))).toMatchObject({ code: 0, stderr: "" });
      const asked = provider.requests.length;
      const run = start(`${line} -o over.json`, variables());
      const other = startWorker("other", `--suite ${path("other/demo")}`);
      await expect
        .poll(other.said, { timeout: 60_000 })
        .toContain("the task files of its suite demo are not those that are here");
      expect(provider.requests.length).toBe(asked);
      const same = startWorker("same", `--suite ${path("same/demo")}`);
      expect(await run.ended).toMatchObject({ code: 0, stderr: "" });
      expect(same.said()).toContain("same answers run");
      const grades = (name: string) =>
        readJson(name).taskResults.map(({ taskId, suite, scores, ending }: Record<string, unknown>) => ({
          taskId,
          suite,
          scores,
          ending,
        }));
      expect(grades("over.json")).toEqual(grades("here.json"));
      expect(grades("over.json").map(({ scores }: { scores: object }) => scores)).toEqual([
        { taskScore: 1, taskSolved: 1 },
        { taskScore: 0, taskSolved: 0 },
      ]);
      await expect.poll(() => redis.client.keys("art-e:{*")).toEqual([]);
    });
  });
});
