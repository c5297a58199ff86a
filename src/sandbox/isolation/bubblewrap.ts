// Runs a program under bubblewrap with only its own files visible, and its workspace in memory.
import { type ChildProcess, execFile, spawn } from "node:child_process";
import { once } from "node:events";
import { constants } from "node:fs";
import { chmod, type FileHandle, open, opendir, rename, statfs } from "node:fs/promises";
import { arch, platform } from "node:os";
import type { Readable, Writable } from "node:stream";
import { promisify } from "node:util";
import { isGone, PYTHON_LIMITS, usageOfTree, WORKSPACE_LIMITS } from "../limits.js";
import {
  type FoundPython,
  findProgram,
  findPython,
  foldersOf,
  PYTHON_FLAGS,
  pythonPreamble,
  type SandboxChoice,
} from "../python.js";
import { outputStart } from "../task-machine.js";
import { INSIDE, makeFolder, remove, type WorkspaceFolders } from "../workspace.js";
import { type Cgroup, type CgroupLimits, type CgroupParent, findCgroups } from "./cgroup.js";
import { seccompFilter } from "./seccomp-filter.js";

/** A sandbox with a started Python that waits for its program. */
export interface ReadySandbox {
  /** The ancestor of all processes in the sandbox. */
  readonly pid: number;
  readonly files: PrivateFolders;
  readonly cgroup: Cgroup | null;
}

const LIMITS = { memoryBytes: PYTHON_LIMITS.memoryBytes, processes: PYTHON_LIMITS.processes, endTogether: true };

/**
 * Limits the sandbox's processes and fills its workspace, before any untrusted code runs. Returns null if the sandbox
 * has ended.
 */
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

/**
 * The sandbox's only devices. /dev/zero is missing because mapping it shares memory that is not counted for any
 * process.
 */
const DEVICES = ["/dev/null", "/dev/urandom"];
/** Public data, which does not reveal this machine's time zone. */
const TIME_ZONES = "/usr/share/zoneinfo";
/** File descriptors for `Launch.filter` and for bwrap's status. */
const FILTER = "3";
const STATUS = "4";
/** File descriptor on which the program in the sandbox reports that it is waiting for work. */
export const READY = 5;
/**
 * Size in bytes of /workspace and of /tmp: the limit for both together, plus the unused part of each file's last page.
 */
const SIZE = WORKSPACE_LIMITS.bytes + 4096 * WORKSPACE_LIMITS.files;

/** Maximum milliseconds to start. Starting is fast, except on a busy machine. */
const START_MS = 15_000;

/** Hint for a bubblewrap that is installed but does not start. */
export const ALLOW_NAMESPACES =
  "Allow user namespaces: sysctl kernel.unprivileged_userns_clone=1, and on Ubuntu kernel.apparmor_restrict_unprivileged_userns=0.";

/** Finds bubblewrap on this machine. Only an actual start shows whether it works. */
export async function findBubblewrap(): Promise<SandboxChoice> {
  if (platform() !== "linux") {
    return { ok: false, why: "bubblewrap only supports Linux", hint: "Install Docker and start it." };
  }
  const filter = seccompFilter(arch());
  if (filter === null) {
    return {
      ok: false,
      why: `bubblewrap is unsupported on ${arch()} processors`,
      hint: "Install Docker and start it.",
    };
  }
  const program = await findProgram("bwrap");
  if (program === null) {
    return { ok: false, why: "bubblewrap is not installed", hint: "Install it: apt-get install bubblewrap." };
  }
  const python = await findPython();
  if (python === null)
    return { ok: false, why: "Python 3 is not installed", hint: "Install it: apt-get install python3." };
  const { stdout } = await promisify(execFile)(program, ["--version"]);
  const cgroups = await findCgroups();
  return {
    ok: true,
    sandbox: {
      kind: "bubblewrap",
      about: `${stdout.trim()}, Python ${python.version}`,
      limits: {
        memory: cgroups.ok ? "hard (cgroup v2)" : `watched, because no cgroup is available: ${cgroups.why}`,
        disk: `hard (file systems in memory of ${Math.round(SIZE / 2 ** 20)} MB)`,
        processes: "hard",
      },
      launch: ({ owner }) => ({
        program,
        args: bubblewrapArguments(contentsFor(python)),
        env: {},
        owner,
        folder: "/",
        filter,
        cgroups: cgroups.ok ? cgroups.parent : null,
        startMs: START_MS,
      }),
    },
  };
}

/** The contents of a sandbox. */
interface Contents {
  /** Files and folders of this machine, visible at the same paths and read-only. */
  readonly readable: readonly string[];
  /** Folders within `readable` that appear empty. */
  readonly empty: readonly string[];
  /** Paths of folders in memory, the only ones that can be written. The first one is the working directory. */
  readonly writable: readonly string[];
  readonly environment: Readonly<Record<string, string>>;
  readonly command: readonly string[];
}

/**
 * Returns bwrap's arguments. Everything is unshared, and only the program's own files are visible, read-only. There is
 * no /proc, /sys or /etc. Writable folders are file systems in memory with a fixed maximum size, so that no write
 * reaches a disk.
 */
export function bubblewrapArguments({ readable, empty, writable, environment, command }: Contents): string[] {
  return [
    ["--unshare-all", "--unshare-user", "--disable-userns", "--uid", "65534", "--gid", "65534"],
    ["--die-with-parent", "--new-session", "--cap-drop", "ALL", "--hostname", "sandbox"],
    ["--seccomp", FILTER, "--json-status-fd", STATUS],
    ["--clearenv", ...Object.entries(environment).flatMap(([name, value]) => ["--setenv", name, value])],
    readable.flatMap((path) => ["--ro-bind", path, path]),
    empty.flatMap((path) => ["--tmpfs", path, "--remount-ro", path]),
    ["--ro-bind-try", TIME_ZONES, TIME_ZONES],
    DEVICES.flatMap((device) => ["--dev-bind", device, device]),
    writable.flatMap((path) => ["--perms", "0700", "--size", String(SIZE), "--tmpfs", path]),
    ["--remount-ro", "/", "--chdir", writable[0] ?? "/"],
    ["--", ...command],
  ].flat();
}

function contentsFor(python: FoundPython): Contents {
  return {
    readable: [python.program, ...python.library, ...python.shared],
    empty: python.packages,
    writable: [INSIDE, TEMPORARY],
    environment: environment(python),
    command: [python.program, ...PYTHON_FLAGS, "-c", pythonPreamble({ strict: true, ready: READY })],
  };
}

function environment({ shared }: FoundPython): Record<string, string> {
  return {
    PATH: "/usr/local/bin:/usr/bin:/bin",
    HOME: INSIDE,
    TMPDIR: "/tmp",
    LANG: "C.UTF-8",
    TZ: "UTC",
    // The linker's own list of these folders is in /etc, which is not visible.
    LD_LIBRARY_PATH: foldersOf(shared).join(":"),
  };
}

/** Folder for temporary files in the sandbox. */
const TEMPORARY = "/tmp";

/**
 * The sandbox's own /workspace and /tmp, which are in memory and end with it. An open folder handle keeps its file
 * system alive, so that the files can be copied after every process of the sandbox has ended and nothing can change
 * them.
 */
class PrivateFolders {
  /** Paths of both folders, as reached from this process. */
  readonly folders: WorkspaceFolders;

  private constructor(
    private readonly files: FileHandle,
    private readonly temporary: FileHandle,
    private readonly persistent: WorkspaceFolders,
  ) {
    this.folders = { files: pathOf(files), temporary: pathOf(temporary), owner: persistent.owner };
  }

  /**
   * Opens the folders of the sandbox whose first process is `pid`, and copies the workspace's files into them. No
   * untrusted code may run in the sandbox yet.
   */
  static async open(pid: number, persistent: WorkspaceFolders): Promise<PrivateFolders> {
    const files = await openFolder(`/proc/${pid}/root${INSIDE}`);
    const temporary = await openFolder(`/proc/${pid}/root${TEMPORARY}`).catch(async (error: unknown) => {
      await files.close();
      throw error;
    });
    const privateFolders = new PrivateFolders(files, temporary, persistent);
    try {
      // Root does not have permissions in a file system that belongs to the sandbox's user, so run as that user.
      await privateFolders.eachFolder((inside, path) => copyAll(["--", `${path}/.`, HANDED], inside, persistent.owner));
      return privateFolders;
    } catch (error) {
      await privateFolders.close();
      throw error;
    }
  }

  /** Returns the number of bytes in use, including deleted files that are still open. */
  async bytes(): Promise<number> {
    const used = await Promise.all([this.folders.files, this.folders.temporary].map((path) => statfs(path)));
    return used.reduce((sum, { blocks, bfree, bsize }) => sum + (blocks - bfree) * bsize, 0);
  }

  /** Copies the files back to the workspace. Call it only after the sandbox has ended. */
  async keep(): Promise<void> {
    await this.eachFolder(async (inside, path) => {
      const fresh = `${path}.new`;
      await remove(fresh);
      await makeFolder(fresh, this.persistent.owner);
      try {
        await copyAll(["--", `${HANDED}/.`, fresh], inside, null);
      } catch {
        // Without read permission, not even the owner can copy files.
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

  /** Calls `work` for both folders. Skips a folder that is empty on both sides. */
  private async eachFolder(work: (inside: FileHandle, path: string) => Promise<void>): Promise<void> {
    for (const [inside, path] of [
      [this.files, this.persistent.files],
      [this.temporary, this.persistent.temporary],
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

/** Path of a folder that a program receives as descriptor 3. */
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
  const stderr = outputStart(child.stderr as Readable);
  const [code] = await once(child, "close");
  if (code !== 0) throw new Error(`${name} could not copy the workspace: ${stderr().slice(0, 500).trim()}`);
}

/** Reads bwrap's status on descriptor 4, and the ready signal from inside the sandbox on descriptor 5. */
export class BubblewrapStatus {
  private said = "";
  private readonly whenReady: Promise<unknown>;

  constructor(child: ChildProcess) {
    (child.stdio[4] as Readable).setEncoding("utf8").on("data", (text: string) => {
      this.said += text;
    });
    const readyPipe = (child.stdio as readonly unknown[])[5] as Readable;
    this.whenReady = Promise.race([once(readyPipe, "data"), once(child, "close")]).catch(() => undefined);
    readyPipe.resume();
  }

  get pid(): number | undefined {
    const pid = /"child-pid": *(\d+)/.exec(this.said)?.[1];
    return pid === undefined ? undefined : Number(pid);
  }

  /** Waits until the sandbox's first process, which is the last to end, has ended. */
  async allGone(): Promise<void> {
    if (this.pid === undefined) return;
    while (!(await isGone(this.pid))) await new Promise((resolve) => setTimeout(resolve, 2));
  }

  /**
   * Resolves with the ancestor of all processes in the sandbox as soon as it waits for work, or null if it has ended.
   */
  async ready(): Promise<number | null> {
    await this.whenReady;
    const pid = this.pid;
    return pid === undefined || (await isGone(pid)) ? null : pid;
  }
}

/** Limits the processes of a sandbox before any untrusted code runs. */
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

/** Writes a program's input. A program that does not read all of it is not an error. */
export function feed(stream: Writable, content: string | Buffer): void {
  stream.on("error", () => undefined);
  stream.end(content);
}
