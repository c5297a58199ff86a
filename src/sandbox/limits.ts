/** What a task's workspace may hold, temporary files included. A path deeper than this is too many folders. */
export const WORKSPACE_LIMITS = {
  files: 1_000,
  bytes: 64 * 2 ** 20,
  fileBytes: 16 * 2 ** 20,
  depth: 32,
} as const;

/** What one run of Python may use. */
export const PYTHON_LIMITS = {
  wallMs: 5_000,
  /** Resident memory of all processes together, and address space of each. */
  memoryBytes: 512 * 2 ** 20,
  processes: 32,
  openFiles: 64,
  cpuSeconds: 5,
  /** Written to disk altogether: what is deleted while it is open would not show in the workspace. */
  writtenBytes: 256 * 2 ** 20,
  /** Kept of stdout, and of stderr. */
  outputBytes: 20_000,
  /** Printed in all, after which the run is stopped. */
  printedBytes: 4 * 2 ** 20,
} as const;
