import { crc32, deflateRawSync } from "node:zlib";
import { Deflate } from "fflate";
import type { JsonObject } from "../platform/json.js";
import { toWellFormedJson } from "../platform/well-formed-json.js";

/** A list as JSON, compressed as it comes, for what may be written only when all else is. */
export class DeflatedList implements Deflated {
  size = 0;
  crc = 0;
  readonly chunks: Uint8Array[] = [];
  private readonly deflate = new Deflate((chunk) => this.chunks.push(chunk));
  private separator = "[";

  push(item: JsonObject): void {
    this.write(`${this.separator}${toWellFormedJson(item)}`, false);
    this.separator = ",";
  }

  end(): void {
    this.write(this.separator === "[" ? "[]" : "]", true);
  }

  private write(text: string, isLast: boolean): void {
    const bytes = Buffer.from(text);
    this.size += bytes.length;
    this.crc = crc32(bytes, this.crc);
    this.deflate.push(bytes, isLast);
  }
}

/** What a zip can say of a time. */
const EARLIEST = Date.UTC(1980, 0, 1);
const LATEST = Date.UTC(2107, 11, 31);

/** Deflated data of an entry. */
interface Deflated {
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

/** The records of a zip file besides its data, by its specification (APPNOTE 6.3.10, sections 4.3 and 4.5.3). */
interface ZipEntry {
  /** In UTF-8. */
  readonly name: Buffer;
  readonly crc: number;
  /** Bytes as they are, and deflated. */
  readonly size: number;
  readonly deflatedSize: number;
  /** Where in the file its local header begins. */
  readonly offset: number;
  readonly time: DosTime;
}

interface DosTime {
  readonly date: number;
  readonly time: number;
}

const DEFLATE = 8;
const NAME_IS_UTF8 = 0x800;
/** Versions of the specification that a reader must know. */
const VERSION = 20;
const VERSION_ZIP64 = 45;
const MAX_16 = 0xffff;
const MAX_32 = 0xffffffff;

/** From 1980 to 2107, in UTC, to two seconds. */
export function dosTime(date: Date): DosTime {
  return {
    date: ((date.getUTCFullYear() - 1980) << 9) | ((date.getUTCMonth() + 1) << 5) | date.getUTCDate(),
    time: (date.getUTCHours() << 11) | (date.getUTCMinutes() << 5) | (date.getUTCSeconds() >> 1),
  };
}

/** What stands before an entry's data. */
export function localHeader(entry: ZipEntry): Buffer {
  const { size, deflatedSize, name } = entry;
  // Here both sizes stand there, or none.
  const extra = zip64Extra(Math.max(size, deflatedSize) < MAX_32 ? [] : [size, deflatedSize]);
  const head = Buffer.alloc(30);
  head.writeUInt32LE(0x04034b50, 0);
  writeShared(head.subarray(4), entry, extra.length, extra.length > 0);
  return Buffer.concat([head, name, extra]);
}

/** An entry's line in the directory at the end of the file. */
export function directoryEntry(entry: ZipEntry): Buffer {
  const { size, deflatedSize, offset, name } = entry;
  const extra = zip64Extra([size, deflatedSize, offset].filter((value) => value >= MAX_32));
  // Lines are kept until the end: a slice of Node's shared pool would keep 8 KB of it.
  const line = Buffer.alloc(46 + name.length + extra.length);
  line.writeUInt32LE(0x02014b50, 0);
  line.writeUInt16LE(VERSION_ZIP64, 4);
  writeShared(line.subarray(6), entry, extra.length, false);
  line.writeUInt32LE(Math.min(offset, MAX_32), 42);
  line.set(name, 46);
  line.set(extra, 46 + name.length);
  return line;
}

/** What local headers and lines of the directory have in one form: 26 bytes. */
function writeShared(
  to: Buffer,
  { crc, size, deflatedSize, name, time }: ZipEntry,
  extraLength: number,
  both: boolean,
): void {
  to.writeUInt16LE(extraLength === 0 ? VERSION : VERSION_ZIP64, 0);
  to.writeUInt16LE(NAME_IS_UTF8, 2);
  to.writeUInt16LE(DEFLATE, 4);
  to.writeUInt16LE(time.time, 6);
  to.writeUInt16LE(time.date, 8);
  to.writeUInt32LE(crc, 10);
  to.writeUInt32LE(both ? MAX_32 : Math.min(deflatedSize, MAX_32), 14);
  to.writeUInt32LE(both ? MAX_32 : Math.min(size, MAX_32), 18);
  to.writeUInt16LE(name.length, 22);
  to.writeUInt16LE(extraLength, 24);
}

/** 64-bit values in the place of those that are too large for 32 bits. */
function zip64Extra(values: readonly number[]): Buffer {
  if (values.length === 0) return Buffer.alloc(0);
  const extra = Buffer.alloc(4 + 8 * values.length);
  extra.writeUInt16LE(1, 0);
  extra.writeUInt16LE(8 * values.length, 2);
  for (const [i, value] of values.entries()) extra.writeBigUInt64LE(BigInt(value), 4 + 8 * i);
  return extra;
}

/** The end of the file: where its directory is and how long, in 64 bits too where 16 or 32 do not hold it. */
export function directoryEnd(entries: number, offset: number, size: number): Buffer {
  const end = Buffer.alloc(22);
  end.writeUInt32LE(0x06054b50, 0);
  end.writeUInt16LE(Math.min(entries, MAX_16), 8);
  end.writeUInt16LE(Math.min(entries, MAX_16), 10);
  end.writeUInt32LE(Math.min(size, MAX_32), 12);
  end.writeUInt32LE(Math.min(offset, MAX_32), 16);
  if (entries < MAX_16 && size < MAX_32 && offset < MAX_32) return end;
  const end64 = Buffer.alloc(56);
  end64.writeUInt32LE(0x06064b50, 0);
  end64.writeBigUInt64LE(44n, 4);
  end64.writeUInt16LE(VERSION_ZIP64, 12);
  end64.writeUInt16LE(VERSION_ZIP64, 14);
  end64.writeBigUInt64LE(BigInt(entries), 24);
  end64.writeBigUInt64LE(BigInt(entries), 32);
  end64.writeBigUInt64LE(BigInt(size), 40);
  end64.writeBigUInt64LE(BigInt(offset), 48);
  const locator = Buffer.alloc(20);
  locator.writeUInt32LE(0x07064b50, 0);
  locator.writeBigUInt64LE(BigInt(offset + size), 8);
  locator.writeUInt32LE(1, 16);
  return Buffer.concat([end64, locator, end]);
}
