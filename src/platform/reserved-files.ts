// Files that nothing may open because SQLite holds locks on them, which closing any other descriptor would drop.
import { statSync } from "node:fs";
import { getEnvironmentData, setEnvironmentData } from "node:worker_threads";
import { UserError } from "./errors.js";
import { exactStatOf } from "./file-stats.js";

/**
 * Files that this process must not open through `fs`, because a library holds POSIX locks on them: closing any
 * descriptor of such a file, in any thread, drops all of the process's locks on it (fcntl(2), "Record locks").
 * `store/database-file.ts` reserves the database, and readers of user-named files check here first.
 */

interface Reservation {
  readonly path: string;
  /** Suffixes of the files next to it that belong to it. */
  readonly endings: readonly string[];
  /** The file that the path led to. */
  readonly ino: bigint;
  readonly dev: bigint;
}

/** Under this key a thread inherits the reservations of its parent thread. */
const INHERITED = "art-e:reserved-files";

const inherited = (getEnvironmentData(INHERITED) ?? []) as readonly Reservation[];
const reservations = new Map<Reservation, () => boolean>();

/** Reserves an existing file until `isHeld` returns false, in this thread and in the threads that it starts. */
export function reserveFile(path: string, endings: readonly string[], isHeld: () => boolean): void {
  const { ino, dev } = statSync(path, { bigint: true });
  reservations.set({ path, endings, ino, dev }, isHeld);
  passOnReservations();
}

/** Call before a thread is started, so that it does not inherit reservations that have ended. */
export function passOnReservations(): void {
  for (const [reservation, isHeld] of reservations) if (!isHeld()) reservations.delete(reservation);
  setEnvironmentData(INHERITED, [...inherited, ...reservations.keys()]);
}

function activeReservations(): Reservation[] {
  return [...inherited, ...[...reservations].flatMap(([reservation, isHeld]) => (isHeld() ? [reservation] : []))];
}

/** Returns whether the path was reserved and now leads to another file, or to none. */
export function isReservedFileReplaced(path: string): boolean {
  const former = activeReservations().filter((reservation) => reservation.path === path);
  return former.length > 0 && !former.some((reservation) => isSame(exactStatOf(path), reservation));
}

function listReserved(): string[] {
  const paths = activeReservations().flatMap(({ path, endings }) => ["", ...endings].map((ending) => path + ending));
  return [...new Set(paths)];
}

/** Returns whether a path leads to a reserved file, directly or through a link. */
export function isReserved(path: string): boolean {
  const reserved = listReserved();
  if (reserved.length === 0) return false;
  const stats = exactStatOf(path);
  return stats !== undefined && reserved.some((file) => isSame(exactStatOf(file), stats));
}

/** Returns the inode numbers of the reserved files, for readers of many files that call `stat` anyway. */
export function reservedInodes(): ReadonlySet<number> {
  return new Set(
    listReserved()
      .flatMap((path) => exactStatOf(path)?.ino ?? [])
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

type FileId = Pick<Reservation, "ino" | "dev">;

function isSame(a: FileId | undefined, b: FileId): boolean {
  return a !== undefined && a.dev === b.dev && a.ino === b.ino;
}
