import type { MachineLimits } from "./machine-limits.js";

/** What the machine's first process is told to bind itself and its commands by. */
export function guestLimits(limits: MachineLimits): object {
  return {
    address_bytes: limits.addressBytes,
    processes: limits.processes,
    open_files: limits.openFiles,
    output_bytes: limits.outputBytes,
    file_bytes: Math.max(...Object.values(limits.disk)),
  };
}
