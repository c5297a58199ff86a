import { type ChildProcess, execFileSync, spawn } from "node:child_process";
import { once } from "node:events";
import { copyFileSync, existsSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { setTimeout as delay } from "node:timers/promises";
import { fileURLToPath } from "node:url";
import type { Redis } from "ioredis";
import { listWorkers } from "../src/queue/protocol/shared-state.js";
import { startRedis } from "../test/queue/redis-server.js";
import { startModelServer, writeQuestions } from "./harness.js";
import { writeKaggleCsv } from "./synthetic-corpus.js";

/**
 * Compares a run over a queue with the same run in one process with as many slots: its rate, and the resources of each
 * process.
 */

const BIN = join(fileURLToPath(new URL("../", import.meta.url)), "bin/art-e.js");

/** At the end of a process: CPU time of all its threads, in microseconds. */
const REPORTER = `data:text/javascript,process.on("exit", () => process.stderr.write("\\ncpu " + JSON.stringify(process.cpuUsage()) + "\\n"))`;

export interface QueueBenchOptions {
  readonly tasks: number;
  /** Runs with different numbers of workers. */
  readonly workers: readonly number[];
  /** Per worker. */
  readonly slots: number;
  readonly latencyMs: number;
}

export interface QueueBench {
  readonly workers: number;
  readonly tasks: number;
  readonly slots: number;
  /** Tasks per second, with three model calls each. */
  readonly oneProcess: number;
  readonly overQueue: number;
  /** CPU milliseconds per task. `oneProcess`: of the entire other run. */
  readonly processor: Readonly<Record<"oneProcess" | "coordinator" | "workers" | "redis", number>>;
  /** Per task. */
  readonly redis: { readonly commands: number; readonly kilobytesIn: number; readonly kilobytesOut: number };
  /** MB after a third of the run, and near its end. */
  readonly memory: Readonly<Record<"coordinator" | "redis", { readonly early: number; readonly late: number }>>;
}

export async function benchQueue(folder: string, options: QueueBenchOptions): Promise<QueueBench[]> {
  const corpus = join(folder, "queue-corpus.db");
  if (!existsSync(corpus)) {
    const csv = join(folder, "queue.csv");
    await writeKaggleCsv(csv, { mails: 20_000, seed: 1 });
    execFileSync(process.execPath, [BIN, "import", csv, "--db", corpus, "--quiet"], { stdio: "ignore" });
  }
  const questions = writeQuestions(corpus, join(folder, "queue.jsonl"), options.tasks);
  const server = await startModelServer("--latency", String(options.latencyMs));
  try {
    const lines: QueueBench[] = [];
    for (const workers of options.workers) {
      const bench = new Bench(corpus, folder, questions, `${server.url}/v1`, options);
      const alone = await bench.inOneProcess(workers * options.slots);
      lines.push({ workers, tasks: options.tasks, slots: options.slots, ...(await bench.overQueue(workers, alone)) });
    }
    return lines;
  } finally {
    server.stop();
  }
}

interface Ended {
  readonly tasksPerSecond: number;
  readonly processorMs: number;
}

class Bench {
  constructor(
    private readonly corpus: string,
    private readonly folder: string,
    private readonly questions: string,
    private readonly baseUrl: string,
    private readonly options: QueueBenchOptions,
  ) {}

  async inOneProcess(slots: number): Promise<Ended> {
    return this.ended(this.run(["--concurrency", String(slots)]));
  }

  async overQueue(count: number, alone: Ended) {
    const { tasks } = this.options;
    const redis = await startRedis({ isDurable: false });
    const workers = Array.from({ length: count }, (_, i) => this.worker(i, redis.url));
    try {
      while ((await listWorkers(redis.client)).length < count) await delay(100);
      const before = await redisFigures(redis.client);
      const child = this.run([], redis.url);
      const memory = watchMemory(child, redis.client);
      const { tasksPerSecond, processorMs } = await this.ended(child);
      const after = await redisFigures(redis.client);
      const ofWorkers = await Promise.all(workers.map(stopped));
      const aTask = (of: (figures: typeof before) => number) => (of(after) - of(before)) / tasks;
      return {
        oneProcess: alone.tasksPerSecond,
        overQueue: tasksPerSecond,
        processor: {
          oneProcess: alone.processorMs / tasks,
          coordinator: processorMs / tasks,
          workers: ofWorkers.reduce((sum, ms) => sum + ms, 0) / tasks,
          redis: aTask(({ processorMs: ms }) => ms),
        },
        redis: {
          commands: aTask(({ commands }) => commands),
          kilobytesIn: aTask(({ bytesIn }) => bytesIn) / 1_000,
          kilobytesOut: aTask(({ bytesOut }) => bytesOut) / 1_000,
        },
        memory: memory(),
      };
    } finally {
      for (const worker of workers) worker.kill("SIGKILL");
      await redis.close();
    }
  }

  private run(flags: readonly string[], queue = ""): ChildProcess {
    const db = join(this.folder, "queue-run.db");
    copyFileSync(this.corpus, db);
    const line = ["run", "-a", "email-search", "--db", db, "--dataset", this.questions, "-l", "0", "--json", "--quiet"];
    return this.start([...line, "--model-id", "openai/bench", "--no-judge", ...flags], queue);
  }

  private worker(i: number, queue: string): ChildProcess {
    const db = join(this.folder, `queue-worker-${i}.db`);
    copyFileSync(this.corpus, db);
    return this.start(["worker", "--db", db, "--name", `w${i}`, "--concurrency", `${this.options.slots}`], queue);
  }

  private start(line: readonly string[], queue: string): ChildProcess {
    const env = { ...process.env, ART_E_QUEUE_URL: queue, OPENAI_API_KEY: "bench", OPENAI_BASE_URL: this.baseUrl };
    return spawn(process.execPath, ["--import", REPORTER, BIN, ...line], { env, stdio: ["ignore", "pipe", "pipe"] });
  }

  private async ended(child: ChildProcess): Promise<Ended> {
    const [stdout, stderr] = [text(child.stdout), text(child.stderr)];
    const [code] = await once(child, "close");
    if (code !== 0) throw new Error(`the run ended with ${code}: ${stderr()}`);
    const { completedTasks, totalTimeMs } = JSON.parse(stdout()) as { completedTasks: number; totalTimeMs: number };
    return { tasksPerSecond: (completedTasks / totalTimeMs) * 1_000, processorMs: processorMs(stderr()) };
  }
}

/** CPU milliseconds of the process. */
async function stopped(worker: ChildProcess): Promise<number> {
  const stderr = text(worker.stderr);
  const ended = once(worker, "close");
  worker.kill("SIGTERM");
  await ended;
  return processorMs(stderr());
}

function text(stream: ChildProcess["stdout"]): () => string {
  let all = "";
  stream?.on("data", (data: Buffer) => {
    all += data;
  });
  return () => all;
}

function processorMs(stderr: string): number {
  const { user, system } = JSON.parse(/^cpu (.*)$/m.exec(stderr)?.[1] ?? "{}") as { user: number; system: number };
  return (user + system) / 1_000;
}

async function redisFigures(redis: Redis) {
  const info = await redis.info();
  const field = (name: string) => Number(new RegExp(`^${name}:(\\S+)`, "m").exec(info)?.[1]);
  return {
    commands: field("total_commands_processed"),
    bytesIn: field("total_net_input_bytes"),
    bytesOut: field("total_net_output_bytes"),
    processorMs: (field("used_cpu_user") + field("used_cpu_sys")) * 1_000,
    memory: field("used_memory"),
  };
}

/** Samples every half second. The returned function stops it. */
function watchMemory(child: ChildProcess, redis: Redis): () => QueueBench["memory"] {
  const samples: { coordinator: number; redis: number }[] = [];
  const look = async () => {
    const coordinator = residentMegabytes(child.pid ?? 0);
    if (coordinator > 0) samples.push({ coordinator, redis: (await redisFigures(redis)).memory / 1024 / 1024 });
  };
  const timer = setInterval(() => void look(), 500);
  return () => {
    clearInterval(timer);
    const at = (share: number) => samples[Math.floor(share * samples.length)] ?? { coordinator: 0, redis: 0 };
    const [early, late] = [at(0.33), at(0.9)];
    return {
      coordinator: { early: early.coordinator, late: late.coordinator },
      redis: { early: early.redis, late: late.redis },
    };
  };
}

function residentMegabytes(pid: number): number {
  try {
    return Number(/VmRSS:\s+(\d+)/.exec(readFileSync(`/proc/${pid}/status`, "utf8"))?.[1] ?? 0) / 1024;
  } catch {
    return 0;
  }
}
