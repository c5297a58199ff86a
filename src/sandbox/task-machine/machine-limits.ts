/** Limits of one task's machine. */
export const MACHINE_LIMITS = {
  /** Resident memory of all processes together with the files, which lie in memory. */
  memoryBytes: 4 * 2 ** 30,
  /** Address space of each process: more than it may use, since libraries reserve much that they never touch. */
  addressBytes: 16 * 2 ** 30,
  /** Threads count. */
  processes: 512,
  openFiles: 1024,
  /** Of the file systems that can be written to. */
  disk: { "/home/user": 2 ** 30, "/tmp": 512 * 2 ** 20, "/dev/shm": 256 * 2 ** 20, "/mnt": 64 * 2 ** 20 },
  /** Kept of a command's stdout and stderr each. */
  outputBytes: 2 ** 20,
  /** The longest time limit of a command. */
  commandMs: 3_600_000,
  /** Starting is quick, but not on a machine that is busy. */
  startMs: 30_000,
  /** Within which it answers what takes no time of its own. */
  answerMs: 60_000,
  /** The largest file that is copied in or out, and what one folder may bring along. */
  copyBytes: 256 * 2 ** 20,
  copyFiles: 5_000,
} as const;

export type MachineLimits = typeof MACHINE_LIMITS;

export const HOME = "/home/user";
/** The programs of its own that a snapshot puts on the path. */
export const SHIMS = "/opt/machine/bin";
