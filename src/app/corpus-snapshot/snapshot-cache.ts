import { createHash, type Hash } from "node:crypto";
import { createReadStream, createWriteStream } from "node:fs";
import { mkdir, readdir, rename, rm, stat } from "node:fs/promises";
import { join } from "node:path";
import { Transform } from "node:stream";
import { pipeline } from "node:stream/promises";
import { createGzip } from "node:zlib";
import { UserError } from "../../domain/errors.js";
import { replaceFile } from "../../platform/atomic-file.js";
import { readJson } from "../../platform/download/download-cache.js";
import { isProcessAlive } from "../../platform/process-alive.js";
import { type Db, withReadOnly } from "../../store/connection/open-store.js";
import { copyMailOnThread } from "../../store/import/copy-mail.js";
import { readFingerprint } from "../../store/import/corpus-stats.js";
import { type CorpusDescription, type SnapshotFile, snapshotFileSchema } from "./snapshot-description.js";

/** 28 s for each GB of mail; level 6 takes half as long again for 0.5 % less. */
const GZIP_LEVEL = 5;

/** Snapshots of a server's mail, made when they are asked for and kept in the cache folder until the mail changes. */
export class CorpusSnapshots {
  private readonly folder: string;
  private readonly closed = new AbortController();
  private creating: Promise<void> | null = null;
  private failure: { readonly error: unknown } | null = null;

  constructor(
    private readonly db: Db,
    cacheDir: string,
    private readonly version: string,
  ) {
    this.folder = join(cacheDir, "corpus-snapshots");
  }

  /** Begins to make the snapshot where there is none. Throws a UserError where there is no mail. */
  async describe(): Promise<CorpusDescription> {
    const fingerprint = readFingerprint(this.db);
    if (fingerprint === null) throw new UserError("corpus_unknown", "The database has no mail.", "Import some first.");
    const { version } = this;
    const snapshot = await this.find(fingerprint);
    if (snapshot !== null) return { version, fingerprint, snapshot };
    const { failure } = this;
    this.failure = null;
    if (failure !== null) throw failure.error;
    this.creating ??= this.create()
      .catch((error) => {
        this.failure = { error };
      })
      .finally(() => {
        this.creating = null;
      });
    return { version, fingerprint, snapshot: null };
  }

  /** The file of a snapshot and its description; null where there is none of this mail. */
  async open(fingerprint: string): Promise<{ readonly path: string; readonly file: SnapshotFile } | null> {
    if (fingerprint !== readFingerprint(this.db)) return null;
    const file = await this.find(fingerprint);
    return file === null ? null : { path: this.path(fingerprint, ".gz"), file };
  }

  /** Gives up a snapshot that is being made. */
  async close(): Promise<void> {
    this.closed.abort();
    await this.creating;
  }

  /** Tables change with the version. */
  private path(fingerprint: string, ending: string): string {
    const tables = this.db.pragma("user_version", { simple: true });
    return join(this.folder, `${fingerprint}-v${tables}.db${ending}`);
  }

  private async find(fingerprint: string): Promise<SnapshotFile | null> {
    const found = await readJson(this.path(fingerprint, ".json"), snapshotFileSchema);
    const size = await stat(this.path(fingerprint, ".gz")).then(
      (file) => file.size,
      () => null,
    );
    return found?.bytes === size ? found : null;
  }

  private async create(): Promise<void> {
    await mkdir(this.folder, { recursive: true });
    await this.removeUnused();
    const copy = join(this.folder, `new.db-${process.pid}`);
    const packed = `${copy}.gz`;
    const { signal } = this.closed;
    try {
      await copyMailOnThread({ from: this.db.name, to: copy }, signal);
      const fingerprint = fingerprintOf(copy);
      const { size: databaseBytes } = await stat(copy);
      const hash = createHash("sha256");
      const gzip = createGzip({ level: GZIP_LEVEL });
      await pipeline(createReadStream(copy), gzip, updating(hash), createWriteStream(packed), { signal });
      const file: SnapshotFile = {
        fingerprint,
        bytes: (await stat(packed)).size,
        sha256: hash.digest("hex"),
        database_bytes: databaseBytes,
      };
      await rename(packed, this.path(fingerprint, ".gz"));
      await replaceFile(this.path(fingerprint, ".json"), [JSON.stringify(file)]);
    } finally {
      await Promise.all([rm(copy, { force: true }), rm(packed, { force: true })]);
    }
  }

  /** Snapshots of earlier mail, and what processes that were killed have left. */
  private async removeUnused(): Promise<void> {
    for (const name of await readdir(this.folder)) {
      const [, pid] = /^new\.db-(\d+)/.exec(name) ?? [];
      if (pid !== undefined && isProcessAlive(Number(pid))) continue;
      await rm(join(this.folder, name), { force: true });
    }
  }
}

/** Passes on what comes, and adds it to the hash. */
function updating(hash: Hash): Transform {
  return new Transform({
    transform(chunk: Buffer, _, done) {
      hash.update(chunk);
      done(null, chunk);
    },
  });
}

/** Of the copy: the mail may have changed since it was asked for. */
function fingerprintOf(path: string): string {
  return withReadOnly(path, (db) => readFingerprint(db) ?? "");
}
