import { spawn } from "node:child_process";
import { once } from "node:events";
import { copyFileSync, readFileSync, statSync } from "node:fs";
import { join } from "node:path";
import { Database } from "../../src/store/sqlite.js";
import { startModelServer, writeQuestions } from "../bench/harness.js";

export interface GrowthFigures extends InsideFigures {
  readonly tasks: number;
  readonly atOnce: number;
  readonly tasksPerSecond: number;
  readonly traceKilobytes: number;
  /** Resident memory in the middle of the second quarter and of the last, in MB. */
  readonly memory: { readonly early: number; readonly late: number };
  /** Bytes of the file a task, over its first half and its second. */
  readonly bytesPerTask: { readonly first: number; readonly second: number };
  /** Seconds a thousand tasks, over the first quarter and the last: by the clock, and of all processors together. */
  readonly secondsPerThousand: { readonly first: number; readonly last: number };
  readonly processorSecondsPerThousand: { readonly first: number; readonly last: number };
  /** From the last line to the end of the process. */
  readonly exitMs: number;
}

interface Sample {
  readonly tasks: number;
  readonly at: number;
  readonly bytes: number;
  readonly rss: number;
  /** Of the process, in ms. */
  readonly processorMs: number;
}

/** At most, in ms: before the first request, until the last reply (with the 99th percentile), and after it. */
interface Longest {
  readonly start: number;
  readonly underWay: { readonly p99: number; readonly max: number };
  readonly end: number;
}

/** What the run tells of itself, see `watch.mjs`. Times are by the clock: a busy machine makes all of them longer. */
interface InsideFigures {
  readonly peakMegabytes: number;
  /** How long the loop was kept from its work. */
  readonly loopDelayMs: Longest;
  /** SQLite on the main thread, in one turn of the loop; collections apart. */
  readonly sqliteMs: Longest;
  /** Pauses of the main thread's garbage collector. */
  readonly gcMs: Longest;
}

const WATCH = new URL("./watch.mjs", import.meta.url).href;

/** A run of many tasks with long traces, watched from outside while it grows. */
export async function growth(
  bin: string,
  corpus: string,
  folder: string,
  { tasks, atOnce }: { tasks: number; atOnce: number },
): Promise<GrowthFigures> {
  const db = join(folder, "growth.db");
  copyFileSync(corpus, db);
  const questions = writeQuestions(db, join(folder, "growth.jsonl"), tasks);
  const server = await startModelServer("--pad", "4000");
  try {
    const args = ["run", "-a", "email-search", "--db", db, "--json", "--quiet", "-l", "0", "--dataset", questions];
    const flags = ["--model-id", "openai/bench", "--base-url", `${server.url}/v1`, "--concurrency", String(atOnce)];
    const output = ["-o", join(folder, "growth.json")];
    const child = spawn(process.execPath, ["--import", WATCH, bin, ...args, ...flags, ...output], {
      env: { ...process.env, OPENAI_API_KEY: "soak" },
      stdio: ["ignore", "pipe", "pipe"],
    });
    let stdout = "";
    let stderr = "";
    let lastLineAt = 0;
    child.stdout.on("data", (data: Buffer) => {
      stdout += data;
      lastLineAt = performance.now();
    });
    child.stderr.on("data", (data: Buffer) => {
      stderr += data;
    });
    const samples: Sample[] = [];
    const watch = setInterval(() => samples.push(sample(db, child.pid ?? 0)), 1_000);
    const [code] = await once(child, "close");
    clearInterval(watch);
    if (code !== 0) throw new Error(`the run ended with ${code}: ${stderr}`);
    const exitMs = performance.now() - lastLineAt;
    const { totalTimeMs } = JSON.parse(stdout) as { totalTimeMs: number };
    const inside = JSON.parse(/^figures (.*)$/m.exec(stderr)?.[1] ?? "{}") as InsideFigures;
    return {
      tasks,
      atOnce,
      tasksPerSecond: (tasks / totalTimeMs) * 1_000,
      traceKilobytes: averageTrace(db) / 1_000,
      ...inside,
      exitMs,
      ...slopes(samples.filter((one) => one.tasks > 0 && one.rss > 0)),
    };
  } finally {
    server.stop();
  }
}

function sample(path: string, pid: number): Sample {
  const db = new Database(path, { readonly: true });
  const tasks = db.prepare("SELECT max(rowid) FROM traces").pluck().get() as number | null;
  db.close();
  return { tasks: tasks ?? 0, at: performance.now(), bytes: statSync(path).size, ...resourcesOf(pid) };
}

/** Of a process that has just ended: none. */
function resourcesOf(pid: number): Pick<Sample, "rss" | "processorMs"> {
  try {
    const rss = Number(/VmRSS:\s+(\d+)/.exec(readFileSync(`/proc/${pid}/status`, "utf8"))?.[1] ?? 0) / 1024;
    // Behind the program's name in brackets: the 12th and 13th are hundredths of a second, its own and the kernel's
    // for it.
    const [, fields = ""] = /.*\) (.*)/.exec(readFileSync(`/proc/${pid}/stat`, "utf8")) ?? [];
    const [own, system] = fields.split(" ").slice(11, 13);
    return { rss, processorMs: (Number(own) + Number(system)) * 10 };
  } catch {
    return { rss: 0, processorMs: 0 };
  }
}

function averageTrace(path: string): number {
  const db = new Database(path, { readonly: true });
  const bytes = db.prepare("SELECT avg(length(trace)) FROM traces").pluck().get() as number;
  db.close();
  return bytes;
}

/** Needs a run long enough for a few samples in each quarter. */
function slopes(samples: readonly Sample[]) {
  const at = (share: number) => samples[Math.min(samples.length - 1, Math.floor(share * samples.length))] as Sample;
  const bytes = (from: Sample, to: Sample) => (to.bytes - from.bytes) / (to.tasks - from.tasks);
  const seconds = (from: Sample, to: Sample) => (to.at - from.at) / (to.tasks - from.tasks);
  const processor = (from: Sample, to: Sample) => (to.processorMs - from.processorMs) / (to.tasks - from.tasks);
  return {
    memory: { early: at(0.375).rss, late: at(0.875).rss },
    bytesPerTask: { first: bytes(at(0), at(0.5)), second: bytes(at(0.5), at(1)) },
    secondsPerThousand: { first: seconds(at(0), at(0.25)), last: seconds(at(0.75), at(1)) },
    processorSecondsPerThousand: { first: processor(at(0), at(0.25)), last: processor(at(0.75), at(1)) },
  };
}
