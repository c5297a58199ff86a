import { readFileSync } from "node:fs";
import { hostname } from "node:os";
import { isProcessAlive } from "../../platform/process-alive.js";

/**
 * The process that works on a run, as its row names it: `host:pid@start`. The start tells it from a later process with the same
 * pid: in a container that is started again, every program is the first.
 */
export const THIS_PROCESS = `${nameOf(process.pid)}${startSuffix(readStartTime(process.pid))}`;

/** Whether a holder has ended without letting go: it was killed. Nobody here can say that of a process on another machine. */
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

/** Without its start, which says nothing to people. */
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

/** In ticks since the machine was started (`man 5 proc`, field 22); null where there is no /proc. */
function readStartTime(pid: number): string | null {
  try {
    const stat = readFileSync(`/proc/${pid}/stat`, "latin1");
    // The second field is a name in brackets, which may hold anything.
    return stat.slice(stat.lastIndexOf(")") + 2).split(" ")[19] ?? null;
  } catch {
    return null;
  }
}
