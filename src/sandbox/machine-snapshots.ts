import { execFile } from "node:child_process";
import { constants, open, readFile } from "node:fs/promises";
import { join, posix } from "node:path";
import { promisify } from "node:util";
import { z } from "zod";
import { UserError } from "../platform/errors.js";
import { builtFile } from "../platform/installation.js";
import { findProgram } from "./python.js";

const NAME = "snapshots.json";
const MOST_BYTES = 2 ** 20;

/** All snapshots by name: the built-in ones, and those of a suite's own file, which go before them. */
export async function readSnapshots(suiteRoot: string | null): Promise<ReadonlyMap<string, Snapshot>> {
  const written: unknown = JSON.parse(await readFile(builtFile("sandbox/builtin-snapshots.json"), "utf8"));
  const builtIn = new Map(Object.entries(snapshotsSchema.parse(written)));
  const file = join(suiteRoot ?? "", NAME);
  const text = suiteRoot === null ? null : await readRegular(file);
  const entries = new Map([...builtIn, ...Object.entries(text === null ? {} : parse(text, file))]);
  return new Map([...entries.keys()].map((name) => [name, resolve(name, entries, builtIn, file)]));
}

/** Throws a UserError that lists what there is, where the task's file names one that is not known. */
export function snapshotOf(name: string, snapshots: ReadonlyMap<string, Snapshot>): Snapshot {
  const found = snapshots.get(name);
  if (found !== undefined) return found;
  const known = [...snapshots.keys()].sort().join(", ");
  throw new UserError(
    "unknown_snapshot",
    `There is no snapshot "${name}". Known are: ${known}.`,
    `Add it to ${NAME} in the suite's folder.`,
  );
}

function invalid(message: string): UserError {
  return new UserError("invalid_snapshots", `${message}.`, `Correct ${NAME} in the suite's folder, or remove it.`);
}

function parse(text: string, file: string): Record<string, SnapshotEntry> {
  let json: unknown;
  try {
    json = JSON.parse(text);
  } catch (error) {
    throw invalid(`${file} is not JSON: ${(error as Error).message}`);
  }
  const parsed = snapshotsSchema.safeParse(json);
  if (parsed.success) return parsed.data;
  throw invalid(`${file}: ${parsed.error.issues.slice(0, 5).map(describeIssue).join("; ")}`);
}

/** Of a name that cannot be one, what the name must be is said further down. */
function describeIssue(issue: z.core.$ZodIssue): string {
  const cause = issue.code === "invalid_key" ? (issue.issues[0]?.message ?? issue.message) : issue.message;
  return `${issue.path.join(".")}: ${cause}`;
}

/** Null where there is none. */
async function readRegular(file: string): Promise<string | null> {
  try {
    const handle = await open(file, constants.O_RDONLY | constants.O_NOFOLLOW | constants.O_NONBLOCK);
    try {
      const stat = await handle.stat();
      if (!stat.isFile() || stat.size > MOST_BYTES) {
        throw invalid(`${file} is not a regular file of at most ${MOST_BYTES} bytes`);
      }
      return await handle.readFile("utf8");
    } finally {
      await handle.close();
    }
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException;
    if (code === "ENOENT") return null;
    if (code === "ELOOP") throw invalid(`${file} is a link, which is not followed`);
    throw error;
  }
}

/** A suite's own may extend the built-in one of the same name. */
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
    if (entry === undefined) throw invalid(`${file}: the snapshot "${name}" extends "${current}", which is none`);
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
  };
}

/** Where the machine's own path leads, outside of the home. */
const PATH = ["/usr/local/bin", "/usr/bin", "/bin", "/usr/sbin", "/sbin"];

const ASK = `
import importlib.util, json, sys
def found(name):
    try: return importlib.util.find_spec(name) is not None
    except (ImportError, ValueError): return False
sys.path += json.loads(sys.argv[2])
print(json.dumps([name for name in json.loads(sys.argv[1]) if not found(name)]))`;

interface SnapshotStatus {
  readonly name: string;
  readonly ready: boolean;
  /** Why not, in a line for the user; null where it is ready. */
  readonly why: string | null;
  /** Programs and modules that are missing. */
  readonly missing: readonly string[];
}

interface SnapshotsStatus {
  readonly snapshots: readonly SnapshotStatus[];
  /** The line that installs all that is missing and that Debian has; null: nothing. */
  readonly install: string | null;
  /** What is missing and has no package: it is installed in a folder that the snapshot then shows (`readOnly`). */
  readonly withoutPackage: readonly string[];
}

/** Which snapshots this machine can hold, and what is missing for the others. Nothing is started or imported. */
export async function checkSnapshots(snapshots: Iterable<Snapshot>): Promise<SnapshotsStatus> {
  const all = [...snapshots];
  const missingOf = await Promise.all(all.map(missingEntries));
  const packages = new Set<string>();
  const withoutPackage = new Set<string>();
  const statuses = all.map((snapshot, i): SnapshotStatus => {
    const missing = missingOf[i] ?? [];
    const { name, unavailable } = snapshot;
    if (unavailable !== null) return { name, ready: false, why: unavailable, missing: [] };
    for (const [wanted, from] of missing) {
      if (from === null) withoutPackage.add(wanted);
      else packages.add(from);
    }
    const names = missing.map(([wanted]) => wanted);
    const why = names.length === 0 ? null : `missing: ${names.join(", ")}`;
    return { name, ready: names.length === 0, why, missing: names };
  });
  return {
    snapshots: statuses,
    install: packages.size === 0 ? null : `apt-get install --no-install-recommends ${[...packages].sort().join(" ")}`,
    withoutPackage: [...withoutPackage].sort(),
  };
}

type Entry = readonly [name: string, from: string | null];

async function missingEntries({ commands, modules, shims, env, unavailable }: Snapshot): Promise<readonly Entry[]> {
  if (unavailable !== null) return [];
  const path = env.PATH?.split(":") ?? PATH;
  const wanted = Object.entries(commands).filter(([name]) => !(name in shims));
  const found = await Promise.all(wanted.map(async ([name]) => (await findProgram(name, path)) !== null));
  const absent = await missingModules(Object.keys(modules), path, env.PYTHONPATH?.split(":") ?? []);
  return [...wanted.filter((_, i) => !found[i]), ...Object.entries(modules).filter(([name]) => absent.has(name))];
}

/** The optional programs that these scripts call and that are not here, with the package of each. */
export async function missingOptional(
  { optional, shims, env }: Snapshot,
  scripts: readonly string[],
): Promise<readonly Entry[]> {
  const path = env.PATH?.split(":") ?? PATH;
  const called = Object.entries(optional).filter(
    ([name]) => !(name in shims) && scripts.some((script) => callsProgram(script, name)),
  );
  const found = await Promise.all(called.map(([name]) => findProgram(name, path)));
  return called.filter((_, i) => found[i] === null);
}

/** Whether a shell script begins a command with the program: `x=$(dagster run list)`, or asks a server beside it. */
function callsProgram(script: string, program: string): boolean {
  const name = program.replace(/[.+]/g, "\\$&");
  const begin = String.raw`(?:^|[;&|({\x60!]|\b(?:if|elif|while|until|then|do|else|sudo|exec|nohup|time))[ \t]*`;
  const code = script.replace(/^\s*#.*$/gm, "");
  if (/\b(?:localhost|127\.0\.0\.1):\d/.test(code)) return true;
  return new RegExp(`${begin}${name}(?=[\\s;&|)]|$)`, "m").test(code);
}

/** Asked of the Python that a task gets, without the packages of whoever runs this program. */
async function missingModules(
  names: readonly string[],
  path: readonly string[],
  folders: readonly string[],
): Promise<ReadonlySet<string>> {
  if (names.length === 0) return new Set();
  const python = await findProgram("python3", path);
  if (python === null) return new Set(names);
  try {
    const asked = [JSON.stringify(names), JSON.stringify(folders)];
    const options = { timeout: 30_000, env: {}, cwd: "/" };
    const { stdout } = await promisify(execFile)(python, ["-I", "-c", ASK, ...asked], options);
    return new Set(z.array(z.string()).parse(JSON.parse(stdout)));
  } catch {
    return new Set(names);
  }
}

/** Where folders of a suite's choice may lie: packages, never somebody's files. */
const BINDABLE = ["/opt/", "/usr/", "/nix/store/"];
/** What tasks can write to, which is where a snapshot's files can be. */
const WRITABLE = ["/home/user/", "/tmp/", "/mnt/"];

const absolutePath = z
  .string()
  .max(4096)
  .refine((path) => posix.isAbsolute(path) && posix.normalize(path) === path && !path.includes("\0"), {
    message: "must be an absolute path without . and ..",
  });
const bindable = absolutePath.refine((path) => BINDABLE.some((folder) => path.startsWith(folder)), {
  message: `must lie below ${BINDABLE.join(" or ")}`,
});
const writable = absolutePath.refine((path) => WRITABLE.some((folder) => path.startsWith(folder)), {
  message: `must lie below ${WRITABLE.join(" or ")}`,
});
const programName = z.string().regex(/^[\w.+-]+$/, "must be the name of a program");
const moduleName = z.string().regex(/^[A-Za-z_]\w*$/, "must be the name of a Python module");
const variableName = z.string().regex(/^[A-Za-z_]\w*$/, "must be the name of a variable");
/** A Debian package; null where Debian has none. */
const packageName = z
  .string()
  .regex(/^[a-z0-9][a-z0-9.+-]+$/, "must be the name of a Debian package")
  .nullable();
const script = z.string().max(100_000);

/** A snapshot as `snapshots.json` has it. */
const snapshotSchema = z.strictObject({
  /** Another one, whose contents it has too. */
  extends: z.string().optional(),
  /** Programs that must be there, with the package each comes from. */
  commands: z.record(programName, packageName).default({}),
  /** Programs that only some tasks call, likewise: without them a task whose scripts call one cannot be run. */
  optional: z.record(programName, packageName).default({}),
  /** Python modules, likewise. */
  modules: z.record(moduleName, packageName).default({}),
  /** Folders of this machine that are shown read-only beside its packages. */
  readOnly: z.array(bindable).max(50).default([]),
  /** Programs of its own, first on the path: a name and the lines of a shell script. */
  shims: z.record(programName, script).default({}),
  /** Files and folders that are there from the start. */
  files: z.record(writable, script).default({}),
  folders: z.array(writable).max(100).default([]),
  env: z.record(variableName, z.string().max(10_000)).default({}),
  /** Commands that are run in it before the task's own set-up. */
  setUp: z
    .array(z.array(z.string().max(10_000)).min(1))
    .max(20)
    .default([]),
  /** A Docker image that holds its programs and modules: its machines are containers, and `readOnly` is left out. */
  image: z
    .string()
    .max(255)
    .regex(/^[a-z0-9][\w./:@-]*$/, "must be the name of a Docker image")
    .optional(),
  /** Why no machine can hold it: what its tasks need that is not here. */
  unavailable: z.string().min(1).optional(),
});

type SnapshotEntry = z.output<typeof snapshotSchema>;

/** With what it extends. */
export interface Snapshot extends Omit<SnapshotEntry, "extends" | "image" | "unavailable"> {
  readonly name: string;
  /** Null: bubblewrap over the packages of this machine. */
  readonly image: string | null;
  readonly unavailable: string | null;
}

const snapshotsSchema = z.record(z.string().min(1).max(100), snapshotSchema);

/** One with nothing but what every machine has. */
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
};
