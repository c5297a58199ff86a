import { readdirSync } from "node:fs";
import { getPriority, setPriority } from "node:os";

/**
 * With few cores, the event loop of a run must not wait for its own helper threads: a delay there holds up every
 * task. Only Linux has a priority per thread (`man 2 setpriority`, "C library/kernel differences"); elsewhere nothing
 * is changed.
 */
const HAS_PRIORITY_BY_THREAD = process.platform === "linux";

/** Raises the nice value of the calling thread. */
export function lowerThreadPriority(by: number): void {
  if (HAS_PRIORITY_BY_THREAD) lower(0, by);
}

/**
 * Raises the nice value of all other threads of the process. Called before the program starts threads of its own,
 * these are V8's compiler and garbage collector threads and libuv's pool for files and DNS.
 */
export function prioritizeThisThread(by: number): void {
  if (!HAS_PRIORITY_BY_THREAD) return;
  for (const thread of threadsOfProcess()) if (thread !== process.pid) lower(thread, by);
}

function threadsOfProcess(): number[] {
  try {
    return readdirSync("/proc/self/task").map(Number);
  } catch {
    // Some containers have no /proc.
    return [];
  }
}

/** @param thread 0: the calling thread */
function lower(thread: number, by: number): void {
  try {
    setPriority(thread, Math.min(19, getPriority(thread) + by));
  } catch {
    // The thread has ended, or the container forbids it.
  }
}
