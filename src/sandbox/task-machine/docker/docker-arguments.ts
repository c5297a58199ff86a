import { HOME } from "../../../domain/tasks/task-machine.js";
import { GUEST } from "../built-in-files.js";
import { guestLimits } from "../guest-limits.js";
import type { MachineLimits } from "../machine-limits.js";

/** Threads of Docker's own in the container. */
const SPARE_PROCESSES = 16;
const SHARED_MEMORY = "/dev/shm";

/**
 * Nothing of this machine but the program of the first process; loopback alone; file systems in memory of a size that
 * cannot be passed; no rights and no new ones.
 */
export function dockerMachineArguments(
  name: string,
  image: string,
  guestFolder: string,
  limits: MachineLimits,
): string[] {
  const memory = String(limits.memoryBytes);
  return [
    ["run", "--rm", "--interactive", "--pull", "never", "--name", name, "--network", "none", "--read-only"],
    ["--cap-drop", "ALL", "--security-opt", "no-new-privileges", "--user", "1000:1000"],
    ["--memory", memory, "--memory-swap", memory, "--pids-limit", String(limits.processes + SPARE_PROCESSES)],
    ["--hostname", "machine", "--log-driver", "none", "--workdir", HOME, "--entrypoint", "python3"],
    ["--mount", `type=bind,source=${guestFolder},target=${GUEST},readonly`],
    Object.entries(limits.disk).flatMap(([path, size]) =>
      path === SHARED_MEMORY ? ["--shm-size", String(size)] : ["--tmpfs", `${path}:${tmpfsOptions(path, size)}`],
    ),
    [image, "-I", "-S", "-B", "-X", "utf8", GUEST, JSON.stringify(guestLimits(limits))],
  ].flat();
}

function tmpfsOptions(path: string, size: number): string {
  const owner = path === HOME ? "mode=0755,uid=1000,gid=1000" : "mode=1777";
  return `rw,exec,nosuid,nodev,size=${size},${owner}`;
}
