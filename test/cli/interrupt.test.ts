import { readdirSync } from "node:fs";
import { hostname } from "node:os";
import { setTimeout as delay } from "node:timers/promises";
import { afterEach, expect, it } from "vitest";
import { type FakeProvider, startFakeProvider } from "../providers/fake-provider.js";
import { boxLines, demoQuestions, interrupt, interruptTwice, MAIL, QUESTIONS, workFolder } from "./art-e.js";
import { resultsSchema } from "./results-schema.js";

const { artE, path, readJson, start } = workFolder({ mail: MAIL });
let provider: FakeProvider;
afterEach(() => provider.close());

const ANSWERED = demoQuestions.slice(0, 2);

/** Answers two questions, and lets all others wait. */
const stalling = () =>
  startFakeProvider((request) => {
    const known = ANSWERED.find(({ question }) => question === request.question);
    return known === undefined ? { fail: "silence" } : { content: known.answer };
  });

const RUN = `run -a email-search --dataset ${QUESTIONS} --concurrency 1`;
const variables = () => ({ ANTHROPIC_API_KEY: "test-key", ANTHROPIC_BASE_URL: provider.url });

it("Ctrl-C pressed twice stops a run immediately with exit code 130, keeps the finished tasks and says so", async () => {
  provider = await stalling();
  const { child, ended } = start(`${RUN} -l 6 -o partial.json`, variables());
  await provider.received(3);
  await interruptTwice(child);
  const { code, stdout, stderr } = await ended;
  expect(code).toBe(130);

  const { taskResults, ...totals } = resultsSchema.parse(readJson("partial.json"));
  expect(taskResults.map((task) => task.taskId)).toEqual(ANSWERED.map((question) => question.id));
  expect(totals).toMatchObject({ totalTasks: 2, completedTasks: 2, failedTasks: 0, exactMatchAccuracy: 1 });
  expect(boxLines(stdout).Run).toBe(totals.runId);
  // A busy machine also prints how far the run is.
  expect(stderr.split("\n").filter((line) => line !== "" && !line.startsWith("Answering "))).toEqual([
    "Stopping: 1 task in flight will be finished. Press Ctrl-C again to stop immediately.",
    `art-e: run ${totals.runId} stopped: 2 of 6 tasks are saved. Continue: art-e run --resume ${totals.runId}`,
  ]);
  expect(readdirSync(path("")).filter((name) => name.endsWith(".tmp"))).toEqual([]);

  const runs = JSON.parse((await artE("stats --runs --json")).stdout);
  expect(runs).toMatchObject([{ id: totals.runId, status: "interrupted", tasks: 2, totalTasks: 6 }]);
});

async function expectRunningTasksFinish(signal: NodeJS.Signals): Promise<void> {
  let release = () => {};
  const released = new Promise<void>((resolve) => {
    release = resolve;
  });
  provider = await startFakeProvider(async (request) => {
    await released;
    return request.turn === 0
      ? { toolCalls: [{ name: "email_get", arguments: { message_id: "<a@b>" } }] }
      : { content: "an answer" };
  });
  const line = `run -a email-search --dataset ${QUESTIONS} --concurrency 3 -l 9 --json`;
  const { child, ended } = start(line, variables());
  await provider.received(3);
  expect(await interrupt(child, signal)).toContain(
    "Stopping: 3 tasks in flight will be finished. Press Ctrl-C again to stop immediately.",
  );
  release();
  const { code, stdout, stderr } = await ended;
  expect(code).toBe(130);
  const { runId, ...totals } = JSON.parse(stdout);
  expect(totals).toMatchObject({ totalTasks: 3, endings: { answered: 3 } });
  expect(stderr).toContain(`3 of 9 tasks are saved. Continue: art-e run --resume ${runId}`);
  expect(provider.requests).toHaveLength(6);
}

const FINISHES = "lets running tasks finish and starts no others if sent once";
it(`SIGINT ${FINISHES}`, () => expectRunningTasksFinish("SIGINT"));
it(`SIGHUP ${FINISHES}`, { tags: ["slow"] }, () => expectRunningTasksFinish("SIGHUP"));

it("runs list shows a run whose process was killed as interrupted, and a live one as running", async () => {
  provider = await stalling();
  const { child, ended } = start(`${RUN} -l 6 --json`, variables());
  await provider.received(3);
  const first = async () => JSON.parse((await artE("stats --runs --json")).stdout)[0];
  const { id, status } = await first();
  expect(status).toBe("running");
  expect((await artE(`run --resume ${id}`, variables())).stderr).toContain(
    `is already running in process ${hostname()}:`,
  );
  child.kill("SIGKILL");
  await ended;
  expect(await first()).toMatchObject({ id, status: "interrupted", tasks: 2 });
  expect(JSON.parse((await artE(`stats --run ${id} --json`)).stdout).status).toBe("interrupted");
  const gate = await artE(`gate ${id} --fail-under found=0`);
  expect(gate).toMatchObject({ code: 2, stderr: expect.stringContaining("is not finished") });
});

it("SIGTERM sent twice ends a run immediately, even while the server makes it wait half a minute, with one JSON document", async () => {
  const [third] = demoQuestions.slice(ANSWERED.length);
  provider = await startFakeProvider(async (request) => {
    const known = ANSWERED.find(({ question }) => question === request.question);
    if (known !== undefined) return { content: known.answer };
    // The fourth request was sent before it would have to wait.
    await provider.received(4);
    if (request.question === third?.question) return { fail: "status", status: 429, headers: { "retry-after": "30" } };
    await delay(200);
    return { toolCalls: [{ name: "email_get", arguments: { message_id: "<a@b>" } }] };
  });
  const line = `run -a email-search --dataset ${QUESTIONS} -l 4 --concurrency 2 --json`;
  const { child, ended } = start(line, variables());
  await provider.received(4);
  await delay(600);
  await interruptTwice(child, "SIGTERM");
  const { code, stdout } = await ended;
  expect(code).toBe(130);
  expect(JSON.parse(stdout)).toMatchObject({ totalTasks: 2, endings: { answered: 2 } });
  // A waiting task would have sent its request again.
  expect(provider.requests).toHaveLength(4);
});
