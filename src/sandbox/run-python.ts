import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { availableParallelism } from "node:os";
import type { Readable, Writable } from "node:stream";
import { setTimeout as sleep } from "node:timers/promises";
import pLimit from "p-limit";
import type { Workspace, WorkspaceFolders } from "../domain/workspace.js";
import { usageOf } from "./entries.js";
import { KeptOutput } from "./kept-output.js";
import { PYTHON_LIMITS } from "./limits.js";
import { isGone, usageOfTree } from "./process-tree.js";
import type { Launch, PythonSandbox } from "./python-sandbox.js";
import { emptyWorkspace } from "./workspace.js";

/** Why a run was stopped before its end. `workspace`: it grew beyond its limits, and has been emptied. */
export type Stopped = "time" | "output" | "memory" | "disk" | "workspace";

export interface PythonRun {
  readonly stdout: string;
  readonly stderr: string;
  /** 128 and the signal's number where one ended it; null where the run was stopped. */
  readonly exitCode: number | null;
  readonly stopped: Stopped | null;
  /** Output that was not kept. */
  readonly truncated: boolean;
}

const LOOK_EVERY_MS = 50;
/** After the program has ended, its output is read for so long. */
const OUTPUT_GRACE_MS = 2_000;
const places = pLimit(2 * availableParallelism());

/**
 * Runs Python source in a sandbox, at most two a processor at once; the time a run waits for its place does not count.
 * When it returns, none of its processes is left. Throws the signal's reason where it aborts, and where the sandbox
 * cannot be started an Error that says why.
 */
export function runPython(
  sandbox: PythonSandbox,
  code: string,
  workspace: Workspace,
  signal: AbortSignal,
): Promise<PythonRun> {
  return workspace.use((folders) =>
    places(async () => {
      signal.throwIfAborted();
      const run = await runOnce(sandbox.launch(folders), code, folders, signal);
      signal.throwIfAborted();
      return run;
    }),
  );
}

async function runOnce(
  launch: Launch,
  code: string,
  folders: WorkspaceFolders,
  signal: AbortSignal,
): Promise<PythonRun> {
  const child = start(launch);
  const closed = once(child, "close") as Promise<[code: number | null, signal: NodeJS.Signals | null]>;
  let stopped: Stopped | "abort" | null = null;
  const stop = (why: Stopped | "abort") => {
    if (stopped !== null || child.exitCode !== null || child.signalCode !== null) return;
    stopped = why;
    kill(child, launch);
  };
  const timer = setTimeout(() => stop("time"), PYTHON_LIMITS.wallMs + launch.startMs);
  // On the host a program may leave children behind that hold its output open.
  child.once("exit", () => setTimeout(() => closeOutput(child), OUTPUT_GRACE_MS).unref());
  const aborted = () => stop("abort");
  signal.addEventListener("abort", aborted, { once: true });
  const stdout = new KeptOutput(child.stdout as Readable, () => stop("output"));
  const stderr = new KeptOutput(child.stderr as Readable, () => stop("output"));
  const status = launch.filter === null ? null : readStatus(child);
  const over = new AbortController();
  feed(child.stdin as Writable, code);
  if (launch.filter !== null) feed(child.stdio[3] as Writable, launch.filter);
  const watched = watch(() => status?.pid() ?? child.pid, folders, stop, over.signal);
  try {
    const [exitCode] = await closed;
    await endOf(status?.pid());
    over.abort();
    await watched;
    if (stopped === null && status !== null && !status.began())
      throw new Error(stderr.text().trim() || "no reason given");
    const why = await finalWord(stopped, folders);
    return {
      stdout: stdout.text(),
      stderr: stderr.text(),
      exitCode: why === null ? exitCode : null,
      stopped: why,
      truncated: stdout.truncated || stderr.truncated,
    };
  } finally {
    over.abort();
    clearTimeout(timer);
    signal.removeEventListener("abort", aborted);
  }
}

function start({ program, args, env, owner, folder, filter }: Launch): ChildProcess {
  return spawn(program, [...args], {
    cwd: folder,
    ...(env === null ? {} : { env: { ...env } }),
    ...(owner === null ? {} : owner),
    // Its own process group, so that a kill reaches what a run on the host has started.
    detached: true,
    stdio: filter === null ? ["pipe", "pipe", "pipe"] : ["pipe", "pipe", "pipe", "pipe", "pipe"],
  });
}

function kill(child: ChildProcess, launch: Launch): void {
  void launch.stop?.();
  if (child.pid === undefined) return;
  try {
    process.kill(-child.pid, "SIGKILL");
  } catch {
    // It has ended by itself.
  }
}

function closeOutput(child: ChildProcess): void {
  child.stdout?.destroy();
  child.stderr?.destroy();
}

/** A program that does not read its input to the end is no fault. */
function feed(stream: Writable, content: string | Buffer): void {
  stream.on("error", () => undefined);
  stream.end(content);
}

/** What bwrap says of the sandbox: the process that all others are below, and whether the program in it was run to its end. */
function readStatus(child: ChildProcess): { pid(): number | undefined; began(): boolean } {
  let said = "";
  (child.stdio[4] as Readable).setEncoding("utf8").on("data", (text: string) => {
    said += text;
  });
  return {
    pid() {
      const pid = /"child-pid": *(\d+)/.exec(said)?.[1];
      return pid === undefined ? undefined : Number(pid);
    },
    began: () => said.includes('"exit-code"'),
  };
}

async function watch(
  pid: () => number | undefined,
  folders: WorkspaceFolders,
  stop: (why: Stopped) => void,
  over: AbortSignal,
): Promise<void> {
  while (!over.aborted) {
    const root = pid();
    const [tree, { fits }] = await Promise.all([root === undefined ? null : usageOfTree(root), usageOf(folders)]);
    if (tree !== null && tree.memoryBytes > PYTHON_LIMITS.memoryBytes) stop("memory");
    if (tree !== null && tree.writtenBytes > PYTHON_LIMITS.writtenBytes) stop("disk");
    if (!fits) stop("workspace");
    await sleep(LOOK_EVERY_MS, undefined, { signal: over }).catch(() => undefined);
  }
}

/** The sandbox's first process goes last, after every other in it. */
async function endOf(pid: number | undefined): Promise<void> {
  if (pid === undefined) return;
  while (!(await isGone(pid))) await sleep(2);
}

/** Looks once more: the last look may have been before the last file. */
async function finalWord(stopped: Stopped | "abort" | null, folders: WorkspaceFolders): Promise<Stopped | null> {
  if ((await usageOf(folders)).fits) return stopped === "abort" ? null : stopped;
  await emptyWorkspace(folders);
  return "workspace";
}
