// Snapshots: the programs, files and settings that a task machine starts with, and whether this host has them.
import { execFile } from "node:child_process";
import { constants, open, readFile } from "node:fs/promises";
import { join, posix } from "node:path";
import { promisify } from "node:util";
import { z } from "zod";
import { hasCode, UserError } from "../platform/errors.js";
import { builtFile } from "../platform/program-files.js";
import { findProgram } from "./python.js";

interface SnapshotStatus {
  readonly name: string;
  readonly ready: boolean;
  /** One line for the user that explains why the snapshot is not ready, or null if it is ready. */
  readonly why: string | null;
  /** Programs and modules that are missing. */
  readonly missing: readonly string[];
}

interface SnapshotsStatus {
  readonly snapshots: readonly SnapshotStatus[];
  /** Command line that installs all missing parts that have a Debian package, or null if there are no such parts. */
  readonly install: string | null;
  /** Missing programs and modules without a package. Install them in one of the snapshot's `readOnly` folders. */
  readonly withoutPackage: readonly string[];
}

type Entry = readonly [name: string, from: string | null];

/** A snapshot merged with the ones it extends. */
export interface Snapshot extends Omit<SnapshotEntry, "extends" | "image" | "unavailable" | "note"> {
  readonly name: string;
  /** Docker image, or null for bubblewrap with the host's packages. */
  readonly image: string | null;
  readonly unavailable: string | null;
  readonly note: string | null;
}

const NAME = "snapshots.json";
const MOST_BYTES = 2 ** 20;

/** Parents of the host folders that a suite can show. They contain packages, but no personal files. */
const BINDABLE = ["/opt/", "/usr/", "/nix/store/"];

/** Folders for a snapshot's files, which tasks can write to. */
const WRITABLE = ["/home/user/", "/tmp/", "/mnt/"];

const absolutePath = z
  .string()
  .max(4096)
  .refine((path) => posix.isAbsolute(path) && posix.normalize(path) === path && !path.includes("\0"), {
    message: "must be an absolute path without . and ..",
  });

const bindable = absolutePath.refine((path) => BINDABLE.some((folder) => path.startsWith(folder)), {
  message: `must be below ${BINDABLE.join(" or ")}`,
});

const writable = absolutePath.refine((path) => WRITABLE.some((folder) => path.startsWith(folder)), {
  message: `must be below ${WRITABLE.join(" or ")}`,
});

const programName = z.string().regex(/^[\w.+-]+$/, "must be a program name");

const moduleName = z.string().regex(/^[A-Za-z_]\w*$/, "must be a Python module name");

const variableName = z.string().regex(/^[A-Za-z_]\w*$/, "must be a variable name");

/** A Debian package, or null if Debian has none. */
const packageName = z
  .string()
  .regex(/^[a-z0-9][a-z0-9.+-]+$/, "must be a Debian package name")
  .nullable();

const script = z.string().max(100_000);

/** A snapshot as written in `snapshots.json`. */
const snapshotSchema = z.strictObject({
  /** Name of another snapshot whose contents this one includes. */
  extends: z.string().optional(),
  /** Required programs, each with its package. */
  commands: z.record(programName, packageName).default({}),
  /**
   * Programs that only some tasks call, each with its package. Without such a program, a task whose scripts call it
   * cannot run.
   */
  optional: z.record(programName, packageName).default({}),
  /** Required Python modules, each with its package. */
  modules: z.record(moduleName, packageName).default({}),
  /** Host folders that are visible read-only in addition to the packages. */
  readOnly: z.array(bindable).max(50).default([]),
  /** The snapshot's own programs, first on the path: names and shell scripts. */
  shims: z.record(programName, script).default({}),
  /** Files and folders that exist from the start. */
  files: z.record(writable, script).default({}),
  folders: z.array(writable).max(100).default([]),
  env: z.record(variableName, z.string().max(10_000)).default({}),
  /** Commands to run in the machine before the task's own setup. */
  setUp: z
    .array(z.array(z.string().max(10_000)).min(1))
    .max(20)
    .default([]),
  /** Docker image with the snapshot's programs and modules. Its machines are containers without `readOnly` folders. */
  image: z
    .string()
    .max(255)
    .regex(/^[a-z0-9][\w./:@-]*$/, "must be a Docker image name")
    .optional(),
  /** Why no machine can provide the snapshot: the missing requirements of its tasks. */
  unavailable: z.string().min(1).optional(),
  /** What the snapshot lacks compared with the application, for people who look at a task. */
  note: z.string().min(1).max(500).optional(),
});

type SnapshotEntry = z.output<typeof snapshotSchema>;

/** Returns all snapshots by name: the built-in ones, and those of the suite's own file, which take precedence. */
export async function readSnapshots(suiteRoot: string | null): Promise<ReadonlyMap<string, Snapshot>> {
  const json: unknown = JSON.parse(await readFile(builtFile("sandbox/builtin-snapshots.json"), "utf8"));
  const builtIn = new Map(Object.entries(snapshotsSchema.parse(json)));
  const file = join(suiteRoot ?? "", NAME);
  const text = suiteRoot === null ? null : await readRegular(file);
  const entries = new Map([...builtIn, ...Object.entries(text === null ? {} : parse(text, file))]);
  return new Map([...entries.keys()].map((name) => [name, resolve(name, entries, builtIn, file)]));
}

/** Returns the snapshot of a task. Throws a UserError that lists the known snapshots if the name is unknown. */
export function snapshotOf(name: string, snapshots: ReadonlyMap<string, Snapshot>): Snapshot {
  const snapshot = snapshots.get(name);
  if (snapshot !== undefined) return snapshot;
  const available = [...snapshots.keys()].sort().join(", ");
  throw new UserError(
    "snapshot_unknown",
    `Unknown snapshot "${name}". Available: ${available}.`,
    `Add it to ${NAME} in the suite's folder.`,
  );
}

function invalid(message: string): UserError {
  return new UserError("snapshots_invalid", `${message}.`, `Correct or remove ${NAME} in the suite's folder.`);
}

function parse(text: string, file: string): Record<string, SnapshotEntry> {
  let json: unknown;
  try {
    json = JSON.parse(text);
  } catch (error) {
    throw invalid(`Cannot read ${file}: it is not JSON: ${(error as Error).message}`);
  }
  const parsed = snapshotsSchema.safeParse(json);
  if (parsed.success) return parsed.data;
  throw invalid(`${file}: ${parsed.error.issues.slice(0, 5).map(describeIssue).join("; ")}`);
}

/** Describes an issue. An invalid property name has its requirement in a nested issue. */
function describeIssue(issue: z.core.$ZodIssue): string {
  const cause = issue.code === "invalid_key" ? (issue.issues[0]?.message ?? issue.message) : issue.message;
  return `${issue.path.join(".")}: ${cause}`;
}

/** Returns null if the file does not exist. */
async function readRegular(file: string): Promise<string | null> {
  try {
    await using handle = await open(file, constants.O_RDONLY | constants.O_NOFOLLOW | constants.O_NONBLOCK);
    const stat = await handle.stat();
    if (!stat.isFile() || stat.size > MOST_BYTES) {
      throw invalid(`Cannot read ${file}: expected a regular file of at most ${MOST_BYTES} bytes`);
    }
    return await handle.readFile("utf8");
  } catch (error) {
    if (hasCode(error, "ENOENT")) return null;
    if (hasCode(error, "ELOOP")) throw invalid(`Cannot read ${file}: it is a link, which is not followed`);
    throw error;
  }
}

/** Merges a snapshot with the ones it extends. A suite's snapshot can extend the built-in one of the same name. */
function resolve(
  name: string,
  entries: ReadonlyMap<string, SnapshotEntry>,
  builtIn: ReadonlyMap<string, SnapshotEntry>,
  file: string,
): Snapshot {
  const chain: SnapshotEntry[] = [];
  let next: string | undefined = name;
  while (next !== undefined) {
    const current: string = next;
    const last = chain.at(-1);
    const entry: SnapshotEntry | undefined =
      last !== undefined && entries.get(current) === last ? builtIn.get(current) : entries.get(current);
    if (entry === undefined) throw invalid(`${file}: the snapshot "${name}" extends the unknown snapshot "${current}"`);
    if (chain.includes(entry)) throw invalid(`${file}: the snapshot "${name}" extends itself`);
    chain.push(entry);
    next = entry.extends;
  }
  return chain.reverse().reduce<Snapshot>(merge, { ...EMPTY_SNAPSHOT, name });
}

function merge(below: Snapshot, entry: SnapshotEntry): Snapshot {
  return {
    name: below.name,
    commands: { ...below.commands, ...entry.commands },
    optional: { ...below.optional, ...entry.optional },
    modules: { ...below.modules, ...entry.modules },
    readOnly: [...below.readOnly, ...entry.readOnly],
    shims: { ...below.shims, ...entry.shims },
    files: { ...below.files, ...entry.files },
    folders: [...below.folders, ...entry.folders],
    env: { ...below.env, ...entry.env },
    setUp: [...below.setUp, ...entry.setUp],
    image: entry.image ?? below.image,
    unavailable: entry.unavailable ?? below.unavailable,
    note: entry.note ?? below.note,
  };
}

/** Folders on the machine's path outside of the home. */
const PATH = ["/usr/local/bin", "/usr/bin", "/bin", "/usr/sbin", "/sbin"];

const ASK = `
import importlib.util, json, sys
def found(name):
    try: return importlib.util.find_spec(name) is not None
    except (ImportError, ValueError): return False
sys.path += json.loads(sys.argv[2])
print(json.dumps([name for name in json.loads(sys.argv[1]) if not found(name)]))`;

/**
 * Returns the snapshots that this machine can provide, and the missing requirements of the others. Starts and imports
 * nothing.
 */
export async function checkSnapshots(snapshots: readonly Snapshot[]): Promise<SnapshotsStatus> {
  const missingOf = await Promise.all(snapshots.map(missingEntries));
  const packages = new Set<string>();
  const withoutPackage = new Set<string>();
  const statuses = snapshots.map((snapshot, i): SnapshotStatus => {
    const missing = missingOf[i] ?? [];
    const { name, unavailable } = snapshot;
    for (const [program, from] of missing) {
      if (from === null) withoutPackage.add(program);
      else packages.add(from);
    }
    const names = missing.map(([program]) => program);
    const why = unavailable ?? (names.length === 0 ? null : `missing: ${names.join(", ")}`);
    return { name, ready: why === null, why, missing: names };
  });
  return {
    snapshots: statuses,
    install: packages.size === 0 ? null : `apt-get install --no-install-recommends ${[...packages].sort().join(" ")}`,
    withoutPackage: [...withoutPackage].sort(),
  };
}

async function missingEntries({ commands, modules, shims, env, unavailable }: Snapshot): Promise<readonly Entry[]> {
  if (unavailable !== null) return [];
  const path = env.PATH?.split(":") ?? PATH;
  const needed = Object.entries(commands).filter(([name]) => !(name in shims));
  const isPresent = await Promise.all(needed.map(async ([name]) => (await findProgram(name, path)) !== null));
  const absent = await missingModules(Object.keys(modules), path, env.PYTHONPATH?.split(":") ?? []);
  return [...needed.filter((_, i) => !isPresent[i]), ...Object.entries(modules).filter(([name]) => absent.has(name))];
}

/** Returns the missing optional programs that these scripts call, each with its package. */
export async function missingOptional(
  { optional, shims, env }: Snapshot,
  scripts: readonly string[],
): Promise<readonly Entry[]> {
  const path = env.PATH?.split(":") ?? PATH;
  const calledPrograms = Object.entries(optional).filter(
    ([name]) => !(name in shims) && scripts.some((script) => callsProgram(script, name)),
  );
  const programs = await Promise.all(calledPrograms.map(([name]) => findProgram(name, path)));
  return calledPrograms.filter((_, i) => programs[i] === null);
}

/**
 * Returns whether a shell script has a command that starts with the program, such as `x=$(dagster run list)`, or calls
 * a local server.
 */
function callsProgram(script: string, program: string): boolean {
  const name = program.replace(/[.+]/g, "\\$&");
  const begin = String.raw`(?:^|[;&|({\x60!]|\b(?:if|elif|while|until|then|do|else|sudo|exec|nohup|time))[ \t]*`;
  const code = script.replace(/^\s*#.*$/gm, "");
  if (/\b(?:localhost|127\.0\.0\.1):\d/.test(code)) return true;
  return new RegExp(`${begin}${name}(?=[\\s;&|)]|$)`, "m").test(code);
}

/** Searches for modules using the same Python as tasks, without the user's own packages. */
async function missingModules(
  names: readonly string[],
  path: readonly string[],
  folders: readonly string[],
): Promise<ReadonlySet<string>> {
  if (names.length === 0) return new Set();
  const python = await findProgram("python3", path);
  if (python === null) return new Set(names);
  try {
    const args = [JSON.stringify(names), JSON.stringify(folders)];
    const options = { timeout: 30_000, env: {}, cwd: "/" };
    const { stdout } = await promisify(execFile)(python, ["-I", "-c", ASK, ...args], options);
    return new Set(z.array(z.string()).parse(JSON.parse(stdout)));
  } catch {
    return new Set(names);
  }
}

const snapshotsSchema = z.record(z.string().min(1).max(100), snapshotSchema);

/** The snapshot with only the basics of every machine. */
export const EMPTY_SNAPSHOT: Snapshot = {
  name: "empty",
  commands: {},
  optional: {},
  modules: {},
  readOnly: [],
  shims: {},
  files: {},
  folders: [],
  env: {},
  setUp: [],
  image: null,
  unavailable: null,
  note: null,
};
