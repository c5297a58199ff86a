import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import type { TaskResult } from "../../../src/traces/task-result.js";
import { ENRON, needs } from "../../machine-requirements.js";
import { MAIL, QUESTIONS, type Started, workFolder } from "../art-e.js";

/**
 * What an answer is worth: all of a result but what another run and another clock change, and its cost, which a
 * server does not tell.
 */
function worth({
  executionTimeMs: _,
  modelTimeMs: _m,
  toolTimeMs: _t,
  waitingTimeMs: _w,
  traceId: __,
  costUsd: ___,
  spent: ____,
  ...result
}: TaskResult) {
  return result;
}

describe.each([
  ["the demo", MAIL, QUESTIONS, 73, {}],
  ["real Enron mail", join(ENRON, "emails.csv"), join(ENRON, "questions.jsonl"), 60, needs("real-mail")],
])("agents of art-e serve, over %s", (_name, mail, questions, tasks, options) => {
  describe("asked by art-e run", options, () => {
    const { artE, start, readJson, path } = workFolder({ mail });
    let server: Started;
    let url = "";

    beforeAll(async () => {
      server = start("serve --port 0 --json --quiet");
      url = await new Promise<string>((resolve, reject) => {
        let said = "";
        server.child.stdout?.on("data", (text: string) => {
          said += text;
          const [, found] = /"url": "([^"]+)"/.exec(said) ?? [];
          if (found !== undefined) resolve(found);
        });
        void server.ended.then(({ stderr }) => reject(new Error(stderr)));
      });
    }, 60_000);

    afterAll(async () => {
      server.child.kill("SIGTERM");
      expect((await server.ended).code).toBe(0);
    });

    const run = async (file: string, ...where: string[]) => {
      const line = ["run", "-a", "baseline", "--dataset", questions, "-l", "0", "--quiet", "-o", path(file), ...where];
      const { code, stderr } = await artE(line);
      expect([code, stderr]).toEqual([0, ""]);
      return readJson(file);
    };

    it("gives the same answers, scores and endings by --api-url as in this program", async () => {
      const here = await run("here.json");
      const there = await run("there.json", "--api-url", url);
      expect(there.taskResults).toHaveLength(tasks);
      expect(there.taskResults.map(worth)).toEqual(here.taskResults.map(worth));
      expect(there.endings).toEqual(here.endings);
    });

    it("gives the same answers by --agent-url, where no tool call can be seen", async () => {
      const here = await run("here.json");
      const there = await run("endpoint.json", "--agent-url", `${url}/v1`);
      const answers = (results: { taskResults: TaskResult[] }) =>
        results.taskResults.map(({ taskId, ending, agentAnswer }) => [taskId, ending, agentAnswer]);
      expect(answers(there)).toEqual(answers(here));
    });
  });
});
