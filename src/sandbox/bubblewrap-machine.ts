// Starts a task machine in bubblewrap, and finds what this host needs for it.
import { spawn } from "node:child_process";
import { once } from "node:events";
import { lstat, readdir, readFile, readlink, realpath } from "node:fs/promises";
import { arch, platform } from "node:os";
import { posix } from "node:path";
import type { Readable, Writable } from "node:stream";
import { statOf } from "../platform/file-stats.js";
import { killGroup } from "../platform/processes.js";
import { builtFile } from "../platform/program-files.js";
import { BubblewrapStatus, bindProcesses, feed } from "./isolation/bubblewrap.js";
import { type Cgroup, type CgroupParent, findCgroups } from "./isolation/cgroup.js";
import { seccompFilter } from "./isolation/seccomp-filter.js";
import { type MachineLimits, sandboxUser } from "./limits.js";
import { type BuiltInFile, builtInFiles, GUEST, guestLimits } from "./machine-guest.js";
import { type FoundPython, findProgram, findPython } from "./python.js";
import { HOME, isBelowAny, outputStart } from "./task-machine.js";

/** The processes of a machine as seen from outside. */
export interface StartedGuest {
  /** The machine's first process if its memory must be watched because no cgroup limits it. Otherwise null. */
  readonly watched: number | null;
  readonly stdin: Writable;
  readonly stdout: Readable;
  /** Resolves with the stderr text as soon as the machine has ended, by itself or through `kill`. */
  readonly ended: Promise<string>;
  /** Ends all of the machine's processes. Resolves after the last one has ended. */
  kill(): Promise<void>;
}

interface GuestSettings {
  readonly mounts: MachineMounts;
  readonly shims: Readonly<Record<string, string>>;
  /** Files that are in the machine from the start, including files in its package folders. */
  readonly files: readonly BuiltInFile[];
  readonly limits: MachineLimits;
}

interface MachineMounts {
  /** Host folders that are readable in the machine, in addition to the packages. */
  readonly readOnly: readonly string[];
  /** Host folders whose contents must not be visible, even inside readable folders. */
  readonly hidden: readonly string[];
}

/** Components of task machines on the host. */
export interface MachineHost {
  /** Path of bwrap. */
  readonly program: string;
  readonly python: FoundPython;
  readonly filter: Buffer;
  /** Source files of the machine's first process, by name. */
  readonly guest: Readonly<Record<string, string>>;
  readonly cgroups: CgroupParent | null;
}

export type MachineHostChoice =
  | { readonly ok: true; readonly host: MachineHost }
  | { readonly ok: false; readonly why: string; readonly hint: string };

/** Starts a machine. Throws an Error with the reason if it cannot start, or the signal's reason if it aborts. */
export async function startGuest(
  host: MachineHost,
  { mounts, shims, files: added, limits }: GuestSettings,
  signal: AbortSignal,
): Promise<StartedGuest> {
  signal.throwIfAborted();
  const files = [...builtInFiles(host.guest, shims), ...(await Promise.all(added.map(atRealPath)))];
  const args = await machineArguments(host.python, files, mounts, limits);
  const child = spawn(host.program, args, {
    cwd: "/",
    env: {},
    ...(sandboxUser() ?? {}),
    detached: true,
    stdio: Array.from({ length: DESCRIPTORS.files + files.length }, () => "pipe" as const),
  });
  let failure = "";
  const closed = once(child, "close").catch((error: Error) => {
    failure = error.message;
  });
  const stderr = outputStart(child.stderr as Readable);
  const status = new BubblewrapStatus(child);
  feed(child.stdio[DESCRIPTORS.filter] as Writable, host.filter);
  files.forEach(({ content }, i) => {
    feed((child.stdio as readonly unknown[])[DESCRIPTORS.files + i] as Writable, content);
  });
  // Kills bwrap itself. The machine's first process dies with it, and all others die with the first.
  const end = () => killGroup(child);
  const timer = setTimeout(end, limits.startMs);
  signal.addEventListener("abort", end, { once: true });
  let cgroup: Cgroup | null = null;
  const kill = async () => {
    end();
    await cgroup?.kill();
    await closed;
    await status.allGone();
    await cgroup?.remove();
  };
  try {
    const pid = await status.ready();
    if (pid === null) {
      await closed;
      throw new Error(failure || stderr().trim() || `the machine was not ready within ${limits.startMs / 1000} s`);
    }
    const bound = { memoryBytes: limits.memoryBytes, processes: limits.processes, endTogether: false };
    cgroup = host.cgroups === null ? null : await bindProcesses(pid, host.cgroups, bound);
    return {
      watched: cgroup === null ? pid : null,
      stdin: child.stdin as Writable,
      stdout: child.stdout as Readable,
      ended: closed.then(stderr),
      kill,
    };
  } catch (error) {
    await kill();
    signal.throwIfAborted();
    throw error;
  } finally {
    clearTimeout(timer);
    signal.removeEventListener("abort", end);
  }
}

/** Folders where distributions install packages. Some are links into /usr. */
const SYSTEM = ["/usr", "/bin", "/sbin", "/lib", "/lib32", "/lib64", "/libx32"];
/** Package configuration, which any user on the host can read. */
const SETTINGS = [
  "alternatives",
  "fonts",
  "libreoffice",
  "ld.so.cache",
  "ld.so.conf",
  "ld.so.conf.d",
  "mime.types",
  "protocols",
  "services",
  "ssl/certs",
  "ssl/openssl.cnf",
  "ipython",
  "jupyter",
  "matplotlibrc",
  "R",
].map((name) => `/etc/${name}`);
const CACHES = ["/var/cache/fontconfig", "/var/lib/libreoffice"];
/** Folders below /usr that contain personal files. */
const PRIVATE = ["/usr/src", "/usr/local/src", "/usr/local/etc"];

/** Descriptors: the filter, bwrap's status, the guest's ready signal, and then one per file. */
const DESCRIPTORS = { filter: 3, status: 4, ready: 5, files: 6 } as const;

/**
 * Returns bwrap's arguments: only the host's packages, read-only, file systems in memory with a fixed maximum size,
 * only the loopback network, and a first process that cannot be killed from inside.
 */
async function machineArguments(
  python: FoundPython,
  files: readonly BuiltInFile[],
  mounts: MachineMounts,
  limits: MachineLimits,
): Promise<string[]> {
  const extended = extendedFolders(files);
  const readable = [...SETTINGS, ...CACHES, ...mounts.readOnly, ...pythonElsewhere(python)];
  return [
    ["--unshare-all", "--unshare-user", "--disable-userns", "--uid", "1000", "--gid", "1000"],
    ["--as-pid-1", "--die-with-parent", "--new-session", "--cap-drop", "ALL", "--hostname", "machine", "--clearenv"],
    ["--seccomp", String(DESCRIPTORS.filter), "--json-status-fd", String(DESCRIPTORS.status)],
    (await Promise.all(SYSTEM.map(systemFolder))).flat(),
    ...(await Promise.all(extended.map((folder) => openFolder(folder, files)))),
    readable.flatMap((path) => ["--ro-bind-try", path, path]),
    (await hiddenFolders([...SYSTEM, ...readable], [...PRIVATE, ...mounts.hidden]))
      .flatMap((path) => [["--tmpfs", path, "--remount-ro", path]])
      .flat(),
    ["--dir", "/etc", "--dir", "/var", "--dir", "/opt", "--dir", GUEST, "--proc", "/proc", "--dev", "/dev"],
    // Mapping /dev/zero shares memory that is not counted for any process. /dev/full also reads as zeros.
    ["--dev-bind", "/dev/full", "/dev/zero"],
    ["--symlink", "/tmp", "/var/tmp"],
    files.flatMap(({ path, mode }, i) => ["--perms", mode, "--ro-bind-data", String(DESCRIPTORS.files + i), path]),
    Object.entries(limits.disk).flatMap(([path, size]) => [
      "--perms",
      path === HOME ? "0755" : "1777",
      "--size",
      String(size),
      "--tmpfs",
      path,
    ]),
    [...extended, "/dev", "/"].flatMap((path) => ["--remount-ro", path]),
    ["--chdir", HOME],
    ["--", python.program, "-I", "-S", "-B", "-X", "utf8", GUEST, JSON.stringify(guestLimits(limits))],
  ].flat();
}

/** Mounts a system folder. Keeps a link as a link, so that /bin/sh and /usr/bin/sh are the same file in the machine. */
async function systemFolder(path: string): Promise<string[]> {
  const stats = await lstat(path).catch(() => null);
  if (stats === null) return [];
  return stats.isSymbolicLink() ? ["--symlink", await readlink(path), path] : ["--ro-bind", path, path];
}

/** Resolves the host's system links, such as /bin for /usr/bin, in a file's path. */
async function atRealPath(file: BuiltInFile): Promise<BuiltInFile> {
  const folder = existingFolder(file.path);
  return isBelowAny(folder, SYSTEM)
    ? { ...file, path: (await realpath(folder)) + file.path.slice(folder.length) }
    : file;
}

/** Returns the nearest existing host folder above a path. */
function existingFolder(path: string): string {
  const folder = posix.dirname(path);
  return statOf(folder)?.isDirectory() ? folder : existingFolder(folder);
}

/** Returns the package folders that get additional files. Such a folder must be rebuilt in memory to be changeable. */
function extendedFolders(files: readonly BuiltInFile[]): string[] {
  const folders = new Set(files.map(({ path }) => existingFolder(path)));
  return [...folders].filter((folder) => isBelowAny(folder, SYSTEM)).sort();
}

/** Mounts a folder in memory with the entries of the host's folder, except for the replaced files. */
async function openFolder(folder: string, files: readonly BuiltInFile[]): Promise<string[]> {
  const replaced = new Set(files.map(({ path }) => path));
  const entries = (await readdir(folder, { withFileTypes: true })).filter(
    ({ name }) => !replaced.has(`${folder}/${name}`),
  );
  const mounts = entries.map(async ({ name }) => await systemFolder(`${folder}/${name}`));
  return ["--tmpfs", folder, ...(await Promise.all(mounts)).flat()];
}

/** Returns the files of a Python outside the system folders, for example in /opt. */
function pythonElsewhere({ program, library, shared }: FoundPython): string[] {
  return [program, ...library, ...shared].filter((path) => !isBelowAny(path, SYSTEM));
}

/** Returns the hidden folders that would be visible because they are inside readable ones. */
async function hiddenFolders(readable: readonly string[], hidden: readonly string[]): Promise<string[]> {
  const folders = await Promise.all(
    hidden.map(async (path) => {
      const real = await realpath(path).catch(() => null);
      return real !== null && (await lstat(real)).isDirectory() ? real : null;
    }),
  );
  return folders.filter((path): path is string => path !== null && isBelowAny(path, readable));
}

/** Finds the programs for machines on this host. Only an actual start shows whether they work. */
export async function findMachineHost(): Promise<MachineHostChoice> {
  const filter = seccompFilter(arch(), { loopback: true });
  if (platform() !== "linux" || filter === null) {
    return {
      ok: false,
      why: `bubblewrap is unsupported on ${platform()} ${arch()}`,
      hint: "Use Linux on x64 or arm64.",
    };
  }
  const [program, python, cgroups] = await Promise.all([findProgram("bwrap"), findPython(), findCgroups()]);
  if (program === null || python === null) {
    const missing = [program === null ? "bubblewrap" : [], python === null ? "python3" : []].flat();
    return { ok: false, why: `not installed: ${missing.join(", ")}`, hint: `apt-get install ${missing.join(" ")}` };
  }
  return {
    ok: true,
    host: {
      program,
      python,
      filter,
      guest: await readGuest(),
      cgroups: cgroups.ok ? cgroups.parent : null,
    },
  };
}

async function readGuest(): Promise<Record<string, string>> {
  const folder = builtFile("sandbox/guest/");
  const names = ["__main__.py", "commands.py", "files.py", "limits.py"];
  const files = names.map(async (name) => [name, await readFile(new URL(name, folder), "utf8")] as const);
  return Object.fromEntries(await Promise.all(files));
}
