// Decompresses gzip up to the point of damage, and stops decompression bombs.
import { createGunzip } from "node:zlib";
import { UserError } from "../../../platform/errors.js";
import { DamagedData } from "./source-errors.js";

/** Whether the data starts with the gzip signature (RFC 1952 2.3.1). */
export function isGzip(head: Buffer): boolean {
  return head[0] === 0x1f && head[1] === 0x8b;
}

/** Decompresses a stream. Unlike a pipe, it yields all output before the error of a truncated or damaged file. */
export async function* gunzip(compressed: AsyncIterable<Buffer>): AsyncGenerator<Buffer> {
  let bytesIn = 0;
  let bytesOut = 0;
  const counted = async function* () {
    for await (const chunk of compressed) {
      bytesIn += chunk.length;
      yield chunk;
    }
  };
  try {
    for await (const chunk of gunzipUnbounded(counted())) {
      bytesOut += chunk.length;
      checkExpansion(bytesIn, bytesOut);
      yield chunk;
    }
  } catch (error) {
    throw error instanceof UserError || error instanceof DamagedData ? error : new DamagedData(error);
  }
}

async function* gunzipUnbounded(compressed: AsyncIterable<Buffer>): AsyncGenerator<Buffer> {
  const stream = createGunzip({ chunkSize: 256 * 1024 });
  let ready: Buffer[] = [];
  let failure: Error | null = null;
  stream.on("data", (chunk: Buffer) => ready.push(chunk));
  stream.on("error", (error) => {
    failure = error;
  });
  const closed = new Promise<void>((resolve) => stream.once("close", resolve));
  const take = () => {
    const chunks = ready;
    ready = [];
    return chunks;
  };
  let given = 0;
  let isAfterEnd = false;
  try {
    for await (const chunk of compressed) {
      if (isAfterEnd) checkPadding(chunk);
      else {
        given += chunk.length;
        const write = new Promise<void>((resolve) => stream.write(chunk, () => resolve()));
        await Promise.race([write, closed]);
        yield* take();
        if (failure !== null) break;
        // The decoder ignores everything from the first bytes on that do not start another part.
        const ignored = given - stream.bytesWritten;
        isAfterEnd = ignored > 0;
        if (isAfterEnd) checkPadding(chunk.subarray(chunk.length - ignored));
      }
    }
    if (!stream.destroyed) stream.end();
    await closed;
    yield* take();
    if (failure !== null) throw failure;
  } finally {
    stream.destroy();
  }
}

/**
 * Checks the bytes after the compressed data. Tapes pad with zeros. Anything else is more data, whose own start is
 * damaged.
 */
function checkPadding(rest: Buffer): void {
  if (rest.some((byte) => byte !== 0)) throw new DamagedData("it continues after the end of its compressed data");
}

/** @throws DamagedData if the output is so long that the input must be a decompression bomb */
export function checkExpansion(compressedBytes: number, bytes: number): void {
  if (bytes < FREE_BYTES || bytes <= compressedBytes * MAX_EXPANSION) return;
  throw new DamagedData(`it expands to more than ${MAX_EXPANSION} times its size, like a decompression bomb`);
}

/** Maximum expansion factor. Mail compresses to a tenth of its size. Deflate reaches a thousandth at best. */
const MAX_EXPANSION = 200;

/** Smaller outputs are harmless, regardless of their input. */
const FREE_BYTES = 1_000_000_000;
