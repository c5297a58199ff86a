import { setTimeout as delay } from "node:timers/promises";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { Database } from "../../../src/store/sqlite.js";
import { type FakeProvider, startFakeProvider } from "../../providers/fake-provider.js";
import type { ParsedRequest } from "../../providers/wire-request.js";
import { below, seeded } from "../../random.js";
import { demoQuestions, MAIL, QUESTIONS, workFolder } from "../art-e.js";
import { resultsSchema } from "../results-schema.js";

/**
 * Sends SIGKILL at random moments of a run with 32 concurrent tasks of four calls, and checks the file and the bill.
 */

const MANY = process.env.ART_E_LONG ? 200 : 10;
const TASKS = 73;
const CALLS = 4;
const CONCURRENCY = 32;
const { artE, path, readJson, start } = workFolder({ mail: MAIL });

const questions = demoQuestions.slice(0, TASKS);

/** One model call of a task, such as `12/0`. */
type CallKey = `${number}/${number}`;

const random = seeded(20_261_121);
/** Calls since the last kill. */
let served: CallKey[] = [];
let underWay = 0;
let mostUnderWay = 0;
let provider: FakeProvider;
beforeAll(async () => {
  provider = await startFakeProvider(answer);
});
afterAll(() => provider.close());

/** Looks something up three times, then answers, after a random delay. Every task and turn has its own price. */
async function answer(request: ParsedRequest) {
  const task = questions.find(({ question }) => question === request.question);
  const taskId = task?.id ?? Number.NaN;
  served.push(`${taskId}/${request.turn}`);
  mostUnderWay = Math.max(mostUnderWay, ++underWay);
  // The first requests wait until N are in flight, because a busy machine sends them late.
  for (let i = 0; i < 20 && mostUnderWay < CONCURRENCY / 2; i++) await delay(10);
  await delay(below(random, 15));
  underWay--;
  const call =
    request.turn < CALLS - 1
      ? { name: "email_search", arguments: { query: `word${request.turn}`, inbox_id: task?.inbox_address ?? "" } }
      : { name: "return_final_answer", arguments: { answer: `answer ${taskId}`, sources: [] } };
  return { toolCalls: [call], usage: usageOf(taskId, request.turn) };
}

function usageOf(taskId: number, turn: number) {
  return { inputTokens: 1000 * taskId + turn, outputTokens: 7, cachedInputTokens: 0 };
}

const allCalls = questions.flatMap(({ id }) => Array.from({ length: CALLS }, (_, turn): CallKey => `${id}/${turn}`));

const variables = () => ({ ANTHROPIC_API_KEY: "test-key", ANTHROPIC_BASE_URL: provider.url });

/** Returns the calls whose replies are in the file, which is read like any other program would. */
function stored() {
  const db = new Database(path("art-e.db"), { readonly: true });
  const newest = "run_id = (SELECT id FROM runs ORDER BY rowid DESC LIMIT 1)";
  const finished = db.prepare(`SELECT task_id FROM results WHERE ${newest}`).pluck().all() as number[];
  const unfinished = db.prepare(`SELECT task_id AS id, position FROM reply_journal WHERE ${newest}`).all() as {
    id: number;
    position: number;
  }[];
  const traces = db.prepare(
    "SELECT count(*) FROM traces t LEFT JOIN results r ON r.trace_id = t.id WHERE r.trace_id IS NULL",
  );
  expect(traces.pluck().get()).toBe(0);
  expect(db.pragma("integrity_check", { simple: true })).toBe("ok");
  db.close();
  expect(new Set(finished).size, "a task was answered twice").toBe(finished.length);
  expect(unfinished.filter(({ id }) => finished.includes(id))).toEqual([]);
  const calls = [
    ...finished.flatMap((id) => allCalls.filter((call) => call.startsWith(`${id}/`))),
    ...unfinished.map(({ id, position }): CallKey => `${id}/${position}`),
  ];
  return new Set(calls);
}

/** Kills and resumes a run until it is complete. Returns how often it was killed. */
async function killedRun(mostKills: number): Promise<number> {
  let kills = 0;
  let known = new Set<CallKey>();
  let total = 0;
  served = [];
  const RUN = `run -a email-search --dataset ${QUESTIONS} -l ${TASKS} --concurrency ${CONCURRENCY} -o results.json --no-progress`;
  for (let line = RUN; ; line = "run --resume latest -o results.json --no-progress") {
    const { child, ended } = start(line, variables());
    const moment = kills < mostKills ? below(random, 150) + 1 : Number.POSITIVE_INFINITY;
    const wait = below(random, 15);
    let over = false;
    void ended.then(() => {
      over = true;
    });
    if (Number.isFinite(moment)) {
      while (!over && served.length < moment) await delay(1);
      await delay(wait);
      child.kill("SIGKILL");
    }
    const { code, stderr } = await ended;
    // Requests of the killed program may still arrive.
    await provider.idle();
    expect(
      served.filter((call) => known.has(call)),
      "a stored reply was bought again",
    ).toEqual([]);
    const before = known;
    known = stored();
    for (const call of before) expect(known, "a stored reply was lost").toContain(call);
    const lost = served.filter((call) => !known.has(call));
    expect(lost.length, "more calls were lost than were in flight").toBeLessThanOrEqual(CONCURRENCY);
    total += served.length;
    served = [];
    if (code === null) {
      kills++;
      continue;
    }
    expect({ code, stderr: stderr.replace(/^art-e: \d+ unfinished tasks? will continue with .*\n/, "") }).toEqual({
      code: 0,
      stderr: "",
    });
    expect(lost).toEqual([]);
    break;
  }
  expect(total).toBeLessThanOrEqual(TASKS * CALLS + kills * CONCURRENCY);
  const { taskResults, usage, ...totals } = resultsSchema.parse(readJson("results.json"));
  expect(totals).toMatchObject({ totalTasks: TASKS, completedTasks: TASKS, endings: { answered: TASKS } });
  expect(taskResults.map(({ taskId }) => taskId)).toEqual(questions.map(({ id }) => id).toSorted((a, b) => a - b));
  for (const { taskId, agentAnswer, epoch, turns } of taskResults)
    expect({ agentAnswer, epoch, turns }).toEqual({ agentAnswer: `answer ${taskId}`, epoch: 1, turns: CALLS });
  const ideal = questions.flatMap(({ id }) => Array.from({ length: CALLS }, (_, turn) => usageOf(id, turn)));
  expect(usage.inputTokens).toBe(ideal.reduce((sum, { inputTokens }) => sum + inputTokens, 0));
  return kills;
}

async function expectNothingLost(times: number): Promise<void> {
  let kills = 0;
  while (kills < times) kills += await killedRun(times - kills);
  expect(kills).toBe(times);
  expect(mostUnderWay, "more concurrent requests than allowed").toBeLessThanOrEqual(CONCURRENCY);
  expect(mostUnderWay, "too few concurrent requests to test anything").toBeGreaterThanOrEqual(CONCURRENCY / 2);
  const runs = JSON.parse((await artE("stats --runs --json")).stdout);
  for (const run of runs) expect(run).toMatchObject({ status: "completed", tasks: TASKS, totalTasks: TASKS });
}

describe("a run and its stored replies", () => {
  it("lose no finished task, and buy no reply again, after one kill", () => expectNothingLost(1));
  it(
    `lose no finished task, and buy no reply again, after ${MANY} kills`,
    { timeout: MANY * 60_000, tags: ["slow"] },
    () => expectNothingLost(MANY),
  );
});
