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
