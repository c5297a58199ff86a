import { copyFileSync } from "node:fs";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { ENRON, needs } from "../../machine-requirements.js";
import { type FakeProvider, startFakeProvider } from "../../providers/fake-provider.js";
import { type RedisServer, startRedis } from "../../queue/redis-server.js";
import { jsonLines, workFolder } from "../art-e.js";
import { comparable, Workers } from "./queue-setup.js";

/** The real questions, over real mail, by two workers: what comes of them is what comes of one process. */

const folder = workFolder();
const { artE, path, read, readJson } = folder;
const TASKS = 60;

describe("the real questions over a queue", needs("redis"), () => {
  describe("with real mail", needs("real-mail"), () => {
    let redis: RedisServer;
    let provider: FakeProvider;
    const workers = new Workers(folder, () => redis.url);

    beforeAll(async () => {
      expect(await artE(`import ${join(ENRON, "maildir.tar.gz")} --db mail.db --quiet`)).toMatchObject({ code: 0 });
      copyFileSync(path("mail.db"), path("art-e.db"));
      redis = await startRedis();
      // A model that searches, reads the first mail found, and quotes it.
      provider = await startFakeProvider(({ turn, question, results }) => {
        if (turn === 0) return { toolCalls: [{ name: "email_search", arguments: { query: question } }] };
        const found = /<[^<>"\\]+>/.exec(results[0]?.content ?? "")?.[0];
        if (turn === 1 && found !== undefined) {
          return { toolCalls: [{ name: "email_get", arguments: { message_id: found } }] };
        }
        const answer = (results[0]?.content ?? "nothing").slice(0, 400);
        return { toolCalls: [{ name: "return_final_answer", arguments: { answer, sources: found ? [found] : [] } }] };
      });
      for (const name of ["a", "b"]) workers.start(name, "--concurrency 4", variables());
    });
    afterAll(async () => {
      await workers.close();
      await redis?.close();
      await provider?.close();
    });

    const variables = () => ({ ANTHROPIC_API_KEY: "k", ANTHROPIC_BASE_URL: provider.url });
    const traces = async (name: string) => {
      expect(await artE(`export-traces --run latest -o ${name}`)).toMatchObject({ code: 0 });
      return jsonLines(read(name));
    };

    it("have the same answers, sources and scores", async () => {
      const line = `run -a email-search --dataset ${join(ENRON, "questions.jsonl")} -l 0 --no-judge --quiet`;
      const model = "--model-id anthropic/claude-sonnet-4-5";
      expect(await artE(`${line} ${model} -o here.json`, variables())).toMatchObject({ code: 0 });
      const here = await traces("here.jsonl");
      const over = { ...variables(), ART_E_QUEUE_URL: redis.url };
      expect(await artE(`${line} ${model} -o over.json`, over)).toMatchObject({ code: 0 });
      const there = await traces("there.jsonl");
      expect(there).toHaveLength(TASKS);
      expect(there.map(withoutIds)).toEqual(here.map(withoutIds));
      const { scores, usage, costUsd } = readJson("here.json");
      expect(readJson("over.json")).toMatchObject({ totalTasks: TASKS, completedTasks: TASKS, scores, usage });
      expect(readJson("over.json").costUsd).toBeCloseTo(costUsd, 9);
      expect(Object.keys(scores).length).toBeGreaterThan(5);
      expect(workers.named("a").said() + workers.named("b").said()).toContain("answers run");
    });
  });
});

/** The server counts its replies and calls through all runs. */
// biome-ignore lint/suspicious/noExplicitAny: lines of exported traces.
function withoutIds(trace: any) {
  return JSON.parse(JSON.stringify(comparable(trace)).replace(/"(call|msg|toolu)_[\w-]+"/g, '"an id"'));
}
