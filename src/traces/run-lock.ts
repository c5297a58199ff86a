// The lock of a run: only one process executes it, and the lock of a killed process is taken over.
import { readFileSync } from "node:fs";
import { hostname } from "node:os";
import { UserError } from "../platform/errors.js";
import { isProcessAlive } from "../platform/processes.js";
import type { Db } from "../store/open-store.js";
import type { RunStatus } from "./task-result.js";

/** A process that executes a run. Only one process can lock a run at a time. */
export interface RunOwner {
  readonly name: string;
  /** Whether the process with this name was killed, so that its lock was not released. */
  isGone(name: string): boolean;
}

/**
 * Locks a run for `worker`. Takes over the lock of a process that was killed (`isGone`). Throws if a live process holds
 * it.
 */
export function acquireRunLock(db: Db, runId: string, worker: RunOwner): void {
  const holder = lockRun(db, runId, worker);
  if (holder === null) return;
  throw new UserError(
    "run_busy",
    `Run ${runId} is already running in process ${formatHolder(holder)}.`,
    isOnOtherHost(holder)
      ? "Wait until that process has ended. If it was killed, pass --resume RUN --force."
      : "Wait until that process has ended, or stop it.",
    1,
  );
}

/** Returns null on success, otherwise the current holder. */
function lockRun(db: Db, id: string, { name, isGone }: RunOwner): string | null {
  return db
    .transaction(() => {
      const holder = db.prepare("SELECT worker FROM runs WHERE id = ?").pluck().get(id) as string | null;
      if (holder !== null && holder !== name && !isGone(holder)) return holder;
      // The process that was killed left the status at running.
      const status = holder === null ? "status" : "CASE status WHEN 'running' THEN 'interrupted' ELSE status END";
      db.prepare(`UPDATE runs SET worker = ?, status = ${status} WHERE id = ?`).run(name, id);
      return null;
    })
    .immediate();
}

export const thisProcess: RunOwner = { name: nameOfThisProcess(), isGone: hasHolderExited };

/**
 * Also takes over the locks of processes on other machines. Only the user can know whether these processes have ended.
 */
export const forcedProcess: RunOwner = {
  name: thisProcess.name,
  isGone: (name) => hasHolderExited(name) || isOnOtherHost(name),
};

/**
 * The holder of a run lock, as stored in the run's row: `host:pid@start`. The start time distinguishes it from a later
 * process with the same pid, which is common after a container restart.
 */
function nameOfThisProcess(): string {
  const start = readStartTime(process.pid);
  return `${hostname()}:${process.pid}${start === null ? "" : `@${start}`}`;
}

/** A run whose status is `running` but that has no live holder was killed. */
export function statusOf(status: RunStatus, worker: string | null): RunStatus {
  return status === "running" && (worker === null || hasHolderExited(worker)) ? "interrupted" : status;
}

/**
 * Whether a holder ended without releasing its lock. False for a process on another host, which cannot be checked.
 */
function hasHolderExited(holder: string): boolean {
  const { host, pid, start } = parse(holder);
  if (host !== hostname()) return false;
  if (!isProcessAlive(pid)) return true;
  const now = readStartTime(pid);
  return start !== null && now !== null && now !== start;
}

function isOnOtherHost(holder: string): boolean {
  return parse(holder).host !== hostname();
}

/** Formats the holder of a lock for messages, without its start time. */
function formatHolder(holder: string): string {
  const { host, pid } = parse(holder);
  return `${host}:${pid}`;
}

function parse(holder: string): { host: string; pid: number; start: string | null } {
  const [, host = holder, pid = "", start = null] = /^(.*):(\d+)(?:@(\d+))?$/.exec(holder) ?? [];
  return { host, pid: Number(pid), start };
}

/** Returns the start time in clock ticks since boot (`man 5 proc`, field 22), or null without /proc. */
function readStartTime(pid: number): string | null {
  try {
    const stat = readFileSync(`/proc/${pid}/stat`, "latin1");
    // The second field is the program name in parentheses and may contain any character.
    return stat.slice(stat.lastIndexOf(")") + 2).split(" ")[19] ?? null;
  } catch {
    return null;
  }
}
