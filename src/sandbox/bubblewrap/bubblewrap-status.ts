import type { ChildProcess } from "node:child_process";
import { once } from "node:events";
import type { Readable, Writable } from "node:stream";
import { isGone, usageOfTree } from "../process-tree.js";
import type { Cgroup, CgroupLimits, CgroupParent } from "./cgroup.js";

/** What bwrap says on descriptor 4, and the program in the sandbox on 5. */
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

  /** The process that all others in the sandbox are below, as soon as it waits for its work. Null: it has ended. */
  async ready(): Promise<number | null> {
    await this.#ready;
    const pid = this.pid;
    return pid === undefined || (await isGone(pid)) ? null : pid;
  }
}

/** Binds the processes of a sandbox, in which no foreign code runs yet. */
export async function bindProcesses(pid: number, parent: CgroupParent, limits: CgroupLimits): Promise<Cgroup> {
  const cgroup = await parent.create(limits);
  try {
    for (const each of (await usageOfTree(pid)).pids) await cgroup.add(each);
    return cgroup;
  } catch (error) {
    await cgroup.remove();
    throw error;
  }
}

/** A program that does not read its input to the end is no fault. */
export function feed(stream: Writable, content: string | Buffer): void {
  stream.on("error", () => undefined);
  stream.end(content);
}
