import { type FileHandle, mkdir, open, rename, stat } from "node:fs/promises";
import { dirname } from "node:path";
import { DEFAULT_RETRY, type RetryPolicy } from "../retry.js";
import { type CacheRecord, sha256OfFile, verifiedRecord, writeRecord } from "./download-cache.js";
import { type DownloadHints, withDownloadHint } from "./download-errors.js";
import { lockPartialDownload, type PartialDownload } from "./partial-download.js";
import { downloadRange, type OnProgress, wrongSize } from "./range-download.js";
import { RequestFailed, retryRequest } from "./request-failed.js";

export interface DownloadRequest {
  readonly url: string;
  readonly headers: Record<string, string>;
  /** The record goes beside it; an unfinished download is `<target>.partial`. */
  readonly target: string;
  readonly revision: string | null;
  readonly expectedSize?: number | undefined;
  readonly expectedSha256?: string | undefined;
  /** ASCII bytes the file must begin and end with: `PAR1` for Parquet. */
  readonly magic?: string | undefined;
  readonly retry?: RetryPolicy | undefined;
  readonly onProgress?: OnProgress | undefined;
  readonly signal: AbortSignal;
  readonly hints: DownloadHints;
}

/**
 * Downloads and verifies `target` and returns its record. A verified cached file needs no request. An interrupted
 * download resumes, now or in a later process, as long as the server has the same file.
 * @throws UserError where the file cannot be had; the signal's reason where it aborts.
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
      // The error of the download matters more than one of the release.
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
    // Discard wrong bytes. If older bytes were among them, a fresh download may succeed.
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
    const message = `what came does not begin and end with ${magic}, so it is not the file or not all of it`;
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

/** The record first: an old file beside a new record fails verification. */
async function publish(partial: PartialDownload, target: string, record: CacheRecord): Promise<void> {
  await writeRecord(target, record);
  await rename(partial.bytesPath, target);
  await partial.finish();
}
