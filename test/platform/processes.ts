import { readFileSync } from "node:fs";

/** Waits until a process is gone. A zombie counts as gone. */

export async function gone(pid: number): Promise<void> {
  while (isThere(pid)) await new Promise((resolve) => setTimeout(resolve, 20));
}

export function isThere(pid: number): boolean {
  try {
    process.kill(pid, 0);
    return !/^\d+ \(.*\) [ZX]/s.test(readFileSync(`/proc/${pid}/stat`, "utf8"));
  } catch {
    return false;
  }
}
