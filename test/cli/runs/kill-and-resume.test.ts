import { setTimeout as delay } from "node:timers/promises";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { Database } from "../../../src/store/sqlite.js";
import { below, seeded } from "../../bench/random.js";
import { type FakeProvider, startFakeProvider } from "../../providers/fake-provider.js";
import type { ParsedRequest } from "../../providers/wire-request.js";
import { demoQuestions, MAIL, QUESTIONS, workFolder } from "../art-e.js";
import { resultsSchema } from "../results-schema.js";

/** Sends SIGKILL at random moments of a run with sixteen concurrent tasks, and checks the file and the bill. */

const MANY = process.env.ART_E_LONG ? 200 : 10;
const TASKS = 40;
const AT_ONCE = 16;
const { artE, path, readJson, start } = workFolder({ mail: MAIL });

interface Served {
  readonly taskId: number;
  readonly tokens: number;
}

const random = seeded(20_261_121);
/** Since the last kill. */
let served: Served[] = [];
let underWay = 0;
let mostUnderWay = 0;
let provider: FakeProvider;
beforeAll(async () => {
  provider = await startFakeProvider(answer);
});
afterAll(() => provider.close());

/** Looks something up, then answers, a little later each time. Every task and turn has its own price. */
async function answer(request: ParsedRequest) {
  const taskId = demoQuestions.find(({ question }) => question === request.question)?.id ?? Number.NaN;
  const usage = { inputTokens: 1000 * taskId + request.turn, outputTokens: 7, cachedInputTokens: 0 };
  served.push({ taskId, tokens: usage.inputTokens + usage.outputTokens });
  mostUnderWay = Math.max(mostUnderWay, ++underWay);
  // The first requests wait until N are in flight, because a busy machine sends them late.
  for (let i = 0; i < 20 && mostUnderWay < AT_ONCE / 2; i++) await delay(10);
  await delay(below(random, 15));
  underWay--;
  const call =
    request.turn === 0
      ? { name: "email_get", arguments: { message_id: "<a@b>" } }
      : { name: "return_final_answer", arguments: { answer: `answer ${taskId}`, sources: [] } };
  return { toolCalls: [call], usage };
}

const variables = () => ({ ANTHROPIC_API_KEY: "test-key", ANTHROPIC_BASE_URL: provider.url });

interface Row {
  readonly taskId: number;
  readonly traceId: string;
  readonly usage: { readonly inputTokens: number; readonly outputTokens: number };
}

/** The file's content, read like any other program would. */
function stored(): Row[] {
  const db = new Database(path("art-e.db"), { readonly: true });
  const rows = db
    .prepare("SELECT result FROM results WHERE run_id = (SELECT id FROM runs ORDER BY rowid DESC LIMIT 1)")
    .pluck()
    .all() as string[];
  const traces = db.prepare(
    "SELECT count(*) FROM traces t LEFT JOIN results r ON r.trace_id = t.id WHERE r.trace_id IS NULL",
  );
  expect(traces.pluck().get()).toBe(0);
  expect(db.pragma("integrity_check", { simple: true })).toBe("ok");
  db.close();
  return rows.map((row) => JSON.parse(row) as Row);
}

const tokensOf = (rows: readonly Row[]) =>
  rows.reduce((sum, { usage }) => sum + usage.inputTokens + usage.outputTokens, 0);
const sum = (requests: readonly Served[]) => requests.reduce((total, { tokens }) => total + tokens, 0);

/** Kills and resumes a run until it is complete. Returns how often it was killed. */
async function killedRun(mostKills: number): Promise<number> {
  let kills = 0;
  let billed = 0;
  let known = new Map<number, Row>();
  served = [];
  const RUN = `run -a email-search --dataset ${QUESTIONS} -l ${TASKS} --concurrency ${AT_ONCE} -o results.json`;
  for (let line = RUN; ; line = "run --resume latest -o results.json") {
    const { child, ended } = start(line, variables());
    const moment = kills < mostKills ? below(random, 50) + 1 : Number.POSITIVE_INFINITY;
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
    const rows = stored();
    const finished = new Map(rows.map((row) => [row.taskId, row]));
    expect(rows.length, "a task was answered twice").toBe(finished.size);
    for (const [taskId, row] of known) expect(finished.get(taskId), "a finished task was lost").toEqual(row);
    const askedAgain = served.filter(({ taskId }) => known.has(taskId));
    expect(askedAgain, "a finished task was asked again").toEqual([]);
    const lost = served.filter(({ taskId }) => !finished.has(taskId));
    // Requested tasks, and at most as many answered but unsaved ones.
    expect(new Set(lost.map(({ taskId }) => taskId)).size).toBeLessThanOrEqual(2 * AT_ONCE);
    billed += sum(served) - sum(lost);
    expect(tokensOf(rows)).toBe(billed);
    known = finished;
    served = [];
    if (code === null) {
      kills++;
      continue;
    }
    expect({ code, stderr }).toEqual({ code: 0, stderr: "" });
    expect(lost).toEqual([]);
    break;
  }
  const { taskResults, usage, ...totals } = resultsSchema.parse(readJson("results.json"));
  expect(totals).toMatchObject({ totalTasks: TASKS, completedTasks: TASKS, endings: { answered: TASKS } });
  const ids = demoQuestions.slice(0, TASKS).map(({ id }) => id);
  expect(taskResults.map(({ taskId }) => taskId)).toEqual(ids.toSorted((a, b) => a - b));
  for (const { taskId, agentAnswer, epoch } of taskResults)
    expect({ agentAnswer, epoch }).toEqual({ agentAnswer: `answer ${taskId}`, epoch: 1 });
  expect(usage.inputTokens + usage.outputTokens).toBe(billed);
  return kills;
}

async function expectNothingLost(times: number): Promise<void> {
  let kills = 0;
  while (kills < times) kills += await killedRun(times - kills);
  expect(kills).toBe(times);
  expect(mostUnderWay, "more concurrent requests than allowed").toBeLessThanOrEqual(AT_ONCE);
  expect(mostUnderWay, "too few concurrent requests to test anything").toBeGreaterThanOrEqual(AT_ONCE / 2);
  const runs = JSON.parse((await artE("stats --runs --json")).stdout);
  for (const run of runs) expect(run).toMatchObject({ status: "completed", tasks: TASKS, totalTasks: TASKS });
}

describe("a killed run loses no finished task, answers none twice, and bills all replies except those for running tasks,", () => {
  it("3 times", () => expectNothingLost(3));
  it(`${MANY} times`, { timeout: MANY * 60_000, tags: ["slow"] }, () => expectNothingLost(MANY));
});
