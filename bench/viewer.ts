// Measures the requests of the served pages over many runs, traces and tasks: their times, and how long each holds up
// the server's other requests.
import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { existsSync, mkdirSync } from "node:fs";
import { get } from "node:http";
import { join } from "node:path";
import { openStore } from "../src/store/open-store.js";
import { table } from "../src/text/format.js";
import { saveSynthetic } from "../test/reports/synthetic-run.js";
import { saveRuns } from "./lists.js";
import { median } from "./quantiles.js";

const BIN = join(import.meta.dirname, "../bin/art-e.js");

interface ViewerSize {
  readonly runs: number;
  /** Tasks of each run. */
  readonly tasks: number;
  /** Tasks of one more run. */
  readonly largest: number;
}

interface ViewerLine {
  readonly path: string;
  /** Median milliseconds until the whole response arrived, or the first event of a stream. */
  readonly clockMs: number;
  /** Median processor time of all threads of the server. */
  readonly cpuMs: number;
  /** Median of the longest time in which the server's event loop did not turn. */
  readonly blockedMs: number;
  /** Its processor time. */
  readonly blockedCpuMs: number;
  readonly kilobytes: number;
}

const LARGE = "run_large";

/** Requests by page. */
const PATHS: readonly string[] = [
  "/api/runs?offset=0",
  "/api/runs?q=run_777&offset=0",
  "/api/runs?q=score%3C0.9+model%3Am/3&sort=-score&offset=0",
  "/api/runs?q=tasks%3E0&offset=0",
  "/api/runs?limit=200&offset=0",
  "/api/traces?",
  "/api/traces?q=march+contract",
  "/api/traces?q=score%3C0.5&sort=-score",
  "/api/traces?sort=question&limit=200",
  "/api/sessions?offset=0",
  "/api/evals",
  "/api/evals/modes",
  "/api/agents",
  "/api/tools",
  "/api/inboxes",
  "/api/models",
  `/api/runs/${LARGE}/events`,
  `/api/runs/${LARGE}/report`,
  "/api/runs/run_1/report?with=run_2,run_3",
  `/api/runs/${LARGE}/conversation?task_id=777&epoch=1`,
  "/api/runs/run_1/same-task?task_id=7",
  `/api/traces/trace_${LARGE}_777`,
  `/api/traces/trace_${LARGE}_777/judgments`,
  `/api/evals/label-queue?run_id=${LARGE}`,
  `/api/evals/coding-queue?run_id=${LARGE}`,
];

/**
 * Loaded before the server: measures the longest turn of its event loop, and answers over IPC. The processor time of a
 * turn is what the kernel counts for the main thread. Other programs on a busy machine do not lengthen it.
 */
const STOPWATCH = `import { readFileSync } from "node:fs";
const cpuOfThread = () => Number(readFileSync("/proc/thread-self/schedstat", "utf8").split(" ")[0]) / 1e6;
let [at, used, longest, cpu] = [performance.now(), cpuOfThread(), {}, process.cpuUsage()];
const turn = () => {
  const [nowAt, nowUsed] = [performance.now(), cpuOfThread()];
  longest.clockMs = Math.max(longest.clockMs ?? 0, nowAt - at);
  longest.cpuMs = Math.max(longest.cpuMs ?? 0, nowUsed - used);
  [at, used] = [nowAt, nowUsed];
};
setInterval(turn, 1).unref();
process.on("message", (what) => {
  turn();
  if (what === "start") {
    [longest, cpu] = [{}, process.cpuUsage()];
    process.send("started");
    return;
  }
  const { user, system } = process.cpuUsage(cpu);
  process.send({ cpuMs: (user + system) / 1000, blockedMs: longest.clockMs, blockedCpuMs: longest.cpuMs });
});`;

export async function printViewerBench(
  folder: string,
  size: ViewerSize,
  repeats: number,
  json: boolean,
): Promise<void> {
  const lines = await benchViewer(folder, size, repeats);
  const titles = ["request", "clock, ms", "CPU, ms", "longest block, ms", "its CPU, ms", "kB"];
  const rows = lines.map(({ path, ...figures }) => [path, ...Object.values(figures).map((each) => each.toFixed(0))]);
  console.log(json ? JSON.stringify(lines, null, 2) : table(titles, rows));
}

async function benchViewer(folder: string, size: ViewerSize, repeats: number): Promise<ViewerLine[]> {
  mkdirSync(folder, { recursive: true });
  const path = join(folder, `viewer-${size.runs}-${size.tasks}-${size.largest}.db`);
  if (!existsSync(path)) createDatabase(path, size);
  const args = ["--import", `data:text/javascript,${encodeURIComponent(STOPWATCH)}`, BIN, "serve", "--port", "0"];
  const server = spawn(process.execPath, [...args, "--db", path], {
    env: { ...process.env, OPENAI_API_KEY: "bench" },
    stdio: ["ignore", "pipe", "pipe", "ipc"],
  });
  try {
    const url = await printedUrl(server);
    // The first list starts a thread and computes the figures of all runs, which happens once.
    await load(`${url}/api/runs`);
    const lines: ViewerLine[] = [];
    for (const path of PATHS) {
      console.error(`Requesting ${path} ...`);
      lines.push(await measure(server, url, path, repeats));
    }
    return lines;
  } finally {
    server.kill("SIGKILL");
  }
}

function createDatabase(path: string, { runs, tasks, largest }: ViewerSize): void {
  const db = openStore(path, { mustExist: false });
  saveRuns(db, runs, tasks);
  saveSynthetic(db, { id: LARGE, tasks: largest });
  db.close();
}

async function printedUrl(server: ChildProcess): Promise<string> {
  let text = "";
  for (const stream of [server.stdout, server.stderr]) {
    stream?.setEncoding("utf8").on("data", (chunk: string) => {
      text += chunk;
    });
  }
  for (;;) {
    const [url] = /http:\/\/127\.0\.0\.1:\d+(?=\s)/.exec(text) ?? [];
    if (url !== undefined) return url;
    if (server.exitCode !== null) throw new Error(`The server ended: ${text}`);
    await new Promise((resolve) => setTimeout(resolve, 20));
  }
}

async function measure(server: ChildProcess, url: string, path: string, repeats: number): Promise<ViewerLine> {
  const times: Omit<ViewerLine, "path" | "kilobytes">[] = [];
  let bytes = 0;
  for (let i = 0; i < repeats; i++) {
    await ask(server, "start");
    const start = performance.now();
    bytes = await load(`${url}${path}`);
    const clockMs = performance.now() - start;
    times.push({ clockMs, ...((await ask(server, "stop")) as Omit<ViewerLine, "path" | "kilobytes" | "clockMs">) });
  }
  const of = (name: "clockMs" | "cpuMs" | "blockedMs" | "blockedCpuMs") => median(times.map((each) => each[name]));
  return {
    path,
    clockMs: of("clockMs"),
    cpuMs: of("cpuMs"),
    blockedMs: of("blockedMs"),
    blockedCpuMs: of("blockedCpuMs"),
    kilobytes: bytes / 1_000,
  };
}

async function ask(server: ChildProcess, what: string): Promise<unknown> {
  const answer = once(server, "message");
  server.send(what);
  return (await answer)[0];
}

/** Returns the number of bytes. Of an event stream, only the first event is loaded. */
function load(url: string): Promise<number> {
  return new Promise((resolve, reject) => {
    get(url, { headers: { "accept-encoding": "gzip" } }, (response) => {
      if (response.statusCode !== 200) reject(new Error(`${url}: status ${response.statusCode}`));
      const isStream = response.headers["content-type"]?.startsWith("text/event-stream") === true;
      let bytes = 0;
      response.on("data", (chunk: Buffer) => {
        bytes += chunk.length;
        if (isStream) response.destroy();
      });
      response.on("close", () => resolve(bytes));
    }).on("error", reject);
  });
}
