import type { ChildProcess } from "node:child_process";
import { once } from "node:events";
import type { Readable, Writable } from "node:stream";
import type { WorkspaceFolders } from "../../domain/agents/workspace.js";
import { isGone, usageOfTree } from "../process-tree.js";
import type { Cgroup, CgroupParent } from "./cgroup.js";
import { PrivateFolders } from "./private-folders.js";

/** A sandbox that Python has been started in and in which it waits for its program. */
export interface ReadySandbox {
  /** The process that all others in it are below. */
  readonly pid: number;
  readonly files: PrivateFolders;
  readonly cgroup: Cgroup | null;
}

/** What bwrap says on descriptor 4, and Python on 5. */
export class BubblewrapStatus {
  #said = "";
  readonly #ready: Promise<unknown>;

  constructor(child: ChildProcess) {
    (child.stdio[4] as Readable).setEncoding("utf8").on("data", (text: string) => {
      this.#said += text;
    });
    const readyPipe = (child.stdio as readonly unknown[])[5] as Readable;
    this.#ready = Promise.race([once(readyPipe, "data"), once(child, "close")]).catch(() => undefined);
    readyPipe.resume();
  }

  get pid(): number | undefined {
    const pid = /"child-pid": *(\d+)/.exec(this.#said)?.[1];
    return pid === undefined ? undefined : Number(pid);
  }

  /** The sandbox's first process goes last, after every other in it. */
  async allGone(): Promise<void> {
    if (this.pid === undefined) return;
    while (!(await isGone(this.pid))) await new Promise((resolve) => setTimeout(resolve, 2));
  }

  /** Binds the sandbox's processes and gives them the workspace, while no foreign code runs yet. Null: it has ended. */
  async prepare(cgroups: CgroupParent | null, folders: WorkspaceFolders): Promise<ReadySandbox | null> {
    await this.#ready;
    const pid = this.pid;
    if (pid === undefined || (await isGone(pid))) return null;
    const files = await PrivateFolders.open(pid, folders);
    let cgroup: Cgroup | null = null;
    try {
      cgroup = (await cgroups?.create()) ?? null;
      if (cgroup !== null) for (const each of (await usageOfTree(pid)).pids) await cgroup.add(each);
      return { pid, files, cgroup };
    } catch (error) {
      await files.close();
      await cgroup?.remove();
      throw error;
    }
  }
}

/** A program that does not read its input to the end is no fault. */
export function feed(stream: Writable, content: string | Buffer): void {
  stream.on("error", () => undefined);
  stream.end(content);
}
