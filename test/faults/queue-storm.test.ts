import { copyFileSync, rmSync, writeFileSync } from "node:fs";
import { connect, createServer, type Server, type Socket } from "node:net";
import { setTimeout as delay } from "node:timers/promises";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { Database } from "../../src/store/sqlite.js";
import { MAIL, QUESTIONS, type Started, workFolder } from "../cli/art-e.js";
import { Workers } from "../cli/queue/queue-setup.js";
import { needs } from "../machine-requirements.js";
import { type FakeProvider, startFakeProvider } from "../providers/fake-provider.js";
import { freePort, type RedisServer, startRedis } from "../queue/redis-server.js";
import { REFUSALS } from "../queue/refusing-redis.js";
import { below, seeded } from "../random.js";
import { compileLibrary } from "./compile.js";

/**
 * Two runs over one queue with four workers, while a seed decides what fails and when: connections to Redis break or
 * become slow, Redis restarts or refuses writes, workers and coordinators are killed, stop for a while, or have their
 * clock set. In the end, each task has one answer, and the token limit is exceeded by at most the calls in flight.
 */

/** ART_E_STORM_SEED repeats one seed. */
const ONE_SEED = process.env.ART_E_STORM_SEED;
const SEEDS = process.env.ART_E_LONG ? 200 : 2;
const TASKS = 16;
const CALLS = 3;
const TOKENS_PER_CALL = 110;
const WORKERS = ["w1", "w2", "w3", "w4"] as const;
const SLOTS = 3;
/** Seconds after which a silent worker loses its tasks. This is the minimum. */
const FLAGS = `--concurrency ${SLOTS} --lock 2`;
const EVENTS = 5;

const folder = workFolder({ mail: MAIL });
const { artE, path, start } = folder;
let clockLibrary: string | null;

let redis: RedisServer;
let proxy: SlowProxy;
let provider: FakeProvider;
let workers: Workers;

beforeAll(async () => {
  clockLibrary = compileLibrary("jumping-clock", path("."));
  copyFileSync(path("art-e.db"), path("mail.db"));
  provider = await startFakeProvider(async ({ turn }) => {
    await delay(30);
    const call =
      turn < CALLS - 1
        ? { name: "email_get", arguments: { message_id: `<${turn}@nowhere>` } }
        : { name: "return_final_answer", arguments: { answer: "42", sources: [] } };
    return { toolCalls: [call], usage: { inputTokens: 100, outputTokens: 10, cachedInputTokens: 0 } };
  });
  redis = await startRedis({ isDurable: true });
  proxy = await SlowProxy.open(redis.port);
  workers = new Workers(folder, () => proxy.url);
  for (const name of WORKERS) {
    writeFileSync(path(`${name}.clock`), Buffer.alloc(8));
    startWorker(name);
  }
});
afterAll(async () => {
  await workers?.close();
  proxy?.close();
  await redis?.close();
  await provider?.close();
});

const variables = () => ({
  ART_E_QUEUE_URL: proxy.url,
  ANTHROPIC_API_KEY: "key",
  ANTHROPIC_BASE_URL: provider.url,
});

function startWorker(name: string): void {
  const clock = clockLibrary === null ? {} : { LD_PRELOAD: clockLibrary, CLOCK_OFFSET: path(`${name}.clock`) };
  workers.start(name, FLAGS, { ...variables(), ...clock });
}

/** Forwards connections to Redis, and can break them or make them slow. */
class SlowProxy {
  delayMs = 0;
  private readonly sockets = new Set<Socket>();

  private constructor(
    private readonly server: Server,
    readonly url: string,
  ) {}

  static async open(port: number): Promise<SlowProxy> {
    const own = await freePort();
    const server = createServer((client) => proxy.forward(client, port));
    const proxy = new SlowProxy(server, `redis://127.0.0.1:${own}`);
    await new Promise<void>((resolve) => server.listen(own, "127.0.0.1", resolve));
    return proxy;
  }

  breakConnections(): void {
    for (const socket of this.sockets) socket.destroy();
  }

  close(): void {
    this.breakConnections();
    this.server.close();
  }

  private forward(client: Socket, port: number): void {
    const upstream = connect(port, "127.0.0.1");
    for (const [from, to] of [
      [client, upstream],
      [upstream, client],
    ] as const) {
      this.sockets.add(from);
      // Chunks stay in order, because a later one never has a shorter delay while an earlier one is waiting.
      let last: Promise<unknown> = Promise.resolve();
      from.on("data", (chunk) => {
        const wait = this.delayMs;
        last = last.then(() => (wait === 0 ? undefined : delay(wait))).then(() => to.writable && to.write(chunk));
      });
      from.on("error", () => undefined);
      from.on("close", () => {
        this.sockets.delete(from);
        to.destroy();
      });
    }
  }
}

type Random = ReturnType<typeof seeded>;

/** What can happen. Each event is over when its promise resolves. */
const WEATHER: Readonly<Record<string, (random: Random, storm: Storm) => Promise<unknown>>> = {
  async "connections break"() {
    proxy.breakConnections();
  },
  async "the network is slow"(random) {
    proxy.delayMs = 50 + below(random, 200);
    await delay(1_000);
    proxy.delayMs = 0;
  },
  async "Redis restarts"(random) {
    await redis.kill();
    await delay(below(random, 1_500));
    await redis.start();
  },
  async "Redis refuses writes"(random) {
    const names = ["OOM", "READONLY"] as const;
    const end = await REFUSALS[names[below(random, names.length)] ?? "OOM"]?.(redis.client);
    await delay(500 + below(random, 1_500));
    await end?.();
  },
  async "a worker is killed"(random) {
    const name = WORKERS[below(random, WORKERS.length)] ?? "w1";
    await workers.killLast(name);
    startWorker(name);
  },
  async "a worker stops for a while"(random) {
    const worker = workers.last(WORKERS[below(random, WORKERS.length)] ?? "w1");
    worker.child.kill("SIGSTOP");
    await delay(1_000 + below(random, 2_500));
    worker.child.kill("SIGCONT");
  },
  async "a coordinator is killed"(random, storm) {
    storm.kill(below(random, 2));
  },
  async "a coordinator stops for a while"(random, storm) {
    await storm.suspend(below(random, 2), 500 + below(random, 2_000));
  },
  async "a clock is set"(random) {
    const name = WORKERS[below(random, WORKERS.length)] ?? "w1";
    const seconds = BigInt(below(random, 7_200) - 3_600);
    writeFileSync(path(`${name}.clock`), Buffer.from(new BigInt64Array([seconds]).buffer), { flag: "r+" });
  },
};

/** Two coordinators, each with its own database. A killed one is resumed. */
class Storm {
  private readonly running: (Started | null)[] = [null, null];

  constructor(private readonly lines: readonly [string, string]) {}

  /** Starts both runs, and resolves when both are complete. */
  async finish(): Promise<void> {
    await Promise.all(this.lines.map((line, i) => this.finishOne(i, line)));
  }

  kill(i: number): void {
    this.running[i]?.child.kill("SIGKILL");
  }

  async suspend(i: number, ms: number): Promise<void> {
    const child = this.running[i]?.child;
    child?.kill("SIGSTOP");
    await delay(ms);
    child?.kill("SIGCONT");
  }

  private async finishOne(i: number, first: string): Promise<void> {
    for (let line = first; ; ) {
      const started = start(`${line} --db ${databaseOf(i)}`, variables());
      this.running[i] = started;
      const { code, stderr } = await started.ended;
      if (code === 0) return;
      // A limit stops the run, and a run does not start without Redis. Any other message would be a bug.
      const isLimit = /--max-run-tokens/.test(stderr);
      const isRefused = /Cannot connect to the queue/.test(stderr);
      if (code !== null && !isLimit && !isRefused) throw new Error(`art-e ${line} ended with ${code}: ${stderr}`);
      if (isLimit) expectWithinLimit(i);
      const hasRun = runsIn(i) > 0;
      line = hasRun ? `run --resume latest --quiet${isLimit ? " --max-run-tokens 1000000" : ""}` : first;
    }
  }
}

const databaseOf = (i: number) => `storm-${i}.db`;

function query(i: number, sql: string): unknown[] {
  const db = new Database(path(databaseOf(i)));
  expect(db.pragma("integrity_check", { simple: true })).toBe("ok");
  const rows = db.prepare(sql).all();
  db.close();
  return rows;
}

const runsIn = (i: number) => query(i, "SELECT 1 FROM runs").length;

const LIMIT = TASKS * CALLS * TOKENS_PER_CALL * 0.5;

/** Calls that are in flight when the limit is reached may still be paid, once per slot of a worker. */
function expectWithinLimit(i: number): void {
  const [row] = query(
    i,
    "SELECT sum(result ->> '$.usage.inputTokens' + result ->> '$.usage.outputTokens') AS tokens FROM results",
  ) as { tokens: number }[];
  expect(row?.tokens ?? 0).toBeLessThanOrEqual(LIMIT + WORKERS.length * SLOTS * TOKENS_PER_CALL);
}

async function survive(seed: number): Promise<void> {
  const random = seeded(seed);
  for (const i of [0, 1]) {
    for (const end of ["", "-wal", "-shm"]) rmSync(path(`${databaseOf(i)}${end}`), { force: true });
    copyFileSync(path("mail.db"), path(databaseOf(i)));
  }
  const line = `run -a email-search --dataset ${QUESTIONS} -l ${TASKS} --model-id anthropic/claude-sonnet-4-5 --quiet`;
  const storm = new Storm([line, `${line} --max-run-tokens ${LIMIT}`]);
  const happened: string[] = [];
  const finished = storm.finish();
  const weather = (async () => {
    const kinds = Object.keys(WEATHER);
    for (let i = 0; i < EVENTS; i++) {
      await delay(below(random, 1_200));
      const kind = kinds[below(random, kinds.length)] ?? "";
      happened.push(kind);
      await WEATHER[kind]?.(random, storm);
    }
  })();
  const patience = AbortSignal.timeout(110_000);
  const timedOut = new Promise<never>((_, reject) =>
    patience.addEventListener("abort", () => reject(new Error(`seed ${seed} hangs after: ${happened.join(", ")}`))),
  );
  try {
    await Promise.race([Promise.all([finished, weather]), timedOut]);
  } finally {
    // The next seed must not begin in the weather of this one.
    await weather.catch(() => undefined);
    for (const i of [0, 1]) storm.kill(i);
  }
  for (const i of [0, 1]) {
    const rows = query(
      i,
      "SELECT task_id AS id, failed, result ->> '$.error' AS error FROM results WHERE superseded = 0",
    );
    const failed = (rows as { failed: number }[]).filter((row) => row.failed);
    expect({ seed, happened, tasks: rows.length, failed }).toEqual({ seed, happened, tasks: TASKS, failed: [] });
    const ids = new Set((rows as { id: number }[]).map(({ id }) => id));
    expect({ seed, ids: ids.size }).toEqual({ seed, ids: TASKS });
  }
  await expect
    .poll(async () => (await redis.client.keys("*")).filter((key) => !/^art-e:(worker|pause)/.test(key)), {
      timeout: 15_000,
    })
    .toEqual([]);
  expect((await artE("queue status --json", variables())).code).toBe(0);
}

describe("two queued runs in a storm", needs("redis"), () => {
  const seeds = ONE_SEED === undefined ? Array.from({ length: SEEDS }, (_, i) => i + 1) : [Number(ONE_SEED)];
  it.each(seeds)("lose nothing with the seed %i", { timeout: 150_000, tags: ["slow"] }, survive);
});
