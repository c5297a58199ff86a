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
  const [commands, modules] = await Promise.all([
    missingCommands(new Set(all.flatMap((snapshot) => Object.keys(snapshot.commands)))),
    missingModules(new Set(all.flatMap((snapshot) => Object.keys(snapshot.modules)))),
  ]);
  const packages = new Set<string>();
  const withoutPackage = new Set<string>();
  const statuses = all.map((snapshot): SnapshotStatus => {
    const missing = [
      ...Object.entries(snapshot.commands).filter(([name]) => commands.has(name) && !(name in snapshot.shims)),
      ...Object.entries(snapshot.modules).filter(([name]) => modules.has(name)),
    ];
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

async function missingCommands(names: ReadonlySet<string>): Promise<ReadonlySet<string>> {
  const isThere = await Promise.all([...names].map(async (name) => (await findOnPath(name)) !== null));
  return new Set([...names].filter((_, i) => !isThere[i]));
}

async function findOnPath(name: string): Promise<string | null> {
  for (const folder of PATH) {
    const path = `${folder}/${name}`;
    const found = await access(path, constants.X_OK).then(
      () => true,
      () => false,
    );
    if (found) return path;
  }
  return null;
}

/** Asked of the Python that a task gets, without the packages of whoever runs this program. */
async function missingModules(names: ReadonlySet<string>): Promise<ReadonlySet<string>> {
  const python = await findOnPath("python3");
  if (python === null) return names;
  try {
    const { stdout } = await promisify(execFile)(python, ["-I", "-c", ASK, JSON.stringify([...names])], {
      timeout: 30_000,
      env: {},
      cwd: "/",
    });
    return new Set(z.array(z.string()).parse(JSON.parse(stdout)));
  } catch {
    return names;
  }
}
