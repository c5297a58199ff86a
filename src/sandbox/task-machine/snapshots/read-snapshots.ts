import { constants } from "node:fs";
import { open, readFile } from "node:fs/promises";
import { join } from "node:path";
import type { z } from "zod";
import { UserError } from "../../../domain/errors.js";
import { EMPTY_SNAPSHOT, type Snapshot, type SnapshotEntry, snapshotsSchema } from "./snapshot-schema.js";

const NAME = "snapshots.json";
const MOST_BYTES = 2 ** 20;

/** All snapshots by name: the built-in ones, and those of a suite's own file, which go before them. */
export async function readSnapshots(suiteRoot: string | null): Promise<ReadonlyMap<string, Snapshot>> {
  const builtIn = snapshotsSchema.parse(JSON.parse(await readFile(new URL(`./${NAME}`, import.meta.url), "utf8")));
  const file = suiteRoot === null ? null : join(suiteRoot, NAME);
  const text = file === null ? null : await readRegular(file);
  const own = text === null ? {} : parse(text, file as string);
  const entries = new Map(Object.entries({ ...builtIn, ...own }));
  const builtInEntries = new Map(Object.entries(builtIn));
  return new Map([...entries.keys()].map((name) => [name, resolve(name, entries, builtInEntries, file ?? NAME)]));
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
