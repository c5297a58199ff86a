// Runs Python source in the chosen sandbox, with limits on time, output, memory and files.
import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { availableParallelism } from "node:os";
import type { Readable, Writable } from "node:stream";
import { setTimeout as sleep } from "node:timers/promises";
import pLimit from "p-limit";
import { killGroup, killProcess } from "../platform/processes.js";
import { BubblewrapStatus, feed, prepareSandbox, type ReadySandbox } from "./isolation/bubblewrap.js";
import { PYTHON_LIMITS, socketBytesOf, usageOfTree } from "./limits.js";
import {
  findPython,
  KeptOutput,
  type Launch,
  PYTHON_FLAGS,
  type PythonSandbox,
  pythonPreamble,
  type SandboxChoice,
} from "./python.js";
import { emptyWorkspace, usageOf, type Workspace, type WorkspaceFolders } from "./workspace.js";

/** Why a run was stopped early. `workspace` means that the workspace exceeded its limits and was emptied. */
export type StopReason = "time" | "output" | "memory" | "disk" | "workspace";

export interface PythonRun {
  readonly stdout: string;
  readonly stderr: string;
  /** Exit code, 128 plus the signal's number if a signal ended the run, or null if the run was stopped. */
  readonly exitCode: number | null;
  readonly stopped: StopReason | null;
  /** Whether output was dropped. */
  readonly truncated: boolean;
}

const LOOK_EVERY_MS = 50;
/** Milliseconds to read output after the program has ended. */
const OUTPUT_GRACE_MS = 2_000;
const places = pLimit(2 * availableParallelism());

/**
 * Runs Python source in a sandbox, at most two runs per core concurrently. Waiting for a slot does not count as time.
 * All processes of the run have ended when it returns. Throws the signal's reason if it aborts, or an Error with the
 * reason if the sandbox cannot start.
 */
export function runPython(
  sandbox: PythonSandbox,
  code: string,
  workspace: Workspace,
  signal: AbortSignal,
  wallMs: number = PYTHON_LIMITS.wallMs,
): Promise<PythonRun> {
  return workspace.use((folders) =>
    places(async () => {
      signal.throwIfAborted();
      const run = await runOnce(sandbox.launch(folders), code, folders, signal, wallMs);
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
  wallMs: number,
): Promise<PythonRun> {
  const child = start(launch);
  const closed = once(child, "close") as Promise<[code: number | null, signal: NodeJS.Signals | null]>;
  // Awaited below. Avoids an unhandled rejection until then.
  closed.catch(() => undefined);
  let sandbox: ReadySandbox | null = null;
  let stopped: StopReason | "abort" | null = null;
  const stop = (why: StopReason | "abort") => {
    if (stopped !== null || child.exitCode !== null || child.signalCode !== null) return;
    stopped = why;
    kill(child, launch, sandbox);
  };
  let timer = setTimeout(() => stop("time"), wallMs + launch.startMs);
  // On the host, remaining child processes can keep the output open.
  child.once("exit", () => setTimeout(() => closeOutput(child), OUTPUT_GRACE_MS).unref());
  const aborted = () => stop("abort");
  signal.addEventListener("abort", aborted, { once: true });
  const stdout = new KeptOutput(child.stdout as Readable, () => stop("output"));
  const stderr = new KeptOutput(child.stderr as Readable, () => stop("output"));
  const status = launch.filter === null ? null : new BubblewrapStatus(child);
  const over = new AbortController();
  try {
    if (status !== null) {
      feed(child.stdio[3] as Writable, launch.filter as Buffer);
      sandbox = await prepareSandbox(status, launch.cgroups, folders);
      clearTimeout(timer);
      timer = setTimeout(() => stop("time"), wallMs);
    }
    feed(child.stdin as Writable, code);
    const watched = watch(sandbox, child.pid, folders, stop, over.signal);
    const [exitCode] = await closed;
    await status?.allGone();
    over.abort();
    await watched;
    const outOfMemory = (await sandbox?.cgroup?.ranOutOfMemory()) === true;
    if (status !== null && sandbox === null && stopped !== "abort") {
      throw new Error(stderr.text().trim() || (stopped === null ? "unknown reason" : "it took too long"));
    }
    const why = await finalWord(outOfMemory ? "memory" : stopped, sandbox, folders);
    return {
      stdout: stdout.text(),
      stderr: stderr.text(),
      exitCode: why === null ? exitCode : null,
      stopped: why,
      truncated: stdout.truncated || stderr.truncated,
    };
  } catch (error) {
    kill(child, launch, sandbox);
    await closed.catch(() => undefined);
    // If the sandbox was stopped during its preparation, it fails with a different error.
    signal.throwIfAborted();
    throw error;
  } finally {
    over.abort();
    clearTimeout(timer);
    signal.removeEventListener("abort", aborted);
    await status?.allGone();
    await sandbox?.files.close();
    await sandbox?.cgroup?.remove();
  }
}

function start({ program, args, env, owner, folder, filter }: Launch): ChildProcess {
  return spawn(program, [...args], {
    cwd: folder,
    ...(env === null ? {} : { env: { ...env } }),
    ...(owner === null ? {} : owner),
    // Creates a process group, so that a kill reaches child processes on the host.
    detached: true,
    stdio: filter === null ? ["pipe", "pipe", "pipe"] : ["pipe", "pipe", "pipe", "pipe", "pipe", "pipe"],
  });
}

function kill(child: ChildProcess, launch: Launch, sandbox: ReadySandbox | null): void {
  void launch.stop?.();
  void sandbox?.cgroup?.kill();
  if (sandbox !== null || launch.filter !== null) killGroup(child);
  // On the host, some processes might have left the group. Find them while their parents still exist.
  else if (child.pid !== undefined) void killTree(child.pid);
}

async function killTree(root: number): Promise<void> {
  for (const pid of [...(await usageOfTree(root)).pids, -root]) killProcess(pid);
}

function closeOutput(child: ChildProcess): void {
  child.stdout?.destroy();
  child.stderr?.destroy();
}

async function watch(
  sandbox: ReadySandbox | null,
  pid: number | undefined,
  folders: WorkspaceFolders,
  stop: (why: StopReason) => void,
  over: AbortSignal,
): Promise<void> {
  while (!over.aborted) {
    const [{ memoryBytes, writtenBytes }, { fits }] = await Promise.all([
      usageOfRun(sandbox, pid),
      usageOf(sandbox?.files.folders ?? folders),
    ]);
    if (memoryBytes > PYTHON_LIMITS.memoryBytes) stop("memory");
    if (writtenBytes > PYTHON_LIMITS.writtenBytes) stop("disk");
    if (!fits) stop("workspace");
    await sleep(LOOK_EVERY_MS, undefined, { signal: over }).catch(() => undefined);
  }
}

/**
 * Returns the memory and disk usage to check, or 0 for a resource that the kernel limits itself. The sandbox's files
 * are in memory, and nothing in it writes to a disk.
 */
async function usageOfRun(
  sandbox: ReadySandbox | null,
  pid: number | undefined,
): Promise<{ memoryBytes: number; writtenBytes: number }> {
  if (sandbox === null) return pid === undefined ? NOTHING : usageOfTree(pid);
  if (sandbox.cgroup !== null) return NOTHING;
  const [{ memoryBytes }, sockets, files] = await Promise.all([
    usageOfTree(sandbox.pid),
    socketBytesOf(sandbox.pid),
    sandbox.files.bytes(),
  ]);
  return { memoryBytes: memoryBytes + sockets + files, writtenBytes: 0 };
}

const NOTHING = { memoryBytes: 0, writtenBytes: 0 };

/**
 * Checks the limits again, because files might have been written after the last check. Then copies the sandbox's files
 * back.
 */
async function finalWord(
  stopped: StopReason | "abort" | null,
  sandbox: ReadySandbox | null,
  folders: WorkspaceFolders,
): Promise<StopReason | null> {
  if ((await usageOf(sandbox?.files.folders ?? folders)).fits) {
    await sandbox?.files.keep();
    return stopped === "abort" ? null : stopped;
  }
  await emptyWorkspace(folders);
  return "workspace";
}

/**
 * Finds Python on this machine, to run without a sandbox: with the current user's rights and files, but without the
 * environment. Used only on explicit request.
 */
export async function findHostPython(): Promise<SandboxChoice> {
  const python = await findPython();
  if (python === null) return { ok: false, why: "Python 3 is not installed", hint: "Install Python 3." };
  return {
    ok: true,
    sandbox: {
      kind: "host",
      about: `no sandbox, Python ${python.version}`,
      limits: { memory: "watched", disk: "watched", processes: "watched" },
      launch: ({ files, temporary }) => ({
        program: python.program,
        // No -S, because the host's packages are the reason to run on the host.
        args: [...PYTHON_FLAGS.filter((flag) => flag !== "-S"), "-c", pythonPreamble({ strict: false, ready: null })],
        env: { PATH: "/usr/local/bin:/usr/bin:/bin", HOME: files, TMPDIR: temporary, LANG: "C.UTF-8" },
        owner: null,
        folder: files,
        filter: null,
        cgroups: null,
        startMs: 0,
      }),
    },
  };
}
