import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { copyFileSync } from "node:fs";
import { join } from "node:path";
import { setTimeout as delay } from "node:timers/promises";
import { startModelServer, writeQuestions } from "../bench/harness.js";
import { Database } from "../src/store/sqlite.js";
import { type RedisServer, startRedis } from "../test/queue/redis-server.js";
import { below, seeded } from "../test/random.js";

/** A run over a queue while workers, the coordinator and Redis are repeatedly killed at random (SIGKILL). */

const WORKERS = 3;
const SLOTS = 16;
const PRICE = { input: 1, output: 2 };

export interface QueueSoakFigures {
  readonly tasks: number;
  readonly seconds: number;
  readonly kills: Readonly<Record<Part, number>>;
  /** Running tasks of workers when they, or Redis, were killed. */
  readonly underWay: number;
  /** How often a task was started again. At most the number of running ones. */
  readonly askedAgain: number;
  /** Tasks whose worker was killed three times, repeated at the end with --retry-failed. */
  readonly gaveUp: number;
  readonly results: number;
  /** Calls that the server requested: in the traces, and in killed attempts. */
  readonly calls: { readonly server: number; readonly traces: number; readonly killed: number };
  /** In US dollars: the run's own total, and the cost of its traces' calls at the server. */
  readonly bill: { readonly run: number; readonly server: number };
  /** Keys that remain in Redis, except for workers' keys. */
  readonly leftInRedis: number;
}

type Part = "worker" | "coordinator" | "redis";

/** Throws if a task has zero or two results, or if the cost differs from the server's. */
export async function queueSoak(
  bin: string,
  corpus: string,
  folder: string,
  { tasks, kills, seed }: { tasks: number; kills: number; seed: number },
): Promise<QueueSoakFigures> {
  const db = join(folder, "queue.db");
  copyFileSync(corpus, db);
  const questions = writeQuestions(db, join(folder, "queue.jsonl"), tasks);
  const server = await startModelServer("--latency", "200");
  const redis = await startRedis({ isDurable: true });
  const killed: Record<Part, number> = { worker: 0, coordinator: 0, redis: 0 };
  const env = {
    ...process.env,
    ART_E_QUEUE_URL: redis.url,
    OPENAI_API_KEY: "soak",
    OPENAI_BASE_URL: `${server.url}/v1`,
  };
  const program = (...args: string[]) =>
    spawn(process.execPath, [bin, ...args], { cwd: folder, env, stdio: ["ignore", "ignore", "pipe"] });
  const worker = (i: number) => {
    const own = join(folder, `worker-${i}.db`);
    copyFileSync(corpus, own);
    const child = program("worker", "--db", own, "--name", `w${i}`, "--concurrency", `${SLOTS}`, "--lock", "5");
    child.stderr.resume();
    return child;
  };
  const workers = Array.from({ length: WORKERS }, (_, i) => worker(i));
  const started = performance.now();
  try {
    const price = `${PRICE.input},${PRICE.output}`;
    const first = ["run", "-a", "email-search", "--db", db, "--dataset", questions, "-l", "0", "--quiet", "--no-judge"];
    const flags = ["--model-id", "openai/bench", "--wire-api", "chat", "--price", price];
    const run = new Coordinator(program, [...first, ...flags], db);
    const random = seeded(seed);
    let underWay = 0;
    // A run that is killed before it is planned leaves nothing to resume.
    while (count(db, "SELECT count(*) FROM results") === 0) await delay(100);
    for (let i = 0; i < kills && !run.isDone; i++) {
      await delay(500 + 2_500 * random());
      const part = choose(random());
      killed[part]++;
      if (part === "coordinator") await run.kill();
      if (part === "worker") {
        const which = below(random, WORKERS);
        await kill(workers[which] as ChildProcess);
        underWay += SLOTS;
        workers[which] = worker(which);
      }
      if (part === "redis") {
        underWay += SLOTS * WORKERS;
        await restart(redis, 200 + 800 * random());
      }
    }
    await run.done();
    const seconds = (performance.now() - started) / 1_000;
    const gaveUp = count(db, "SELECT count(*) FROM results WHERE failed = 1");
    if (gaveUp > 0) await run.again("--retry-failed");
    const left = (await redis.client.keys("*")).filter((key) => !/^art-e:(worker|pause)/.test(key)).length;
    const { issued, begun } = (await (await fetch(`${server.url}/calls`)).json()) as { issued: number; begun: number };
    const figures = readFigures(db, tasks, issued);
    return {
      tasks,
      seconds,
      kills: killed,
      underWay,
      askedAgain: begun - tasks - gaveUp,
      gaveUp,
      leftInRedis: left,
      ...figures,
    };
  } finally {
    await Promise.all(workers.map(kill));
    await redis.close();
    server.stop();
  }
}

/** The run: started once, and resumed whenever it was killed. */
class Coordinator {
  isDone = false;
  private child: ChildProcess;
  private ending: Promise<void>;

  constructor(
    private readonly program: (...args: string[]) => ChildProcess,
    line: readonly string[],
    private readonly db: string,
  ) {
    [this.child, this.ending] = this.start(...line);
  }

  async kill(): Promise<void> {
    if (this.isDone) return;
    await kill(this.child);
    await this.ending.catch(() => undefined);
    if (!this.isDone) [this.child, this.ending] = this.resume();
  }

  async done(): Promise<void> {
    await this.ending;
  }

  async again(flag: string): Promise<void> {
    [this.child, this.ending] = this.resume(flag);
    await this.ending;
  }

  private resume(...flags: string[]) {
    return this.start("run", "--resume", "latest", "--db", this.db, "--quiet", ...flags);
  }

  private start(...line: string[]): [ChildProcess, Promise<void>] {
    const child = this.program(...line);
    let said = "";
    child.stderr?.on("data", (text: Buffer) => {
      said += text;
    });
    const ending = once(child, "close").then(([code, signal]) => {
      if (signal === "SIGKILL") return;
      if (code !== 0) throw new Error(`the run ended with ${code}: ${said}`);
      this.isDone = true;
    });
    ending.catch(() => undefined);
    return [child, ending];
  }
}

function choose(random: number): Part {
  if (random < 0.7) return "worker";
  return random < 0.85 ? "coordinator" : "redis";
}

async function kill(child: ChildProcess): Promise<void> {
  if (child.exitCode !== null || child.signalCode !== null) return;
  const ended = once(child, "exit");
  child.kill("SIGKILL");
  await ended;
}

async function restart(redis: RedisServer, awayMs: number): Promise<void> {
  await redis.kill();
  await delay(awayMs);
  await redis.start();
}

function count(path: string, sql: string): number {
  const db = new Database(path, { readonly: true });
  const found = db.prepare(sql).pluck().get() as number;
  db.close();
  return found;
}

/** Checks every task and every call. The server assigns the ids of calls, each one once. */
function readFigures(path: string, tasks: number, issued: number) {
  const db = new Database(path, { readonly: true });
  const results = db
    .prepare(
      "SELECT count(*) AS rows, count(DISTINCT task_id) AS ids, sum(failed) AS failed FROM results WHERE superseded = 0",
    )
    .get() as { rows: number; ids: number; failed: number };
  const calls = db
    .prepare(
      `SELECT count(*) AS rows, count(DISTINCT c.value ->> '$.id') AS ids FROM results r JOIN traces t ON t.id = r.trace_id,
       json_each(t.trace, '$.toolCalls') c`,
    )
    .get() as { rows: number; ids: number };
  const cost = db.prepare("SELECT sum(result ->> '$.costUsd') FROM results").pluck().get() as number;
  db.close();
  const server = (calls.ids * (1_000 * PRICE.input + 20 * PRICE.output)) / 1_000_000;
  const isWhole = results.rows === tasks && results.ids === tasks && results.failed === 0;
  if (!isWhole) throw new Error(`not every task has one result: ${JSON.stringify(results)}`);
  if (calls.rows !== calls.ids) throw new Error(`a call is in two traces: ${JSON.stringify(calls)}`);
  if (Math.abs(cost - server) > 1e-6) throw new Error(`the run's cost is ${cost}, but the server's is ${server}`);
  return {
    results: results.rows,
    calls: { server: issued, traces: calls.ids, killed: issued - calls.ids },
    bill: { run: cost, server },
  };
}
