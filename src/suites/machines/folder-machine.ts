import { constants, createWriteStream } from "node:fs";
import { copyFile, cp, lstat, mkdir, open, rm } from "node:fs/promises";
import { dirname, join, posix } from "node:path";
import { pipeline } from "node:stream/promises";
import type { TaskMachine } from "../../domain/tasks/task-machine.js";
import { hasCode } from "../evaluation/suite-files.js";

/** A machine that is a plain folder, which stands for its file system: grades what was left, and runs nothing. */
export class FolderMachine implements TaskMachine {
  readonly canRun = false;

  constructor(private readonly root: string) {}

  async copyIn(from: string, path: string): Promise<void> {
    const target = await this.#resolve(path);
    await mkdir(dirname(target), { recursive: true });
    await rm(target, { recursive: true, force: true });
    const { isDirectory } = await lstat(from).then((stat) => ({ isDirectory: stat.isDirectory() }));
    if (isDirectory) await cp(from, target, { recursive: true, dereference: false });
    else await copyFile(from, target);
  }

  async copyOut(path: string, to: string): Promise<boolean> {
    const source = await this.#resolve(path);
    try {
      await using file = await open(source, constants.O_RDONLY | constants.O_NOFOLLOW | constants.O_NONBLOCK);
      if (!(await file.stat()).isFile()) return false;
      await pipeline(file.createReadStream({ autoClose: false }), createWriteStream(to));
      return true;
    } catch (error) {
      if (["ENOENT", "ENOTDIR", "ELOOP", "ENXIO", "EISDIR"].some((code) => hasCode(error, code))) return false;
      throw error;
    }
  }

  run(): never {
    throw new Error("a folder cannot run commands");
  }

  /** No part of the path may be a link or lead out of the folder. */
  async #resolve(path: string): Promise<string> {
    if (!posix.isAbsolute(path) || path.includes("\0")) throw new Error(`${path} is not an absolute path`);
    const names = posix
      .normalize(path)
      .split("/")
      .filter((name) => name !== "");
    let current = this.root;
    for (const name of names.slice(0, -1)) {
      current = join(current, name);
      const stat = await lstat(current).catch((error) => {
        if (hasCode(error, "ENOENT") || hasCode(error, "ENOTDIR")) return null;
        throw error;
      });
      if (stat?.isSymbolicLink()) throw new Error(`${path} leads through a link`);
    }
    return join(current, names.at(-1) ?? "");
  }
}
