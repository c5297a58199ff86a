// Downloads files into the cache: resumes interrupted downloads, verifies their hash, and records their revision.
import { randomUUID } from "node:crypto";
import {
  type FileHandle,
  mkdir,
  open,
  readdir,
  readFile,
  rename,
  rm,
  stat,
  truncate,
  writeFile,
} from "node:fs/promises";
import { hostname } from "node:os";
import { basename, dirname, join } from "node:path";
import { z } from "zod";
import { EXIT, hasCode, UserError } from "./errors.js";
import { replaceFile } from "./files.js";
import { get, RequestFailed, retryRequest, withNetworkErrors } from "./http.js";
import { parseJsonOrNull } from "./json.js";
import { isProcessAlive } from "./processes.js";
import { DEFAULT_RETRY, type RetryPolicy } from "./retry-delay.js";
import { sha256OfFile } from "./sha256.js";

export interface DownloadRequest {
  readonly url: string;
  readonly headers: Record<string, string>;
  /** Path of the file. Its record is stored next to it, and an unfinished download in `<target>.partial`. */
  readonly target: string;
  readonly revision: string | null;
  readonly expectedSize?: number | undefined;
  readonly expectedSha256?: string | undefined;
  /** ASCII bytes that the file must start and end with, such as `PAR1` for Parquet. */
  readonly magic?: string | undefined;
  readonly retry?: RetryPolicy | undefined;
  readonly onProgress?: OnProgress | undefined;
  readonly signal: AbortSignal;
  readonly hints: DownloadHints;
}

/** Receives the bytes so far and in total, or null if the total is unknown. */
export type OnProgress = (bytes: number, total: number | null) => void;

/** Offset of the body in the file, and the file size if the server sent it. */
interface Extent {
  readonly start: number;
  readonly total: number | null;
}

/**
 * An unfinished download that a later attempt can resume: a folder `<target>.partial` with the bytes and their ETag.
 *
 * A process locks the folder by renaming it to a name with its host and process id. A rename succeeds for only one
 * process, so no two processes write the same bytes, and none waits. A process that finds no folder creates one, and
 * takes over folders of killed processes in the same way.
 */
interface PartialDownload {
  readonly bytesPath: string;
  /** Number of bytes so far and their strong ETag. Without an ETag they cannot be resumed. */
  state(): Promise<{ size: number; etag: string | null }>;
  /** Deletes the bytes and stores the ETag of the next ones. */
  restart(etag: string | null): Promise<void>;
  /** Unlocks the folder for the next download if its bytes can be resumed. Otherwise deletes it. */
  release(): Promise<void>;
  /** Deletes this and all abandoned folders after the bytes have been moved to the target. */
  finish(): Promise<void>;
}

export interface DownloadHints {
  /** A sentence that says how to do without the download. */
  readonly manual: string;
  /** Returns a sentence about one failure. */
  of(error: RequestFailed): string;
}

/** Expected values of a cached file. Undefined values match anything. */
interface Expected {
  readonly revision?: string | null | undefined;
  readonly size?: number | undefined;
  readonly sha256?: string | undefined;
}

/** Record of a cached file, stored as `<file>.json`. A file without a record is not used. */
const cacheRecordSchema = z.object({
  url: z.string(),
  /** Commit of the dataset, or null if the server sent none. */
  revision: z.string().nullable(),
  size: z.number().int().nonnegative(),
  sha256: z.string().regex(/^[0-9a-f]{64}$/),
  etag: z.string().nullable(),
  downloadedAt: z.string(),
});

export type CacheRecord = z.output<typeof cacheRecordSchema>;

/**
 * Downloads and verifies `target` and returns its record. A verified cached file needs no request. An interrupted
 * download resumes, now or in a later process, as long as the server has the same file.
 * @throws UserError if the file cannot be downloaded, or the signal's reason if it aborts
 */
export async function downloadFile(request: DownloadRequest): Promise<CacheRecord> {
  const { target, signal, revision } = request;
  return withDownloadHint(request.url, request.hints, async () => {
    const expected = { revision, size: request.expectedSize, sha256: request.expectedSha256 };
    const cached = await verifiedRecord(target, expected, signal);
    if (cached !== null) return cached;
    await mkdir(dirname(target), { recursive: true });
    const partial = await lockPartialDownload(target);
    try {
      const record = await retryRequest(() => downloadOnce(request, partial), request.retry ?? DEFAULT_RETRY, signal);
      await publish(partial, target, record);
      return record;
    } catch (error) {
      // The download's error matters more than an error of the release.
      await partial.release().catch(() => undefined);
      throw error;
    }
  });
}

async function downloadOnce(request: DownloadRequest, partial: PartialDownload): Promise<CacheRecord> {
  const resumed = await downloadRange(request, partial);
  try {
    return await verifyPartial(request, partial);
  } catch (error) {
    if (!(error instanceof RequestFailed)) throw error;
    // Discard wrong bytes. If they included bytes of an earlier attempt, a fresh download might succeed.
    await partial.restart(null);
    throw resumed ? new RequestFailed(error.message, { retryable: true, cause: error }) : error;
  }
}

/** Verifies the complete partial file and returns its record. */
async function verifyPartial(request: DownloadRequest, partial: PartialDownload): Promise<CacheRecord> {
  const { url, revision, expectedSize, expectedSha256, magic } = request;
  const { size } = await stat(partial.bytesPath);
  if (expectedSize !== undefined && size !== expectedSize) throw wrongSize(`${size}`, expectedSize);
  if (magic !== undefined && !(await hasMagic(partial.bytesPath, size, magic))) {
    const message = `the response does not start and end with ${magic}, so it is another file or incomplete`;
    throw new RequestFailed(message, { retryable: false });
  }
  const sha256 = await sha256OfFile(partial.bytesPath, request.signal);
  if (expectedSha256 !== undefined && sha256 !== expectedSha256) {
    throw new RequestFailed(`its SHA-256 is ${sha256}, not ${expectedSha256}`, { retryable: false });
  }
  const { etag } = await partial.state();
  return { url, revision, size, sha256, etag, downloadedAt: new Date().toISOString() };
}

async function hasMagic(path: string, size: number, magic: string): Promise<boolean> {
  if (size < 2 * magic.length) return false;
  const file = await open(path, "r");
  try {
    const head = await textAt(file, 0, magic.length);
    return head === magic && (await textAt(file, size - magic.length, magic.length)) === magic;
  } finally {
    await file.close();
  }
}

async function textAt(file: FileHandle, position: number, length: number): Promise<string> {
  const { buffer } = await file.read(Buffer.alloc(length), 0, length, position);
  return buffer.toString("latin1");
}

/** Writes the record before the file: an old file next to a new record fails verification. */
async function publish(partial: PartialDownload, target: string, record: CacheRecord): Promise<void> {
  await writeRecord(target, record);
  await rename(partial.bytesPath, target);
  await partial.finish();
}

/** Maximum size of a downloaded file in bytes, regardless of the announced size. */
const MAX_FILE_BYTES = 20_000_000_000;

/** Bytes per attempt that count as progress and reset the failure count. */
const PROGRESS_BYTES = 1 << 20;

/**
 * Requests the rest of a partial file (Range with If-Range, https://www.rfc-editor.org/rfc/rfc9110#section-14), or the
 * entire file. Bytes received before an error stay in the partial file.
 * @returns whether bytes of an earlier attempt were reused
 * @throws RequestFailed
 */
async function downloadRange(request: DownloadRequest, partial: PartialDownload): Promise<boolean> {
  const { size, etag } = await partial.state();
  const resume = size > 0 && etag !== null ? { from: size, etag } : { from: 0, etag: null };
  const range = resume.etag === null ? {} : { range: `bytes=${resume.from}-`, "if-range": resume.etag };
  // With compression, Content-Length and ranges would not refer to the bytes of the file.
  const headers = { ...request.headers, ...range, "accept-encoding": "identity" };
  const response = await get(request.url, headers, request.signal);
  const body = response.body?.getReader();
  try {
    const extent = readExtent(response, resume);
    if (extent === "already whole") return true;
    if (extent === "unusable") {
      await partial.restart(null);
      throw new RequestFailed("the server sent a different part of the file than requested", { retryable: true });
    }
    const total = extent.total ?? request.expectedSize ?? null;
    if (request.expectedSize !== undefined && total !== request.expectedSize) {
      throw wrongSize(`${total}`, request.expectedSize);
    }
    if (total !== null && total > MAX_FILE_BYTES) throw tooLarge(`${total}`);
    if (extent.start === 0) await partial.restart(strongEtag(response));
    await append(request, partial.bytesPath, body, { start: extent.start, total });
    return extent.start > 0;
  } finally {
    await body?.cancel().catch(() => undefined);
  }
}

/** Reads the extent of a response, following RFC 9110, sections 14.4, 15.3.7 and 15.5.17. */
function readExtent(
  response: Response,
  resume: { from: number; etag: string | null },
): Extent | "already whole" | "unusable" {
  const contentRange = response.headers.get("content-range") ?? "";
  if (response.status === 416) return contentRange === `bytes */${resume.from}` ? "already whole" : "unusable";
  if (response.status === 206) {
    const range = /^bytes (\d+)-\d+\/(\d+|\*)$/.exec(contentRange);
    const etag = strongEtag(response);
    // Some servers support Range but not If-Range, so the part might belong to a newer file.
    if (range === null || Number(range[1]) !== resume.from || (etag !== null && etag !== resume.etag))
      return "unusable";
    return { start: resume.from, total: range[2] === "*" ? null : Number(range[2]) };
  }
  const length = response.headers.get("content-length");
  const encoded = (response.headers.get("content-encoding") ?? "identity") !== "identity";
  return { start: 0, total: length === null || encoded ? null : Number(length) };
}

async function append(
  request: DownloadRequest,
  path: string,
  body: ReadableStreamDefaultReader<Uint8Array> | undefined,
  { start, total }: Extent,
): Promise<void> {
  const file = await open(path, "a");
  let size = start;
  const cutOff = (reason: string, cause?: unknown) =>
    new RequestFailed(`the transfer stopped after ${size} of ${total ?? "an unknown number of"} bytes${reason}`, {
      retryable: true,
      progressed: size - start >= PROGRESS_BYTES,
      cause,
    });
  try {
    request.onProgress?.(size, total);
    for (;;) {
      const next = await withNetworkErrors(async () => body?.read(), request.signal);
      if (next === undefined || next.done) break;
      await file.appendFile(next.value);
      size += next.value.byteLength;
      if (total !== null && size > total) throw wrongSize(`more than ${total}`, total);
      if (size > MAX_FILE_BYTES) throw tooLarge(`${size} or more`);
      request.onProgress?.(size, total);
    }
    await file.sync();
  } catch (error) {
    if (error instanceof RequestFailed && error.retryable) throw cutOff(`: ${error.message}`, error);
    throw error;
  } finally {
    await file.close();
  }
  if (total !== null && size < total) throw cutOff("");
}

function tooLarge(size: string): RequestFailed {
  const message = `the file has ${size} bytes, and the maximum is ${MAX_FILE_BYTES}`;
  return new RequestFailed(message, { retryable: false });
}

function wrongSize(size: string, expected: number): RequestFailed {
  return new RequestFailed(`the file has ${size} bytes, not ${expected}`, { retryable: false });
}

/** Returns a response's ETag, or null for a weak one, which does not guarantee equal bytes. */
function strongEtag(response: Response): string | null {
  const etag = response.headers.get("etag");
  return etag === null || etag.startsWith("W/") ? null : etag;
}

const stateSchema = z.object({ etag: z.string().nullable() });

/** Folders in use by this process. */
const activeFolders = new Set<string>();

/** Milliseconds without a write after which a download on another host (over a shared folder) counts as dead. */
const ABANDONED_AFTER_MS = 3_600_000;

/** Locks an unfinished download of the target, whose folder must exist. */
async function lockPartialDownload(target: string): Promise<PartialDownload> {
  const free = `${target}.partial`;
  const own = `${free}-${safeHostname()}-${process.pid}-${randomUUID().slice(0, 8)}`;
  activeFolders.add(own);
  for (const candidate of [free, ...(await findAbandoned(target))]) {
    if (await tryRename(candidate, own)) return partialIn(own, target);
  }
  await mkdir(own);
  return partialIn(own, target);
}

function partialIn(folder: string, target: string): PartialDownload {
  const bytesPath = join(folder, "bytes");
  const statePath = join(folder, "state.json");

  const partial: PartialDownload = {
    bytesPath,
    async state() {
      const size = await sizeOf(bytesPath);
      // If the state is missing or damaged, the download starts over.
      const state = await readJson(statePath, stateSchema);
      return { size, etag: state?.etag ?? null };
    },
    async restart(etag) {
      // Truncate before writing the state, so that the ETag never applies to other bytes.
      await writeFile(bytesPath, "", { flag: "a" });
      await truncate(bytesPath, 0);
      await writeFile(statePath, JSON.stringify({ etag }));
    },
    async release() {
      const { size, etag } = await partial.state();
      const isSaved = size > 0 && etag !== null && (await tryRename(folder, `${target}.partial`));
      if (!isSaved) await rm(folder, { recursive: true, force: true });
      activeFolders.delete(folder);
    },
    async finish() {
      for (const path of [folder, `${target}.partial`, ...(await findAbandoned(target))]) {
        await rm(path, { recursive: true, force: true });
      }
      activeFolders.delete(folder);
    },
  };
  return partial;
}

/** Returns false if the source is gone (another process took it) or the destination exists. */
async function tryRename(from: string, to: string): Promise<boolean> {
  try {
    await rename(from, to);
    return true;
  } catch (error) {
    if (hasCode(error, "ENOENT", "ENOTEMPTY", "EEXIST", "EPERM")) return false;
    throw error;
  }
}

/** Returns the folders of unfinished downloads of the target whose process is dead. */
async function findAbandoned(target: string): Promise<string[]> {
  const prefix = `${basename(target)}.partial-`;
  const folders: string[] = [];
  for (const name of await readdir(dirname(target))) {
    const claim = name.startsWith(prefix) ? /^(.+)-(\d+)-[0-9a-f]{8}$/.exec(name.slice(prefix.length)) : null;
    if (claim === null) continue;
    const path = join(dirname(target), name);
    if (await isAbandoned(path, claim[1] ?? "", Number(claim[2]))) folders.push(path);
  }
  return folders;
}

async function isAbandoned(path: string, host: string, pid: number): Promise<boolean> {
  if (host === safeHostname()) return pid === process.pid ? !activeFolders.has(path) : !isProcessAlive(pid);
  const touched = await stat(join(path, "bytes")).catch(() => stat(path).catch(() => null));
  return touched !== null && Date.now() - touched.mtimeMs > ABANDONED_AFTER_MS;
}

function safeHostname(): string {
  return hostname().replace(/[^\w.-]/g, "_");
}

async function sizeOf(path: string): Promise<number> {
  try {
    return (await stat(path)).size;
  } catch (error) {
    if (hasCode(error, "ENOENT")) return 0;
    throw error;
  }
}

/**
 * Runs a download. Converts its final error to a `UserError`; aborts and unexpected errors pass unchanged.
 * @param what the URL or name of the download
 */
export async function withDownloadHint<T>(what: string, hints: DownloadHints, work: () => Promise<T>): Promise<T> {
  try {
    return await work();
  } catch (error) {
    if (error instanceof RequestFailed) {
      const message = `Cannot download ${what}: ${error.message}`;
      throw new UserError("download_failed", message, `${hints.of(error)} ${hints.manual}`, EXIT.failed, {
        cause: error,
      });
    }
    if (isFileSystemError(error)) {
      const message = `Cannot use the cache folder: ${error.syscall} ${error.path ?? ""} failed with ${error.code}`;
      const hint = `Free some space, or pass another folder with --cache-dir. ${hints.manual}`;
      throw new UserError("cache_unusable", message, hint, EXIT.failed, { cause: error });
    }
    throw error;
  }
}

/**
 * Returns whether an error comes from the file system. Those name the failed call, and socket errors are always
 * wrapped.
 */
function isFileSystemError(error: unknown): error is NodeJS.ErrnoException {
  return error instanceof Error && "syscall" in error && "code" in error;
}

function recordPath(file: string): string {
  return `${file}.json`;
}

/**
 * Returns the record of a cached file after checking its size and SHA-256. Returns null if the file or its record is
 * missing or damaged, or has another revision.
 */
export async function verifiedRecord(
  file: string,
  expected: Expected,
  signal: AbortSignal,
): Promise<CacheRecord | null> {
  const record = await readJson(recordPath(file), cacheRecordSchema);
  if (record === null) return null;
  if (expected.revision !== undefined && record.revision !== expected.revision) return null;
  if (expected.size !== undefined && record.size !== expected.size) return null;
  if (expected.sha256 !== undefined && record.sha256 !== expected.sha256) return null;
  const fileStats = await stat(file).catch(() => null);
  if (fileStats === null || fileStats.size !== record.size) return null;
  return (await sha256OfFile(file, signal)) === record.sha256 ? record : null;
}

/** Returns a JSON document that matches the schema, or null if it is missing, truncated or invalid. */
export async function readJson<T>(path: string, schema: z.ZodType<T>): Promise<T | null> {
  const text = await readFile(path, "utf8").catch(() => "");
  return schema.safeParse(parseJsonOrNull(text)).data ?? null;
}

export async function writeRecord(file: string, record: CacheRecord): Promise<void> {
  await replaceFile(recordPath(file), [`${JSON.stringify(record, null, 2)}\n`]);
}

/** Deletes a cached file and its record. */
export async function removeDownload(file: string): Promise<void> {
  await Promise.all([file, recordPath(file)].map((path) => rm(path, { force: true })));
}
