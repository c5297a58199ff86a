import { lstat, readlink, realpath } from "node:fs/promises";
import { HOME } from "../../domain/tasks/task-machine.js";
import type { FoundPython } from "../find-python.js";
import { type BuiltInFile, GUEST } from "./built-in-files.js";
import { guestLimits } from "./guest-limits.js";
import type { MachineLimits } from "./machine-limits.js";

/** The packages of this machine, where distributions put them. Some are links into /usr. */
const SYSTEM = ["/usr", "/bin", "/sbin", "/lib", "/lib32", "/lib64", "/libx32"];
/** Settings of packages, public on every machine. */
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
/** Where people keep files of their own below /usr. */
const PRIVATE = ["/usr/src", "/usr/local/src", "/usr/local/etc"];

/** Descriptors: the filter, bwrap's status, the guest's word that it waits, and then a file each. */
export const DESCRIPTORS = { filter: 3, status: 4, ready: 5, files: 6 } as const;

export interface MachineMounts {
  /** Folders of this machine that can be read in it too, beside its packages. */
  readonly readOnly: readonly string[];
  /** Folders of this machine whose contents must not show, also where they lie in those. */
  readonly hidden: readonly string[];
}

/**
 * The packages of this machine read-only and nothing else of it; file systems in memory of a size that cannot be
 * passed; loopback alone; and a first process that signals from inside do not end.
 */
export async function machineArguments(
  python: FoundPython,
  files: readonly BuiltInFile[],
  mounts: MachineMounts,
  limits: MachineLimits,
): Promise<string[]> {
  const readable = [...SETTINGS, ...CACHES, ...mounts.readOnly, ...pythonElsewhere(python)];
  return [
    ["--unshare-all", "--unshare-user", "--disable-userns", "--uid", "1000", "--gid", "1000"],
    ["--as-pid-1", "--die-with-parent", "--new-session", "--cap-drop", "ALL", "--hostname", "machine", "--clearenv"],
    ["--seccomp", String(DESCRIPTORS.filter), "--json-status-fd", String(DESCRIPTORS.status)],
    (await Promise.all(SYSTEM.map(systemFolder))).flat(),
    readable.flatMap((path) => ["--ro-bind-try", path, path]),
    (await hiddenFolders([...SYSTEM, ...readable], [...PRIVATE, ...mounts.hidden]))
      .flatMap((path) => [["--tmpfs", path, "--remount-ro", path]])
      .flat(),
    ["--dir", "/etc", "--dir", "/var", "--dir", "/opt", "--dir", GUEST, "--proc", "/proc", "--dev", "/dev"],
    // Mapping /dev/zero shares memory that counts for no process; /dev/full reads as zeros too.
    ["--dev-bind", "/dev/full", "/dev/zero"],
    ["--symlink", "/tmp", "/var/tmp"],
    files.flatMap(({ path, mode }, i) => ["--perms", mode, "--ro-bind-data", String(DESCRIPTORS.files + i), path]),
    Object.entries(limits.disk).flatMap(([path, size]) => [
      ...["--perms", path === HOME ? "0755" : "1777", "--size", String(size), "--tmpfs", path],
    ]),
    ["--remount-ro", "/dev", "--remount-ro", "/", "--chdir", HOME],
    ["--", python.program, "-I", "-S", "-B", "-X", "utf8", GUEST, JSON.stringify(guestLimits(limits))],
  ].flat();
}

/** A link as a link, so that /bin/sh and /usr/bin/sh are one file there too. */
async function systemFolder(path: string): Promise<string[]> {
  const stat = await lstat(path).catch(() => null);
  if (stat === null) return [];
  return stat.isSymbolicLink() ? ["--symlink", await readlink(path), path] : ["--ro-bind", path, path];
}

/** A Python outside the system's folders, such as one in /opt. */
function pythonElsewhere({ program, library, shared }: FoundPython): string[] {
  return [program, ...library, ...shared].filter((path) => !isBelowAny(path, SYSTEM));
}

/** Those of them that would show, since they lie in what can be read. */
async function hiddenFolders(readable: readonly string[], hidden: readonly string[]): Promise<string[]> {
  const found = await Promise.all(
    hidden.map(async (path) => {
      const real = await realpath(path).catch(() => null);
      return real !== null && (await lstat(real)).isDirectory() ? real : null;
    }),
  );
  return found.filter((path): path is string => path !== null && isBelowAny(path, readable));
}

export function isBelowAny(path: string, folders: readonly string[]): boolean {
  return folders.some((folder) => path === folder || path.startsWith(`${folder}/`));
}
