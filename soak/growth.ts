import { spawn } from "node:child_process";
import { once } from "node:events";
import { copyFileSync, readFileSync, statSync } from "node:fs";
import { join } from "node:path";
import { startModelServer, writeQuestions } from "../bench/harness.js";
import { Database } from "../src/store/sqlite.js";

export interface GrowthFigures extends InsideFigures {
  readonly tasks: number;
  readonly atOnce: number;
  readonly tasksPerSecond: number;
  readonly traceKilobytes: number;
  /** Resident memory in the middle of the second and the last quarter, in MB. */
  readonly memory: { readonly early: number; readonly late: number };
  /** File size per task in bytes, over its first and second half. */
  readonly bytesPerTask: { readonly first: number; readonly second: number };
  /** Seconds per thousand tasks, over the first and the last quarter: elapsed time, and CPU time of all processes. */
  readonly secondsPerThousand: { readonly first: number; readonly last: number };
  readonly processorSecondsPerThousand: { readonly first: number; readonly last: number };
  /** From the last line of output to the end of the process. */
  readonly exitMs: number;
}

interface Sample {
  readonly tasks: number;
  readonly at: number;
  readonly bytes: number;
  readonly rss: number;
  /** CPU time of the process, in ms. */
  readonly processorMs: number;
}

/** Maximums in ms: before the first request, until the last reply (with the 99th percentile), and after it. */
interface Longest {
  readonly start: number;
  readonly underWay: { readonly p99: number; readonly max: number };
  readonly end: number;
}

/**
 * Measurements from inside the run, see `watch.mjs`. Times are elapsed times, so a busy machine makes all of them
 * longer.
 */
interface InsideFigures {
  readonly peakMegabytes: number;
  /** Event loop delay. */
  readonly loopDelayMs: Longest;
  /** SQLite on the main thread, in one turn of the event loop, without garbage collection. */
  readonly sqliteMs: Longest;
  /** Pauses of the main thread's garbage collector. */
  readonly gcMs: Longest;
}

const WATCH = new URL("./watch.mjs", import.meta.url).href;

/** A run of many tasks with long traces, measured from outside while it grows. */
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

/** Zero for a process that has just ended. */
function resourcesOf(pid: number): Pick<Sample, "rss" | "processorMs"> {
  try {
    const rss = Number(/VmRSS:\s+(\d+)/.exec(readFileSync(`/proc/${pid}/status`, "utf8"))?.[1] ?? 0) / 1024;
    // After the program's name in brackets, fields 12 and 13 are hundredths of a second: the process's own time, and
    // the kernel's time for it.
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

/** Needs a run that is long enough for a few samples per quarter. */
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
