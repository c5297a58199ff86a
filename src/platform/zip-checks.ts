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
/** Signature before an entry's content. */
const CONTENT = 0x04034b50;

/**
 * Yields the entries of an archive. Throws after the last one if the archive contains more, because the directory
 * continues or starts after the first content: its end is damaged, or its writer counted only to 65,535.
 */
export async function* entriesOf(zip: ZipFile): AsyncGenerator<Entry> {
  let hasFirst = false;
  for await (const entry of zip.eachEntry()) {
    hasFirst ||= entry.relativeOffsetOfLocalHeader === 0;
    yield entry;
  }
  const omitsFirst = !hasFirst && (await signatureAt(zip, 0)) === CONTENT;
  if (!omitsFirst && (await signatureAt(zip, directoryOf(zip).readEntryCursor)) !== ENTRY) return;
  throw new Error(`it contains more entries than the ${zip.entryCount} that its end states: unpack it first`);
}

const directoryOf = (zip: ZipFile) => zip as unknown as ZipDirectory;

/** Returns the four bytes at a position. An archive always has an end of 22 bytes. */
async function signatureAt(zip: ZipFile, position: number): Promise<number> {
  const bytes = Buffer.alloc(4);
  await new Promise<void>((resolve, reject) => {
    directoryOf(zip).reader.read(bytes, 0, bytes.length, position, (error) =>
      error === null ? resolve() : reject(error),
    );
  });
  return bytes.readUInt32LE();
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
