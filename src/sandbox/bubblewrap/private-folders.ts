import { spawn } from "node:child_process";
import { once } from "node:events";
import { constants } from "node:fs";
import { chmod, type FileHandle, open, opendir, rename, statfs } from "node:fs/promises";
import type { WorkspaceFolders } from "../../domain/agents/workspace.js";
import { INSIDE } from "../workspace/safe-open.js";
import { makeFolder, remove } from "../workspace/workspace.js";

/** Where the sandbox has its temporary files. */
export const TEMPORARY = "/tmp";

/**
 * The sandbox's own /workspace and /tmp, which lie in memory and end with it. An open folder keeps its file system, so
 * that the files can be fetched when every process of the sandbox is gone and nothing can change them any more.
 */
export class PrivateFolders {
  /** They as this process reaches them. */
  readonly folders: WorkspaceFolders;

  private constructor(
    private readonly files: FileHandle,
    private readonly temporary: FileHandle,
    private readonly kept: WorkspaceFolders,
  ) {
    this.folders = { files: pathOf(files), temporary: pathOf(temporary), owner: kept.owner };
  }

  /**
   * Those of the sandbox whose first process is `pid`, filled with what the workspace holds. No foreign code may run
   * in it yet.
   */
  static async open(pid: number, kept: WorkspaceFolders): Promise<PrivateFolders> {
    const files = await openFolder(`/proc/${pid}/root${INSIDE}`);
    const temporary = await openFolder(`/proc/${pid}/root${TEMPORARY}`).catch(async (error: unknown) => {
      await files.close();
      throw error;
    });
    const opened = new PrivateFolders(files, temporary, kept);
    try {
      // Root has no rights in a file system of the sandbox's user, so that this is done as that user.
      await opened.#eachFolder((inside, path) => copyAll(["--", `${path}/.`, HANDED], inside, kept.owner));
      return opened;
    } catch (error) {
      await opened.close();
      throw error;
    }
  }

  /** Bytes in use, also of files that have lost their names. */
  async bytes(): Promise<number> {
    const used = await Promise.all([this.folders.files, this.folders.temporary].map((path) => statfs(path)));
    return used.reduce((sum, { blocks, bfree, bsize }) => sum + (blocks - bfree) * bsize, 0);
  }

  /** Makes the workspace hold what these do. Only when the sandbox is gone. */
  async keep(): Promise<void> {
    await this.#eachFolder(async (inside, path) => {
      const fresh = `${path}.new`;
      await remove(fresh);
      await makeFolder(fresh, this.kept.owner);
      try {
        await copyAll(["--", `${HANDED}/.`, fresh], inside, null);
      } catch {
        // What its owner may not read cannot be copied by that owner.
        await makeReadable(inside);
        await copyAll(["--", `${HANDED}/.`, fresh], inside, null);
      }
      await chmod(fresh, 0o700);
      await remove(path);
      await rename(fresh, path);
    });
  }

  async close(): Promise<void> {
    await this.files.close();
    await this.temporary.close();
  }

  /** Leaves out what is empty on both sides. */
  async #eachFolder(work: (inside: FileHandle, path: string) => Promise<void>): Promise<void> {
    for (const [inside, path] of [
      [this.files, this.kept.files],
      [this.temporary, this.kept.temporary],
    ] as const) {
      if ((await hasEntries(path)) || (await hasEntries(pathOf(inside)))) await work(inside, path);
    }
  }
}

const pathOf = ({ fd }: FileHandle) => `/proc/self/fd/${fd}`;
const openFolder = (path: string) => open(path, constants.O_RDONLY | constants.O_DIRECTORY | constants.O_NOFOLLOW);

async function hasEntries(path: string): Promise<boolean> {
  const folder = await opendir(path);
  try {
    return (await folder.read()) !== null;
  } finally {
    await folder.close();
  }
}

/** The name that a program finds a folder under which it was handed as descriptor 3. */
const HANDED = "/proc/self/fd/3";

const copyAll = (args: readonly string[], handed: FileHandle, user: WorkspaceFolders["owner"]) =>
  runTool("cp", ["-a", ...args], handed, user);

const makeReadable = (handed: FileHandle) => runTool("chmod", ["-R", "u+rwX", "--", `${HANDED}/.`], handed, null);

async function runTool(
  name: string,
  args: readonly string[],
  handed: FileHandle,
  user: WorkspaceFolders["owner"],
): Promise<void> {
  const child = spawn(name, [...args], { cwd: "/", ...(user ?? {}), stdio: ["ignore", "ignore", "pipe", handed.fd] });
  let stderr = "";
  child.stderr?.setEncoding("utf8").on("data", (text: string) => {
    stderr = (stderr + text).slice(0, 500);
  });
  const [code] = await once(child, "close");
  if (code !== 0) throw new Error(`${name} could not copy the workspace: ${stderr.trim()}`);
}
