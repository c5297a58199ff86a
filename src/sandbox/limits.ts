// Limits of untrusted code, and what its processes use of them according to /proc.
import { readFileSync } from "node:fs";
import { readdir, readFile } from "node:fs/promises";

export interface MachineLimits {
  /** Resident memory of all processes, plus the files, which are in memory. */
  readonly memoryBytes: number;
  /**
   * Address space per process. Larger than the memory limit, because libraries reserve a lot of address space that they
   * never use.
   */
  readonly addressBytes: number;
  /** Maximum number of processes, including threads. */
  readonly processes: number;
  readonly openFiles: number;
  /** Sizes of the writable file systems, by path. */
  readonly disk: Readonly<Record<string, number>>;
  /** Maximum bytes of stdout, and of stderr, kept per command. */
  readonly outputBytes: number;
  /** Maximum time limit of a command. */
  readonly commandMs: number;
  /** Maximum time to start. Starting is fast, except on a busy machine. */
  readonly startMs: number;
  /** Maximum time to respond to a request that does no work. */
  readonly answerMs: number;
  /** Maximum bytes and files per copied file or folder. */
  readonly copyBytes: number;
  readonly copyFiles: number;
}

/** Totals for a process and its descendants from /proc. Ended or unreadable processes count as 0. */
interface TreeUsage {
  /** Resident or swapped memory, including page tables. */
  readonly memoryBytes: number;
  /** Bytes written to disks, including by ended processes that were waited for. */
  readonly writtenBytes: number;
  readonly pids: readonly number[];
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

/** Folder, first on the path, for a snapshot's own programs. */
export const SHIMS = "/opt/machine/bin";

/** User id of `nobody` on every Linux system. */
const NOBODY = 65_534;

/**
 * Returns the user that untrusted code runs as. For root, this is `nobody`, because the kernel's process limit does not
 * apply to root, even without capabilities. Otherwise, it is null, which means the current user. It is also null for
 * root in a container without other users, because the limit applies to this root user.
 */
export function sandboxUser(): { readonly uid: number; readonly gid: number } | null {
  if (process.getuid?.() !== 0 || !isMapped("uid") || !isMapped("gid")) return null;
  return { uid: NOBODY, gid: NOBODY };
}

/**
 * Returns whether `nobody` is mapped. Each line of the map has the first id inside, the first id outside, and the
 * count.
 */
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

/** Limits of a task's workspace, including temporary files. */
export const WORKSPACE_LIMITS = {
  files: 1_000,
  bytes: 64 * 2 ** 20,
  fileBytes: 16 * 2 ** 20,
  depth: 32,
} as const;

/** Limits of one Python run. */
export const PYTHON_LIMITS = {
  wallMs: 5_000,
  /** Resident memory of all processes together, including the sandbox's own. */
  memoryBytes: 512 * 2 ** 20,
  /**
   * Address space per process. Less than `memoryBytes`, so that a single process reaches this limit first: Python then
   * raises a MemoryError that names the line, but nothing says where a killed process was.
   */
  addressBytes: 480 * 2 ** 20,
  processes: 32,
  openFiles: 64,
  /**
   * CPU time per process. More than the threads can use within `wallMs`, so that `wallMs` is reached first: only that
   * limit reports why it stopped the run.
   */
  cpuSeconds: 60,
  /** Total bytes written, because files deleted while open do not appear in the workspace. */
  writtenBytes: 256 * 2 ** 20,
  /** Maximum bytes of stdout, and of stderr, to keep. */
  outputBytes: 20_000,
  /** Maximum bytes of output, after which the run is stopped. */
  printedBytes: 4 * 2 ** 20,
} as const;

export async function usageOfTree(pid: number): Promise<TreeUsage> {
  const [memory, ioBytes, children] = await Promise.all([memoryOf(pid), writtenBy(pid), childrenOf(pid)]);
  const below = await Promise.all(children.map(usageOfTree));
  return {
    memoryBytes: below.reduce((sum, { memoryBytes }) => sum + memoryBytes, memory),
    writtenBytes: below.reduce((sum, { writtenBytes }) => sum + writtenBytes, ioBytes),
    pids: [pid, ...below.flatMap(({ pids }) => pids)],
  };
}

/**
 * Returns the maximum bytes in the sockets of the process's own network namespace. Socket buffers are not reported
 * anywhere, but in the sandbox none can exceed the system's default.
 */
export async function socketBytesOf(pid: number): Promise<number> {
  const [sockets, buffer] = await Promise.all([
    readOrEmpty(`/proc/${pid}/net/unix`),
    readOrEmpty("/proc/sys/net/core/wmem_default"),
  ]);
  // The first line is the table's header, and the last is empty.
  return Math.max(0, sockets.split("\n").length - 2) * Number(buffer || 212_992);
}

/** Returns whether a process has ended. Also true for a zombie. */
export async function isGone(pid: number): Promise<boolean> {
  const stat = await readOrEmpty(`/proc/${pid}/stat`);
  return stat === "" || /\) [ZX] /.test(stat);
}

async function childrenOf(pid: number): Promise<number[]> {
  const threads = await readdir(`/proc/${pid}/task`).catch(() => []);
  const lists = await Promise.all(threads.map((thread) => readOrEmpty(`/proc/${pid}/task/${thread}/children`)));
  return lists.flatMap((list) => list.match(/\d+/g) ?? []).map(Number);
}

async function memoryOf(pid: number): Promise<number> {
  const status = await readOrEmpty(`/proc/${pid}/status`);
  let kilobytes = 0;
  for (const [, size] of status.matchAll(/^Vm(?:RSS|Swap|PTE):\s+(\d+) kB$/gm)) kilobytes += Number(size);
  return kilobytes * 1024;
}

async function writtenBy(pid: number): Promise<number> {
  return Number(/^write_bytes: (\d+)$/m.exec(await readOrEmpty(`/proc/${pid}/io`))?.[1] ?? 0);
}

/** Returns the file's text, or an empty string if it cannot be read. */
export function readOrEmpty(path: string): Promise<string> {
  return readFile(path, "utf8").catch(() => "");
}
