// Files that nothing may open because SQLite holds locks on them, which closing any other descriptor would drop.
import { type BigIntStats, statSync } from "node:fs";
import { getEnvironmentData, setEnvironmentData } from "node:worker_threads";
import { UserError } from "./errors.js";

/**
 * Files that this process must not open through `fs`, because a library holds POSIX locks on them: closing any
 * descriptor of such a file, in any thread, drops all of the process's locks on it (fcntl(2), "Record locks").
 * `store/database-file.ts` reserves the database, and readers of user-named files check here first.
 */

interface Reservation {
  readonly path: string;
  /** Suffixes of the files next to it that belong to it. */
  readonly endings: readonly string[];
  isHeld(): boolean;
}

/** Under this key a thread inherits the paths that its parent thread had reserved. */
const INHERITED = "art-e:reserved-files";

const inherited = (getEnvironmentData(INHERITED) ?? []) as readonly string[];
const reservations = new Set<Reservation>();

/** Reserves a file until `isHeld` returns false, in this thread and in the threads that it starts. */
export function reserveFile(path: string, endings: readonly string[], isHeld: () => boolean): void {
  for (const reservation of reservations) if (!reservation.isHeld()) reservations.delete(reservation);
  reservations.add({ path, endings, isHeld });
  setEnvironmentData(INHERITED, listReserved());
}

function listReserved(): string[] {
  const active = [...reservations].filter((reservation) => reservation.isHeld());
  const own = active.flatMap(({ path, endings }) => ["", ...endings].map((ending) => path + ending));
  return [...new Set([...inherited, ...own])];
}

/** Returns whether a path leads to a reserved file, directly or through a link. */
export function isReserved(path: string): boolean {
  const reserved = listReserved();
  if (reserved.length === 0) return false;
  const stats = statsOf(path);
  return stats !== undefined && reserved.some((file) => isSame(statsOf(file), stats));
}

/** Returns the inode numbers of the reserved files, for readers of many files that call `stat` anyway. */
export function reservedInodes(): ReadonlySet<number> {
  return new Set(
    listReserved()
      .flatMap((path) => statsOf(path)?.ino ?? [])
      .map(Number),
  );
}

/** @throws UserError if the path names a reserved file */
export function refuseReserved(path: string): void {
  if (!isReserved(path)) return;
  throw new UserError(
    "input_is_database",
    `Cannot read ${path}: it is the database that this command uses.`,
    "Pass another file.",
  );
}

function statsOf(path: string): BigIntStats | undefined {
  try {
    return statSync(path, { bigint: true, throwIfNoEntry: false });
  } catch {
    // The path leads through a file. Opening it reports that.
    return undefined;
  }
}

function isSame(a: BigIntStats | undefined, b: BigIntStats): boolean {
  return a !== undefined && a.dev === b.dev && a.ino === b.ino;
}
