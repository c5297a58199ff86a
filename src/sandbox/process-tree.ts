import { readdir, readFile } from "node:fs/promises";

/** Of the process and all its descendants, as Linux tells; what has ended meanwhile or may not be read counts nothing. */
export interface TreeUsage {
  /** Resident. */
  readonly memoryBytes: number;
  /** Handed to disks, by processes that have ended and were waited for too. */
  readonly writtenBytes: number;
}

export async function usageOfTree(pid: number): Promise<TreeUsage> {
  const [memory, written, children] = await Promise.all([memoryOf(pid), writtenBy(pid), childrenOf(pid)]);
  const below = await Promise.all(children.map(usageOfTree));
  return {
    memoryBytes: below.reduce((sum, { memoryBytes }) => sum + memoryBytes, memory),
    writtenBytes: below.reduce((sum, { writtenBytes }) => sum + writtenBytes, written),
  };
}

/** True also for one that has ended and that nobody has waited for. */
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
  const kilobytes = /^VmRSS:\s+(\d+) kB$/m.exec(await read(`/proc/${pid}/status`))?.[1];
  return Number(kilobytes ?? 0) * 1024;
}

async function writtenBy(pid: number): Promise<number> {
  return Number(/^write_bytes: (\d+)$/m.exec(await read(`/proc/${pid}/io`))?.[1] ?? 0);
}

function read(path: string): Promise<string> {
  return readFile(path, "utf8").catch(() => "");
}
