import { readFileSync } from "node:fs";
import { hostname } from "node:os";
import { isProcessAlive } from "../../platform/process-alive.js";

/**
 * The holder of a run lock, as stored in the run's row: `host:pid@start`. The start time distinguishes it from a
 * later process with the same pid: in a restarted container the program often has the same one.
 */
export const THIS_PROCESS = `${nameOf(process.pid)}${startSuffix(readStartTime(process.pid))}`;

/**
 * Whether a holder ended without releasing its lock. False for a process on another host, which cannot be checked.
 */
export function hasHolderExited(holder: string): boolean {
  const { host, pid, start } = parse(holder);
  if (host !== hostname()) return false;
  if (!isProcessAlive(pid)) return true;
  const now = readStartTime(pid);
  return start !== null && now !== null && now !== start;
}

export function isOnOtherHost(holder: string): boolean {
  return parse(holder).host !== hostname();
}

/** For messages: without the start time. */
export function formatHolder(holder: string): string {
  const { host, pid } = parse(holder);
  return `${host}:${pid}`;
}

function nameOf(pid: number): string {
  return `${hostname()}:${pid}`;
}

function startSuffix(start: string | null): string {
  return start === null ? "" : `@${start}`;
}

function parse(holder: string): { host: string; pid: number; start: string | null } {
  const [, host = holder, pid = "", start = null] = /^(.*):(\d+)(?:@(\d+))?$/.exec(holder) ?? [];
  return { host, pid: Number(pid), start };
}

/** In clock ticks since boot (`man 5 proc`, field 22); null where there is no /proc. */
function readStartTime(pid: number): string | null {
  try {
    const stat = readFileSync(`/proc/${pid}/stat`, "latin1");
    // The second field is the program name in parentheses and may contain any character.
    return stat.slice(stat.lastIndexOf(")") + 2).split(" ")[19] ?? null;
  } catch {
    return null;
  }
}
