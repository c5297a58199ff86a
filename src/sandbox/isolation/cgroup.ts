// Limits the memory and processes of a sandbox with a cgroup (version 2), if this process may create one.
import { spawn } from "node:child_process";
import { once } from "node:events";
import { access, constants, mkdir, readdir, rmdir, writeFile } from "node:fs/promises";
import { dirname, join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { isProcessAlive } from "../../platform/processes.js";
import { readOrEmpty } from "../limits.js";

/** Limits for all processes of one cgroup together. */
export interface CgroupLimits {
  readonly memoryBytes: number;
  readonly processes: number;
  /** Whether the kernel kills all processes when memory runs out, or only one of them. */
  readonly endTogether: boolean;
}

const PROBE: CgroupLimits = { memoryBytes: 64 * 2 ** 20, processes: 8, endTogether: true };

const NAME = "art-e-";
/** Leaf for this process itself: only a cgroup without its own processes can have children with limits. */
const OWN_LEAF = `${NAME}main`;
const CONTROLLERS = ["memory", "pids"];
/** Additional processes allowed for the sandbox's first process and for processes whose lifetimes overlap. */
const SPARE_PROCESSES = 4;
const REMOVE_TRIES = 200;

type CgroupChoice = { readonly ok: true; readonly parent: CgroupParent } | { readonly ok: false; readonly why: string };

/**
 * Finds a place for cgroups (version 2) with limits: below the cgroup of this process, or next to it, if permissions
 * allow it. See https://docs.kernel.org/admin-guide/cgroup-v2.html.
 */
export async function findCgroups(): Promise<CgroupChoice> {
  const own = ownFolder(await readOrEmpty("/proc/self/mountinfo"), await readOrEmpty("/proc/self/cgroup"));
  if (own === null) return { ok: false, why: "cgroup v2 is not mounted" };
  const offered = await readWords(join(own.mount, "cgroup.controllers"));
  const missing = CONTROLLERS.filter((name) => !offered.includes(name));
  if (missing.length > 0)
    return { ok: false, why: `cgroup v2 does not offer the controllers ${missing.join(" and ")}` };
  for (let folder = own.folder; folder.length >= own.mount.length; folder = dirname(folder)) {
    if (await canHold(folder, folder === own.folder)) {
      const parent = new CgroupParent(folder);
      if (await parent.works()) return { ok: true, parent };
    }
    if (folder === own.mount) break;
  }
  return {
    ok: false,
    why: "no permission to create a cgroup (systemd-run --user --scope -p Delegate=yes art-e ... provides one)",
  };
}

/** Returns the folders of this process's cgroup and of its mount, or null if there is no cgroup. */
export function ownFolder(mountinfo: string, cgroup: string): { mount: string; folder: string } | null {
  const path = /^0::(\/.*)$/m.exec(cgroup)?.[1];
  const mounted = /^(?:\S+ ){3}(\/\S*) (\S+) .* - cgroup2 /m.exec(mountinfo);
  if (path === undefined || mounted === null) return null;
  const [, root = "/", mount = ""] = mounted;
  // A container can see only a part of the tree, under the tree's own names.
  const below = root !== "/" && (path === root || path.startsWith(`${root}/`)) ? path.slice(root.length) : path;
  if (below.startsWith("/..")) return null;
  return { mount, folder: join(mount, below).replace(/\/$/, "") };
}

/**
 * Returns whether children of this cgroup can be created, entered and limited. If the cgroup contains only this
 * process, makes that possible.
 */
async function canHold(folder: string, own: boolean): Promise<boolean> {
  try {
    await access(folder, constants.W_OK);
    await access(join(folder, "cgroup.procs"), constants.W_OK);
    if (await handsDown(folder)) return true;
    if (!own || (await readOrEmpty(join(folder, "cgroup.procs"))).trim() !== String(process.pid)) return false;
    const leaf = join(folder, OWN_LEAF);
    await mkdir(leaf, { recursive: true });
    await writeFile(join(leaf, "cgroup.procs"), String(process.pid));
    await writeFile(join(folder, "cgroup.subtree_control"), CONTROLLERS.map((name) => `+${name}`).join(" "));
    return await handsDown(folder);
  } catch {
    return false;
  }
}

async function handsDown(folder: string): Promise<boolean> {
  const words = await readWords(join(folder, "cgroup.subtree_control"));
  return CONTROLLERS.every((name) => words.includes(name));
}

/** Parent cgroup that contains one cgroup per sandbox. */
export class CgroupParent {
  private made = 0;

  constructor(private readonly folder: string) {}

  async create({ memoryBytes, processes, endTogether }: CgroupLimits): Promise<Cgroup> {
    const folder = join(this.folder, `${NAME}${process.pid}-${++this.made}`);
    await mkdir(folder);
    const cgroup = new Cgroup(folder);
    try {
      await writeFile(join(folder, "memory.max"), String(memoryBytes));
      await writeFile(join(folder, "pids.max"), String(processes + SPARE_PROCESSES));
      await writeFile(join(folder, "memory.oom.group"), endTogether ? "1" : "0");
      // Missing if the kernel does not account for swap.
      await writeFile(join(folder, "memory.swap.max"), "0").catch(() => undefined);
      return cgroup;
    } catch (error) {
      await cgroup.remove();
      throw error;
    }
  }

  /** Tests the cgroup with a process, and removes cgroups of dead processes. */
  async works(): Promise<boolean> {
    const child = spawn("cat", { stdio: ["pipe", "ignore", "ignore"], cwd: "/" });
    const exit = once(child, "close").catch(() => undefined);
    let cgroup: Cgroup | null = null;
    try {
      await this.removeLeft();
      cgroup = await this.create(PROBE);
      if (child.pid === undefined) return false;
      await cgroup.add(child.pid);
      return true;
    } catch {
      return false;
    } finally {
      child.stdin.end();
      await exit;
      await cgroup?.remove();
    }
  }

  private async removeLeft(): Promise<void> {
    for (const name of await readdir(this.folder)) {
      const pid = new RegExp(`^${NAME}(\\d+)-\\d+$`).exec(name)?.[1];
      if (pid === undefined || isProcessAlive(Number(pid))) continue;
      await rmdir(join(this.folder, name)).catch(() => undefined);
    }
  }
}

export class Cgroup {
  constructor(private readonly folder: string) {}

  async add(pid: number): Promise<void> {
    await writeFile(join(this.folder, "cgroup.procs"), String(pid));
  }

  /** Returns whether the kernel has killed processes because they exceeded the memory limit. */
  async ranOutOfMemory(): Promise<boolean> {
    return /^oom_kill [1-9]/m.test(await readOrEmpty(join(this.folder, "memory.events")));
  }

  /** Kills all processes of the cgroup. Requires Linux 5.14. */
  async kill(): Promise<void> {
    await writeFile(join(this.folder, "cgroup.kill"), "1").catch(() => undefined);
  }

  /**
   * Removes the cgroup. A process that has just ended can remain in it for a moment. A leftover cgroup costs nothing.
   */
  async remove(): Promise<void> {
    for (let tries = 0; tries < REMOVE_TRIES; tries++) {
      try {
        return await rmdir(this.folder);
      } catch (error) {
        if ((error as NodeJS.ErrnoException).code !== "EBUSY") return;
        await sleep(5);
      }
    }
  }
}

async function readWords(file: string): Promise<string[]> {
  return (await readOrEmpty(file)).split(/\s+/).filter((word) => word !== "");
}
