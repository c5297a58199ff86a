import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import type { Readable, Writable } from "node:stream";
import { BubblewrapStatus, bindProcesses, feed } from "../bubblewrap/bubblewrap-status.js";
import type { Cgroup } from "../bubblewrap/cgroup.js";
import { sandboxUser } from "../sandbox-user.js";
import { builtInFiles } from "./built-in-files.js";
import type { MachineHost } from "./find-machine-host.js";
import { DESCRIPTORS, type MachineMounts, machineArguments } from "./machine-arguments.js";
import type { MachineLimits } from "./machine-limits.js";
import { outputStart } from "./output-start.js";

/** The processes of a machine, as this process sees them. */
export interface StartedGuest {
  /** The machine's first process where nothing binds its memory, so that it must be watched; else null. */
  readonly watched: number | null;
  readonly stdin: Writable;
  readonly stdout: Readable;
  /** Resolves, with what was written to stderr, as soon as the machine has ended by itself or by `kill`. */
  readonly ended: Promise<string>;
  /** Ends all of its processes, and returns when none is left. */
  kill(): Promise<void>;
}

export interface GuestSettings {
  readonly mounts: MachineMounts;
  readonly shims: Readonly<Record<string, string>>;
  readonly limits: MachineLimits;
}

/** Throws an Error that says why where the machine cannot be started, and the signal's reason where it aborts. */
export async function startGuest(
  host: MachineHost,
  { mounts, shims, limits }: GuestSettings,
  signal: AbortSignal,
): Promise<StartedGuest> {
  signal.throwIfAborted();
  const files = builtInFiles(host.guest, shims);
  const args = await machineArguments(host.python, files, mounts, limits);
  const child = spawn(host.program, args, {
    cwd: "/",
    env: {},
    ...(sandboxUser() ?? {}),
    detached: true,
    stdio: Array.from({ length: DESCRIPTORS.files + files.length }, () => "pipe" as const),
  });
  let failure = "";
  const closed = once(child, "close").catch((error: Error) => {
    failure = error.message;
  });
  const stderr = outputStart(child.stderr as Readable);
  const status = new BubblewrapStatus(child);
  feed(child.stdio[DESCRIPTORS.filter] as Writable, host.filter);
  files.forEach(({ content }, i) => {
    feed((child.stdio as readonly unknown[])[DESCRIPTORS.files + i] as Writable, content);
  });
  const end = () => killGroup(child);
  const timer = setTimeout(end, limits.startMs);
  signal.addEventListener("abort", end, { once: true });
  let cgroup: Cgroup | null = null;
  const kill = async () => {
    end();
    await cgroup?.kill();
    await closed;
    await status.allGone();
    await cgroup?.remove();
  };
  try {
    const pid = await status.ready();
    if (pid === null) {
      await closed;
      throw new Error(failure || stderr().trim() || `it was not ready within ${limits.startMs / 1000} s`);
    }
    const bound = { memoryBytes: limits.memoryBytes, processes: limits.processes, endTogether: false };
    cgroup = host.cgroups === null ? null : await bindProcesses(pid, host.cgroups, bound);
    return {
      watched: cgroup === null ? pid : null,
      stdin: child.stdin as Writable,
      stdout: child.stdout as Readable,
      ended: closed.then(stderr),
      kill,
    };
  } catch (error) {
    await kill();
    signal.throwIfAborted();
    throw error;
  } finally {
    clearTimeout(timer);
    signal.removeEventListener("abort", end);
  }
}

/** bwrap's own process: the machine's first one is bound to die with it, and all others die with that. */
function killGroup({ pid }: ChildProcess): void {
  try {
    if (pid !== undefined) process.kill(-pid, "SIGKILL");
  } catch {
    // Already ended.
  }
}
