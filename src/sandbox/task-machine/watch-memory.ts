import { readFile, statfs } from "node:fs/promises";
import { setTimeout as sleep } from "node:timers/promises";
import { socketBytesOf, usageOfTree } from "../process-tree.js";
import type { MachineLimits } from "./machine-limits.js";

const LOOK_EVERY_MS = 200;
/** What the kernel takes for a file or folder, whatever it holds. */
const INODE_BYTES = 1536;

/**
 * Where no cgroup binds the machine: looks at what its processes, files and sockets take together. `onTooMuch` ends the
 * processes; where the files alone are too much, `onFull` ends the machine.
 */
export async function watchMemory(
  pid: number,
  limits: MachineLimits,
  onTooMuch: () => Promise<void>,
  onFull: () => void,
  over: AbortSignal,
): Promise<void> {
  while (!over.aborted) {
    const [{ memoryBytes }, sockets, files] = await Promise.all([
      usageOfTree(pid),
      bytesInSockets(pid),
      bytesInFiles(pid, limits),
    ]);
    if (over.aborted) return;
    if (files > limits.memoryBytes) onFull();
    else if (memoryBytes + sockets + files > limits.memoryBytes) await onTooMuch();
    await sleep(LOOK_EVERY_MS, undefined, { signal: over }).catch(() => undefined);
  }
}

async function bytesInFiles(pid: number, { disk }: MachineLimits): Promise<number> {
  const systems = await Promise.all(
    Object.keys(disk).map((path) => statfs(`/proc/${pid}/root${path}`).catch(() => null)),
  );
  return systems.reduce((sum, system) => {
    if (system === null) return sum;
    const { blocks, bfree, bsize, files, ffree } = system;
    return sum + (blocks - bfree) * bsize + (files - ffree) * INODE_BYTES;
  }, 0);
}

/** What unix sockets may hold at most, and what waits in those of loopback. */
async function bytesInSockets(pid: number): Promise<number> {
  const tables = await Promise.all(
    ["tcp", "tcp6", "udp", "udp6"].map((name) => readFile(`/proc/${pid}/net/${name}`, "utf8").catch(() => "")),
  );
  let waiting = 0;
  for (const [, sent = "0", received = "0"] of tables.join("\n").matchAll(/ ([0-9A-F]{8}):([0-9A-F]{8}) \d\d:/g)) {
    waiting += Number.parseInt(sent, 16) + Number.parseInt(received, 16);
  }
  return waiting + (await socketBytesOf(pid));
}
