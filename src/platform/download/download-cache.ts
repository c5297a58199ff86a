import { createHash } from "node:crypto";
import { createReadStream } from "node:fs";
import { readFile, rm, stat } from "node:fs/promises";
import { z } from "zod";
import { replaceFile } from "../atomic-file.js";
import { parseJsonOrNull } from "../parse-json.js";

/** The record of a cached file, stored as `<file>.json`. A file without one is not used. */
const cacheRecordSchema = z.object({
  url: z.string(),
  /** Commit of the dataset; null where the server sent none. */
  revision: z.string().nullable(),
  size: z.number().int().nonnegative(),
  sha256: z.string().regex(/^[0-9a-f]{64}$/),
  etag: z.string().nullable(),
  downloadedAt: z.string(),
});

export type CacheRecord = z.output<typeof cacheRecordSchema>;

/** What a cached file must match besides its record. Undefined: any. */
interface Expected {
  readonly revision?: string | null | undefined;
  readonly size?: number | undefined;
  readonly sha256?: string | undefined;
}

function recordPath(file: string): string {
  return `${file}.json`;
}

/**
 * The record of a cached file after its size and SHA-256 have been checked. Null where file or record are missing,
 * damaged or of another revision.
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
  const found = await stat(file).catch(() => null);
  if (found === null || found.size !== record.size) return null;
  return (await sha256OfFile(file, signal)) === record.sha256 ? record : null;
}

/** A JSON document checked against a schema; null where it is missing, cut off or of another shape. */
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

/** Lower-case hex. */
export async function sha256OfFile(path: string, signal: AbortSignal): Promise<string> {
  const hash = createHash("sha256");
  for await (const chunk of createReadStream(path, { highWaterMark: 1 << 20 })) {
    signal.throwIfAborted();
    hash.update(chunk);
  }
  return hash.digest("hex");
}

/** Lower-case hex. */
export function sha256Of(bytes: Uint8Array | string): string {
  return createHash("sha256").update(bytes).digest("hex");
}
