import type { WorkspaceFolders } from "../../domain/agents/workspace.js";
import { PYTHON_LIMITS } from "../sandbox-limits.js";
import { type BubblewrapStatus, bindProcesses } from "./bubblewrap-status.js";
import type { Cgroup, CgroupParent } from "./cgroup.js";
import { PrivateFolders } from "./private-folders.js";

/** A sandbox that Python has been started in and in which it waits for its program. */
export interface ReadySandbox {
  /** The process that all others in it are below. */
  readonly pid: number;
  readonly files: PrivateFolders;
  readonly cgroup: Cgroup | null;
}

const LIMITS = { memoryBytes: PYTHON_LIMITS.memoryBytes, processes: PYTHON_LIMITS.processes, endTogether: true };

/** Binds the sandbox's processes and gives them the workspace, while no foreign code runs yet. Null: it has ended. */
export async function prepareSandbox(
  status: BubblewrapStatus,
  cgroups: CgroupParent | null,
  folders: WorkspaceFolders,
): Promise<ReadySandbox | null> {
  const pid = await status.ready();
  if (pid === null) return null;
  const files = await PrivateFolders.open(pid, folders);
  try {
    return { pid, files, cgroup: cgroups === null ? null : await bindProcesses(pid, cgroups, LIMITS) };
  } catch (error) {
    await files.close();
    throw error;
  }
}
