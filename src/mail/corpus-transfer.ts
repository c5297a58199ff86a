// Copies a server's mail to a queue worker: the server's copies, and the worker's download.
import { randomUUID } from "node:crypto";
import { createReadStream, createWriteStream, existsSync } from "node:fs";
import { mkdir, readdir, rename, rm, stat } from "node:fs/promises";
import { join } from "node:path";
import { pipeline } from "node:stream/promises";
import { createGunzip, createGzip } from "node:zlib";
import { z } from "zod";
import type { AppContext } from "../platform/app-context.js";
import { sleep } from "../platform/deadline.js";
import { type DownloadHints, downloadFile, readJson, removeDownload, withDownloadHint } from "../platform/download.js";
import { EXIT, UserError } from "../platform/errors.js";
import { replaceFile } from "../platform/files.js";
import { authorization, getJson, parseServerUrl, type RequestFailed } from "../platform/http.js";
import { isProcessAlive } from "../platform/processes.js";
import { programVersion } from "../platform/program-files.js";
import { DEFAULT_RETRY } from "../platform/retry-delay.js";
import { sha256OfFile } from "../platform/sha256.js";
import { trimEndOf } from "../platform/trim-end.js";
import { removeDatabase } from "../store/database-file.js";
import { type Db, openStore, withReadOnly } from "../store/open-store.js";
import { megabytes } from "../text/format.js";
import { computeFingerprint, readFingerprint } from "./corpus.js";
import { copyMailOnThread } from "./import/corpus-copy.js";

export interface CorpusServer {
  readonly url: string;
  /** Access token, or null if the server does not require one. */
  readonly token: string | null;
}

/** Compressing takes 28 s per GB of mail at this level. Level 6 takes 50% longer and saves only 0.5%. */
const GZIP_LEVEL = 5;

/** Maximum size of an unpacked database in bytes: five times the maximum download size. */
const MAX_DATABASE_BYTES = 100_000_000_000;

/** Description of a compressed database that contains a server's mail and is ready for download. */
const corpusCopyFileSchema = z.strictObject({
  /** Fingerprint of the mail, equal for the same mail in the same mailboxes. */
  fingerprint: z.string().regex(/^[0-9a-f]{64}$/),
  /** Size of the compressed file. */
  bytes: z.number().int().positive(),
  sha256: z.string().regex(/^[0-9a-f]{64}$/),
  /** Size of the unpacked database. */
  database_bytes: z.number().int().positive().max(MAX_DATABASE_BYTES),
});

type CorpusCopyFile = z.output<typeof corpusCopyFileSchema>;

export const corpusDescriptionSchema = z.strictObject({
  version: z.string().meta({ description: "Version of art-e. The snapshot can only be used by the same version" }),
  fingerprint: z.string(),
  snapshot: corpusCopyFileSchema
    .nullable()
    .meta({ description: "Null while the copy is being created. Request it again later" }),
});

type CorpusDescription = z.output<typeof corpusDescriptionSchema>;

/** Copies of a server's mail, created on request and kept in the cache folder until the mail changes. */
export class CorpusCopies {
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

  /**
   * Returns the description of the copy, and starts creating the copy if it does not exist.
   * @throws UserError if the mail has not been imported yet
   */
  async describe(): Promise<CorpusDescription> {
    const fingerprint = readFingerprint(this.db);
    if (fingerprint === null)
      throw new UserError("corpus_unknown", "The database does not contain any mail.", "Import mail first.");
    const { version } = this;
    const copy = await this.find(fingerprint);
    if (copy !== null) return { version, fingerprint, snapshot: copy };
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

  /** Returns the path and the description of a copy, or null if there is no copy of this mail. */
  async open(fingerprint: string): Promise<{ readonly path: string; readonly file: CorpusCopyFile } | null> {
    if (fingerprint !== readFingerprint(this.db)) return null;
    const file = await this.find(fingerprint);
    return file === null ? null : { path: this.path(fingerprint, ".gz"), file };
  }

  async close(): Promise<void> {
    this.closed.abort();
    await this.creating;
  }

  /** The path includes the schema version, because the tables change with it. */
  private path(fingerprint: string, ending: string): string {
    const tables = this.db.pragma("user_version", { simple: true });
    return join(this.folder, `${fingerprint}-v${tables}.db${ending}`);
  }

  private async find(fingerprint: string): Promise<CorpusCopyFile | null> {
    const record = await readJson(this.path(fingerprint, ".json"), corpusCopyFileSchema);
    const size = await stat(this.path(fingerprint, ".gz")).then(
      (file) => file.size,
      () => null,
    );
    return record?.bytes === size ? record : null;
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
      const gzip = createGzip({ level: GZIP_LEVEL });
      await pipeline(createReadStream(copy), gzip, createWriteStream(packed), { signal });
      const file: CorpusCopyFile = {
        fingerprint,
        bytes: (await stat(packed)).size,
        sha256: await sha256OfFile(packed, signal),
        database_bytes: databaseBytes,
      };
      await rename(packed, this.path(fingerprint, ".gz"));
      await replaceFile(this.path(fingerprint, ".json"), [JSON.stringify(file)]);
    } finally {
      await Promise.all([rm(copy, { force: true }), rm(packed, { force: true })]);
    }
  }

  /** Deletes outdated copies, and files left behind by killed processes. */
  private async removeUnused(): Promise<void> {
    for (const name of await readdir(this.folder)) {
      const [, pid] = /^new\.db-(\d+)/.exec(name) ?? [];
      if (pid !== undefined && isProcessAlive(Number(pid))) continue;
      await rm(join(this.folder, name), { force: true });
    }
  }
}

/** Reads the fingerprint from the copy, because the mail might have changed since the request. */
function fingerprintOf(path: string): string {
  return withReadOnly(path, (db) => readFingerprint(db) ?? "");
}

/** Polling interval while the server creates the copy. */
const ASK_EVERY_MS = 1_000;

/**
 * Downloads a server's mail into a database in the cache folder and returns its path. The mail is downloaded only once,
 * and an interrupted download resumes.
 * @throws UserError if the mail cannot be downloaded
 */
export async function fetchCorpus({ url: text, token }: CorpusServer, context: AppContext): Promise<string> {
  const url = parseServerUrl(text);
  if (url === null) {
    throw new UserError(
      "flag_invalid",
      "--fetch-corpus: expected the URL of art-e serve, such as https://mail.example:8787.",
      "Do not include a token. Set ART_E_TOKEN or pass --token-file.",
    );
  }
  const base = trimEndOf(url.href, "/");
  const headers = authorization(token);
  const source = `the mail from ${url.host}`;
  const copy = await withDownloadHint(source, HINTS, () => askUntilReady(base, headers, context));
  const name = `${copy.fingerprint.slice(0, 16)}-v${programVersion()}.db`;
  const target = join(context.settings.cacheDir, "corpus", name);
  if (existsSync(target)) return target;
  const packed = `${target}.gz`;
  const progress = context.progress(`Fetching ${source}`);
  try {
    await downloadFile({
      url: `${base}/api/corpus/${copy.fingerprint}/snapshot`,
      headers,
      target: packed,
      revision: copy.fingerprint,
      expectedSize: copy.bytes,
      expectedSha256: copy.sha256,
      onProgress: (done, total) => progress.update(done, total, `${megabytes(done)} of ${megabytes(copy.bytes)}`),
      signal: context.signal,
      hints: HINTS,
    });
  } finally {
    progress.stop();
  }
  await unpackCopy(packed, target, copy, context.signal);
  await removeDownload(packed);
  context.note(`art-e: copied ${source} to ${target}.`);
  return target;
}

async function askUntilReady(
  base: string,
  headers: Record<string, string>,
  { note, signal }: AppContext,
): Promise<CorpusCopyFile> {
  let isFirst = true;
  for (;;) {
    const { value } = await getJson(`${base}/api/corpus`, headers, corpusDescriptionSchema, DEFAULT_RETRY, signal);
    checkVersion(value);
    if (value.snapshot !== null) return value.snapshot;
    if (isFirst) note("art-e: waiting for the server to copy its mail (half a minute per GB).");
    isFirst = false;
    await sleep(ASK_EVERY_MS, signal);
  }
}

function checkVersion({ version }: CorpusDescription): void {
  if (version === programVersion()) return;
  throw new UserError(
    "version_mismatch",
    `--fetch-corpus: the server runs art-e ${version}, but this is art-e ${programVersion()}.`,
    "Install the same version on both.",
    1,
  );
}

const HINTS: DownloadHints = {
  manual: "Or copy the server's database here and pass it with --db.",
  of({ status, retryable }: RequestFailed): string {
    if (status === 401) return "Set ART_E_TOKEN to the server's token, or pass --token-file.";
    if (status === 404) return "Check that art-e serve runs at this URL and that its database contains mail.";
    return retryable
      ? "Check that art-e serve runs there, and start the worker again. The download continues where it stopped."
      : "Check that this is the URL of art-e serve and that no proxy is in between.";
  },
};

/** Unpacks a downloaded copy into the database `target`, after checking its tables and all of its mail. */
async function unpackCopy(
  packed: string,
  target: string,
  { fingerprint, database_bytes: bytes }: CorpusCopyFile,
  signal: AbortSignal,
): Promise<void> {
  const unpacked = `${target}.${randomUUID().slice(0, 8)}.tmp`;
  try {
    await pipeline(createReadStream(packed), createGunzip(), atMost(bytes), createWriteStream(unpacked), { signal });
    checkDatabase(unpacked, fingerprint);
    // Another worker might have finished first and already be using its file.
    if (!existsSync(target)) await rename(unpacked, target);
  } catch (error) {
    signal.throwIfAborted();
    if (error instanceof UserError) throw error;
    throw refused((error as Error).message, error);
  } finally {
    removeDatabase(unpacked);
  }
}

/** Limits the unpacked size, because a small file can be crafted to unpack to any size. */
function atMost(bytes: number) {
  return async function* (chunks: AsyncIterable<Buffer>) {
    let remaining = bytes;
    for await (const chunk of chunks) {
      remaining -= chunk.length;
      if (remaining < 0) throw new Error("it is larger than announced");
      yield chunk;
    }
  };
}

/** A database from another program could contain triggers and views that run when it is used. */
function checkDatabase(path: string, fingerprint: string): void {
  withReadOnly(path, (db) => {
    if (readSchema(db) !== expectedSchema()) throw refused("its schema differs from this program's");
    if (computeFingerprint(db) !== fingerprint) throw refused("its mail does not match the announced fingerprint");
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
    `--fetch-corpus: cannot use the server's copy: ${why}.`,
    "Start the worker again to repeat the download, or copy the server's database here and pass it with --db.",
    EXIT.failed,
    { cause },
  );
}

/** Returns the SQL of every table, index, view and trigger, to recognize databases with this program's tables. */
function readSchema(db: Db): string {
  const rows = db.prepare("SELECT type, name, tbl_name, sql FROM sqlite_schema ORDER BY type, name").all();
  return JSON.stringify(rows);
}
