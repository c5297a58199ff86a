import { join } from "node:path";
import { expect, it } from "vitest";
import { MAIL, MARCUS, ROOT, startProgram, workFolder } from "../art-e.js";

/** A signal ends the program, whatever keeps a thread of it busy. */

const { path, start, write } = workFolder({ mail: MAIL });

/** In the middle of a statement of SQLite that takes minutes, which nothing but the end of the process ends. */
const BUSY = `
  import { listenForInterrupt } from ${JSON.stringify(join(ROOT, "dist/cli/terminal.js"))};
  import { WorkerRpc } from ${JSON.stringify(join(ROOT, "dist/platform/worker-rpc.js"))};
  const thread = new WorkerRpc(new URL("./busy-thread.mjs", import.meta.url), { data: null, youngGenerationMb: 4 });
  const interrupts = listenForInterrupt();
  interrupts.signal.addEventListener("abort", async () => {
    if (process.argv[2] !== "closes") return;
    await thread.close();
    interrupts.close();
  });
  thread.call("count").catch(() => undefined);
  setTimeout(() => console.log("busy"), 500);`;
const THREAD = `
  import { parentPort } from "node:worker_threads";
  import Database from ${JSON.stringify(join(ROOT, "node_modules/better-sqlite3/lib/index.js"))};
  parentPort.on("message", () => {
    new Database(":memory:").prepare("WITH RECURSIVE c(x) AS (SELECT 1 UNION ALL SELECT x + 1 FROM c) SELECT count(*) FROM c").get();
  });`;

it.each([
  ["SIGTERM", "once", "closes"],
  ["SIGINT", "twice", "stays"],
] as const)("%s %s ends a program whose thread is in a long statement, which %s", async (signal, often, how) => {
  write("busy.mjs", BUSY);
  write("busy-thread.mjs", THREAD);
  const { child, ended } = startProgram(path(""), process.execPath, [path("busy.mjs"), how], {});
  const says = (stream: "stdout" | "stderr", word: string) =>
    new Promise<void>((resolve) => {
      child[stream]?.on("data", (text: string) => text.includes(word) && resolve());
    });
  const stopping = says("stderr", "Stopping");
  await says("stdout", "busy");
  child.kill(signal);
  await stopping;
  if (often === "twice") child.kill(signal);
  await ended;
  expect(child.signalCode ?? child.exitCode).toBe(signal);
});

it.each([
  ["serve", "serve --port 0", 0],
  ["mcp over HTTP", `mcp --inbox ${MARCUS} --http --port 0`, 0],
] as const)("SIGINT, SIGTERM and SIGHUP each end %s", async (_what, line, code) => {
  for (const signal of ["SIGINT", "SIGTERM", "SIGHUP"] as const) {
    const { child, ended } = start(line);
    await new Promise<void>((resolve) => child.stdout?.once("data", () => resolve()));
    child.kill(signal);
    expect((await ended).code, signal).toBe(code);
  }
});
