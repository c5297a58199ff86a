import { execFile } from "node:child_process";
import { access, constants } from "node:fs/promises";
import { promisify } from "node:util";
import { z } from "zod";
import type { Snapshot } from "./snapshot-schema.js";

/** Where the machine's own path leads, outside of the home. */
const PATH = ["/usr/local/bin", "/usr/bin", "/bin", "/usr/sbin", "/sbin"];

const ASK = `
import importlib.util, json, sys
def found(name):
    try: return importlib.util.find_spec(name) is not None
    except (ImportError, ValueError): return False
sys.path += json.loads(sys.argv[2])
print(json.dumps([name for name in json.loads(sys.argv[1]) if not found(name)]))`;

export interface SnapshotStatus {
  readonly name: string;
  readonly ready: boolean;
  /** Why not, in a line for the user; null where it is ready. */
  readonly why: string | null;
  /** Programs and modules that are missing. */
  readonly missing: readonly string[];
}

export interface SnapshotsStatus {
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
  const found = await Promise.all(wanted.map(async ([name]) => (await findOnPath(name, path)) !== null));
  const absent = await missingModules(Object.keys(modules), path, env.PYTHONPATH?.split(":") ?? []);
  return [...wanted.filter((_, i) => !found[i]), ...Object.entries(modules).filter(([name]) => absent.has(name))];
}

async function findOnPath(name: string, path: readonly string[]): Promise<string | null> {
  for (const folder of path) {
    const isThere = await access(`${folder}/${name}`, constants.X_OK).then(
      () => true,
      () => false,
    );
    if (isThere) return `${folder}/${name}`;
  }
  return null;
}

/** Asked of the Python that a task gets, without the packages of whoever runs this program. */
async function missingModules(
  names: readonly string[],
  path: readonly string[],
  folders: readonly string[],
): Promise<ReadonlySet<string>> {
  if (names.length === 0) return new Set();
  const python = await findOnPath("python3", path);
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
