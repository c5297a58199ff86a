import { crc32, deflateRawSync } from "node:zlib";
import { type DosTime, directoryEnd, directoryEntry, dosTime, localHeader, type ZipEntry } from "./zip-records.js";

/** What a zip can say of a time. */
const EARLIEST = Date.UTC(1980, 0, 1);
const LATEST = Date.UTC(2107, 11, 31);

/** Deflated data of an entry. */
export interface Deflated {
  /** Bytes before. */
  readonly size: number;
  readonly crc: number;
  readonly chunks: readonly Uint8Array[];
}

/** A zip file in the making, with zip64 where it is needed: bytes of it are taken by `take` after each entry. */
export class ZipWriter {
  private chunks: Uint8Array[] = [];
  private offset = 0;
  /** Lines of the directory, which alone are held until the end. */
  private readonly directory: Buffer[] = [];
  private readonly time: DosTime;

  /** All entries get this time (ISO 8601), so that equal content gives equal bytes. */
  constructor(modified: string) {
    const time = Date.parse(modified);
    this.time = dosTime(new Date(time >= EARLIEST && time <= LATEST ? time : EARLIEST));
  }

  /** The bytes since the last time. */
  take(): Uint8Array[] {
    const taken = this.chunks;
    this.chunks = [];
    return taken;
  }

  addText(name: string, text: string): void {
    const bytes = Buffer.from(text);
    this.add(name, { size: bytes.length, crc: crc32(bytes), chunks: [deflateRawSync(bytes)] });
  }

  add(name: string, { size, crc, chunks }: Deflated): void {
    const deflatedSize = chunks.reduce((sum, { length }) => sum + length, 0);
    const { offset, time } = this;
    const entry: ZipEntry = { name: Buffer.from(name), crc, size, deflatedSize, offset, time };
    this.write([localHeader(entry)]);
    this.write(chunks);
    this.directory.push(directoryEntry(entry));
  }

  end(): void {
    const start = this.offset;
    this.write(this.directory);
    this.write([directoryEnd(this.directory.length, start, this.offset - start)]);
  }

  private write(chunks: readonly Uint8Array[]): void {
    for (const chunk of chunks) {
      this.chunks.push(chunk);
      this.offset += chunk.length;
    }
  }
}
