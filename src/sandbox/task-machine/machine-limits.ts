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
