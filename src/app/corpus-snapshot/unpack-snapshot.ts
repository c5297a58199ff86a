import { randomUUID } from "node:crypto";
import { createReadStream, createWriteStream, existsSync } from "node:fs";
import { rename, rm } from "node:fs/promises";
import { Transform } from "node:stream";
import { pipeline } from "node:stream/promises";
import { createGunzip } from "node:zlib";
import { EXIT, UserError } from "../../domain/errors.js";
import { openStore, withReadOnly } from "../../store/connection/open-store.js";
import { readSchema } from "../../store/import/copy-mail.js";
import { computeFingerprint } from "../../store/import/corpus-stats.js";
import type { SnapshotFile } from "./snapshot-description.js";

/** Unpacks a downloaded snapshot into the database `target`, after it was checked: its tables, and all of its mail. */
export async function unpackSnapshot(
  packed: string,
  target: string,
  { fingerprint, database_bytes: bytes }: SnapshotFile,
  signal: AbortSignal,
): Promise<void> {
  const unpacked = `${target}.${randomUUID().slice(0, 8)}.tmp`;
  try {
    await pipeline(createReadStream(packed), createGunzip(), atMost(bytes), createWriteStream(unpacked), { signal });
    checkDatabase(unpacked, fingerprint);
    // A worker that was quicker may use its file already.
    if (!existsSync(target)) await rename(unpacked, target);
  } catch (error) {
    signal.throwIfAborted();
    if (error instanceof UserError) throw error;
    throw refused((error as Error).message, error);
  } finally {
    await Promise.all(["", "-wal", "-shm"].map((ending) => rm(`${unpacked}${ending}`, { force: true })));
  }
}

/** A small file may be made to unpack into any size. */
function atMost(bytes: number): Transform {
  let left = bytes;
  return new Transform({
    transform(chunk: Buffer, _, done) {
      left -= chunk.length;
      if (left < 0) done(new Error("it is larger than the server said"));
      else done(null, chunk);
    },
  });
}

/** A database of another making could hold triggers and views that run when it is used. */
function checkDatabase(path: string, fingerprint: string): void {
  withReadOnly(path, (db) => {
    if (readSchema(db) !== expectedSchema()) throw refused("its tables are not those of this program");
    if (computeFingerprint(db) !== fingerprint) throw refused("its mail is not what the server said");
  });
}

function expectedSchema(): string {
  const db = openStore(":memory:", { mustExist: false });
  try {
    return readSchema(db);
  } finally {
    db.close();
  }
}

function refused(why: string, cause?: unknown): UserError {
  return new UserError(
    "snapshot_refused",
    `--fetch-corpus: what the server sent is not used: ${why}.`,
    "Start the worker again to download it anew, or copy the server's database here and give it with --db.",
    EXIT.failed,
    { cause },
  );
}
