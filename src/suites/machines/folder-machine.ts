// A machine that is only a folder, for grading that needs files but runs nothing.
import { constants, createWriteStream } from "node:fs";
import { copyFile, cp, lstat, mkdir, open, rm } from "node:fs/promises";
import { dirname, join, posix } from "node:path";
import { pipeline } from "node:stream/promises";
import { hasCode } from "../../platform/errors.js";
import type { TaskMachine, TaskMachines } from "../../sandbox/task-machine.js";
import { makeTemporaryFolder } from "../../sandbox/workspace.js";
import { MAX_FILE_BYTES } from "../task/suite-files.js";

/** A machine that is only a folder with the machine's files. Its files can be graded, but it runs nothing. */
export class FolderMachine implements TaskMachine {
  readonly canRun = false;

  constructor(private readonly root: string) {}

  async copyIn(from: string, path: string): Promise<void> {
    const target = await this.resolve(path);
    if (target === null) throw new Error(`${path} leads through a link`);
    await mkdir(dirname(target), { recursive: true });
    await rm(target, { recursive: true, force: true });
    if ((await lstat(from)).isDirectory()) await cp(from, target, { recursive: true, dereference: false });
    else await copyFile(from, target);
  }

  async copyOut(path: string, to: string): Promise<boolean> {
    const source = await this.resolve(path);
    if (source === null) return false;
    try {
      await using file = await open(source, constants.O_RDONLY | constants.O_NOFOLLOW | constants.O_NONBLOCK);
      const stat = await file.stat();
      if (!stat.isFile()) return false;
      if (stat.size > MAX_FILE_BYTES) throw new Error(`${path} has ${stat.size} bytes, more than ${MAX_FILE_BYTES}`);
      await pipeline(file.createReadStream({ autoClose: false }), createWriteStream(to));
      return true;
    } catch (error) {
      if (hasCode(error, "ENOENT", "ENOTDIR", "ELOOP", "ENXIO", "EISDIR")) return false;
      throw error;
    }
  }

  run(): never {
    throw new Error("a folder cannot run commands");
  }

  /**
   * Returns a path in the folder, or null if one of the parent folders is a link. `..` cannot lead out of the folder.
   */
  private async resolve(path: string): Promise<string | null> {
    if (!posix.isAbsolute(path) || path.includes("\0")) throw new Error(`${path} is not an absolute path`);
    const names = posix
      .normalize(path)
      .split("/")
      .filter((name) => name !== "");
    const last = names.at(-1);
    if (last === undefined) throw new Error(`${path} is not a file`);
    let current = this.root;
    for (const name of names.slice(0, -1)) {
      current = join(current, name);
      const stat = await lstat(current).catch((error) => {
        if (hasCode(error, "ENOENT", "ENOTDIR")) return null;
        throw error;
      });
      if (stat?.isSymbolicLink()) return null;
    }
    return join(current, last);
  }
}

/** Folders as machines for any snapshot, for grading that only needs files. */
export const folderMachines: TaskMachines = {
  findObstacle: async () => null,
  async open() {
    const folder = await makeTemporaryFolder("machine");
    return Object.assign(new FolderMachine(folder), { close: () => rm(folder, { recursive: true, force: true }) });
  },
};
