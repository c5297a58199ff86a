import { readdir, readFile } from "node:fs/promises";

/** Totals of a process and its descendants from /proc; ended or unreadable processes count as 0. */
export interface TreeUsage {
  /** Resident or swapped out, with the tables that say where. */
  readonly memoryBytes: number;
  /** Handed to disks, by processes that have ended and were waited for too. */
  readonly writtenBytes: number;
  readonly pids: readonly number[];
}

export async function usageOfTree(pid: number): Promise<TreeUsage> {
  const [memory, written, children] = await Promise.all([memoryOf(pid), writtenBy(pid), childrenOf(pid)]);
  const below = await Promise.all(children.map(usageOfTree));
  return {
    memoryBytes: below.reduce((sum, { memoryBytes }) => sum + memoryBytes, memory),
    writtenBytes: below.reduce((sum, { writtenBytes }) => sum + writtenBytes, written),
    pids: [pid, ...below.flatMap(({ pids }) => pids)],
  };
}

/**
 * What the sockets of the process's own network may hold at most: a socket's buffer shows nowhere, but none can be made
 * larger than the system's default in the sandbox.
 */
export async function socketBytesOf(pid: number): Promise<number> {
  const [sockets, buffer] = await Promise.all([read(`/proc/${pid}/net/unix`), read("/proc/sys/net/core/wmem_default")]);
  // The first line is the table's head, and the last is empty.
  return Math.max(0, sockets.split("\n").length - 2) * Number(buffer || 212_992);
}

/** Also true for a zombie. */
export async function isGone(pid: number): Promise<boolean> {
  const stat = await read(`/proc/${pid}/stat`);
  return stat === "" || /\) [ZX] /.test(stat);
}

async function childrenOf(pid: number): Promise<number[]> {
  const threads = await readdir(`/proc/${pid}/task`).catch(() => []);
  const lists = await Promise.all(threads.map((thread) => read(`/proc/${pid}/task/${thread}/children`)));
  return lists.flatMap((list) =>
    list
      .split(" ")
      .filter((word) => word !== "")
      .map(Number),
  );
}

async function memoryOf(pid: number): Promise<number> {
  const status = await read(`/proc/${pid}/status`);
  let kilobytes = 0;
  for (const [, found] of status.matchAll(/^Vm(?:RSS|Swap|PTE):\s+(\d+) kB$/gm)) kilobytes += Number(found);
  return kilobytes * 1024;
}

async function writtenBy(pid: number): Promise<number> {
  return Number(/^write_bytes: (\d+)$/m.exec(await read(`/proc/${pid}/io`))?.[1] ?? 0);
}

function read(path: string): Promise<string> {
  return readFile(path, "utf8").catch(() => "");
}
