import { readdirSync } from "node:fs";
import { getPriority, setPriority } from "node:os";

/**
 * Where cores are few, the loop of a run must not stand behind those that work for it: what is late there holds up every
 * task. On Linux alone a priority is a thread's, elsewhere its process's (`man 2 setpriority`, under "C library/kernel
 * differences"): there nothing is changed.
 */
const HAS_PRIORITY_BY_THREAD = process.platform === "linux";

/** Makes this thread so much less urgent. */
export function lowerThreadPriority(by: number): void {
  if (HAS_PRIORITY_BY_THREAD) lower(0, by);
}

/**
 * Makes all other threads that the process has by now so much less urgent. Called before it makes any of its own, they are
 * those in which V8 compiles and helps to collect, and in which Node reads files and looks up names.
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

/** @param thread 0: this one */
function lower(thread: number, by: number): void {
  try {
    setPriority(thread, Math.min(19, getPriority(thread) + by));
  } catch {
    // It has ended, or a container forbids it: then it is as urgent as the loop.
  }
}
