import { readFileSync } from "node:fs";
import { readdir, readFile } from "node:fs/promises";

export interface MachineLimits {
  /** Resident memory of all processes together with the files, which lie in memory. */
  readonly memoryBytes: number;
  /** Address space of each process: more than it may use, since libraries reserve much that they never touch. */
  readonly addressBytes: number;
  /** Threads count. */
  readonly processes: number;
  readonly openFiles: number;
  /** The file systems that can be written to, by their paths, with their sizes. */
  readonly disk: Readonly<Record<string, number>>;
  /** Kept of a command's stdout and stderr each. */
  readonly outputBytes: number;
  /** The longest time limit of a command. */
  readonly commandMs: number;
  /** Starting is quick, but not on a machine that is busy. */
  readonly startMs: number;
  /** Within which it answers what takes no time of its own. */
  readonly answerMs: number;
  /** The largest file that is copied in or out, and what one folder may bring along. */
  readonly copyBytes: number;
  readonly copyFiles: number;
}

/** Limits of one task's machine. */
export const MACHINE_LIMITS: MachineLimits = {
  memoryBytes: 4 * 2 ** 30,
  addressBytes: 16 * 2 ** 30,
  processes: 512,
  openFiles: 1024,
  disk: { "/home/user": 2 ** 30, "/tmp": 512 * 2 ** 20, "/dev/shm": 256 * 2 ** 20, "/mnt": 64 * 2 ** 20 },
  outputBytes: 2 ** 20,
  commandMs: 3_600_000,
  startMs: 30_000,
  answerMs: 60_000,
  copyBytes: 256 * 2 ** 20,
  copyFiles: 5_000,
};

/** The programs of its own that a snapshot puts on the path. */
export const SHIMS = "/opt/machine/bin";

/** `nobody`, as every Linux has it. */
const NOBODY = 65_534;

/**
 * Whom untrusted code runs as: as root somebody else, since the kernel's limit on processes does not bind root,
 * not even root that has no rights left; otherwise null, whoever runs this program. So too where root is one of a
 * container that has no other users, whom the limit does bind.
 */
export function sandboxUser(): { readonly uid: number; readonly gid: number } | null {
  if (process.getuid?.() !== 0 || !isMapped("uid") || !isMapped("gid")) return null;
  return { uid: NOBODY, gid: NOBODY };
}

/** Whether nobody is a user here: lines of the map are the first id inside, the first outside, and how many. */
function isMapped(kind: "uid" | "gid"): boolean {
  let map: string;
  try {
    map = readFileSync(`/proc/self/${kind}_map`, "utf8");
  } catch {
    return true;
  }
  return map.split("\n").some((line) => {
    const [first = 0, , count = 0] = line.trim().split(/\s+/).map(Number);
    return first <= NOBODY && NOBODY < first + count;
  });
}

/** Limits of a task's workspace, temporary files included. */
export const WORKSPACE_LIMITS = {
  files: 1_000,
  bytes: 64 * 2 ** 20,
  fileBytes: 16 * 2 ** 20,
  depth: 32,
} as const;

/** Limits of one Python run. */
export const PYTHON_LIMITS = {
  wallMs: 5_000,
  /** Resident memory of all processes together, and address space of each. */
  memoryBytes: 512 * 2 ** 20,
  processes: 32,
  openFiles: 64,
  /** Of each process. More than threads can use before `wallMs`, which says why it stopped; this one would not. */
  cpuSeconds: 60,
  /** Total bytes written: files deleted while open do not show in the workspace. */
  writtenBytes: 256 * 2 ** 20,
  /** Kept of stdout and stderr each. */
  outputBytes: 20_000,
  /** Printed in all, after which the run is stopped. */
  printedBytes: 4 * 2 ** 20,
} as const;

/** Totals of a process and its descendants from /proc; ended or unreadable processes count as 0. */
interface TreeUsage {
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
  const [sockets, buffer] = await Promise.all([
    readOrEmpty(`/proc/${pid}/net/unix`),
    readOrEmpty("/proc/sys/net/core/wmem_default"),
  ]);
  // The first line is the table's head, and the last is empty.
  return Math.max(0, sockets.split("\n").length - 2) * Number(buffer || 212_992);
}

/** Also true for a zombie. */
export async function isGone(pid: number): Promise<boolean> {
  const stat = await readOrEmpty(`/proc/${pid}/stat`);
  return stat === "" || /\) [ZX] /.test(stat);
}

async function childrenOf(pid: number): Promise<number[]> {
  const threads = await readdir(`/proc/${pid}/task`).catch(() => []);
  const lists = await Promise.all(threads.map((thread) => readOrEmpty(`/proc/${pid}/task/${thread}/children`)));
  return lists.flatMap((list) =>
    list
      .split(" ")
      .filter((word) => word !== "")
      .map(Number),
  );
}

async function memoryOf(pid: number): Promise<number> {
  const status = await readOrEmpty(`/proc/${pid}/status`);
  let kilobytes = 0;
  for (const [, found] of status.matchAll(/^Vm(?:RSS|Swap|PTE):\s+(\d+) kB$/gm)) kilobytes += Number(found);
  return kilobytes * 1024;
}

async function writtenBy(pid: number): Promise<number> {
  return Number(/^write_bytes: (\d+)$/m.exec(await readOrEmpty(`/proc/${pid}/io`))?.[1] ?? 0);
}

/** Empty where it cannot be read. */
export function readOrEmpty(path: string): Promise<string> {
  return readFile(path, "utf8").catch(() => "");
}
