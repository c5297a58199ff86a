// Checks of zip archives that yauzl leaves to its caller.
import { crc32 } from "node:zlib";
import type { Entry, ZipFile } from "yauzl";

/** The parts of a `ZipFile` that its types omit or misstate. */
interface ZipDirectory {
  readonly reader: {
    read(
      target: Buffer,
      offset: number,
      length: number,
      position: number,
      done: (error: Error | null, bytesRead: number) => void,
    ): void;
  };
  /** Position after the last entry read from the directory. */
  readonly readEntryCursor: number;
}

/** Signature of an entry in the directory. */
const ENTRY = 0x02014b50;

/**
 * Yields the entries of an archive. Throws after the last one if the directory continues, because the archive's end
 * then states too few entries: it is damaged, or its writer counted only to 65,535.
 */
export async function* entriesOf(zip: ZipFile): AsyncGenerator<Entry> {
  yield* zip.eachEntry();
  const { reader, readEntryCursor } = zip as unknown as ZipDirectory;
  const next = Buffer.alloc(4);
  await new Promise<void>((resolve, reject) => {
    reader.read(next, 0, next.length, readEntryCursor, (error) => (error === null ? resolve() : reject(error)));
  });
  if (next.readUInt32LE() !== ENTRY) return;
  throw new Error(`its directory lists more entries than the ${zip.entryCount} that its end states: unpack it first`);
}

export const WRONG_CRC = "its checksum (CRC-32) is wrong";

/** Passes on an entry's content. Throws at its end if the content does not have the entry's CRC-32. */
export async function* checkedContent(chunks: AsyncIterable<Uint8Array>, expected: number): AsyncGenerator<Buffer> {
  let actual = 0;
  for await (const chunk of chunks) {
    actual = crc32(chunk, actual);
    yield chunk as Buffer;
  }
  if (actual !== expected) throw new Error(WRONG_CRC);
}
