// Writes zip files entry by entry, with one compressed list that grows until the end.
import { crc32, deflateRawSync } from "node:zlib";
import { Deflate } from "fflate";
import type { JsonObject } from "../../platform/json.js";
import { toWellFormedJson } from "../../platform/well-formed-json.js";

/** Deflated data of an entry. */
interface Deflated {
  /** Bytes before compression. */
  readonly size: number;
  readonly crc: number;
  readonly chunks: readonly Uint8Array[];
}

/**
 * The records of a zip file other than its data, as defined in the specification (APPNOTE 6.3.10, sections 4.3 and
 * 4.5.3: https://pkware.cachefly.net/webdocs/casestudies/APPNOTE.TXT).
 */
interface ZipEntry {
  /** UTF-8. */
  readonly name: Buffer;
  readonly crc: number;
  /** Bytes before and after compression. */
  readonly size: number;
  readonly deflatedSize: number;
  /** Position of the local header in the file. */
  readonly offset: number;
  readonly time: DosTime;
}

interface DosTime {
  readonly date: number;
  readonly time: number;
}

/** A JSON list that is compressed as it grows, for an entry that must come after all others. */
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

/** The range of times that a zip file can store. */
const EARLIEST = Date.UTC(1980, 0, 1);
const LATEST = Date.UTC(2107, 11, 31);

/** Writes a zip file, with zip64 if needed. Call `take` after each entry to get its bytes. */
export class ZipWriter {
  private chunks: Uint8Array[] = [];
  private offset = 0;
  /** Directory entries, the only part that stays in memory until the end. */
  private readonly directory: Buffer[] = [];
  private readonly time: DosTime;

  /** `modified` is the ISO 8601 time of all entries, so that equal content produces equal bytes. */
  constructor(modified: string) {
    const time = Date.parse(modified);
    this.time = dosTime(new Date(time >= EARLIEST && time <= LATEST ? time : EARLIEST));
  }

  /** Returns the bytes since the last call. */
  take(): Uint8Array[] {
    const chunks = this.chunks;
    this.chunks = [];
    return chunks;
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

const DEFLATE = 8;
const NAME_IS_UTF8 = 0x800;
/** Specification versions that a reader must support. */
const VERSION = 20;
const VERSION_ZIP64 = 45;
const MAX_16 = 0xffff;
const MAX_32 = 0xffffffff;

/** DOS date and time in UTC, from 1980 to 2107, with a resolution of two seconds. */
export function dosTime(date: Date): DosTime {
  return {
    date: ((date.getUTCFullYear() - 1980) << 9) | ((date.getUTCMonth() + 1) << 5) | date.getUTCDate(),
    time: (date.getUTCHours() << 11) | (date.getUTCMinutes() << 5) | (date.getUTCSeconds() >> 1),
  };
}

/** The header before an entry's data. */
export function localHeader(entry: ZipEntry): Buffer {
  const { size, deflatedSize, name } = entry;
  // A local header contains either both 64-bit sizes or neither.
  const extra = zip64Extra(Math.max(size, deflatedSize) < MAX_32 ? [] : [size, deflatedSize]);
  const head = Buffer.alloc(30);
  head.writeUInt32LE(0x04034b50, 0);
  writeShared(head.subarray(4), entry, extra.length, extra.length > 0);
  return Buffer.concat([head, name, extra]);
}

/** An entry in the directory at the end of the file. */
export function directoryEntry(entry: ZipEntry): Buffer {
  const { size, deflatedSize, offset, name } = entry;
  const extra = zip64Extra([size, deflatedSize, offset].filter((value) => value >= MAX_32));
  // Directory entries stay in memory until the end, and a slice of Node's shared pool would keep 8 KB alive.
  const line = Buffer.alloc(46 + name.length + extra.length);
  line.writeUInt32LE(0x02014b50, 0);
  line.writeUInt16LE(VERSION_ZIP64, 4);
  writeShared(line.subarray(6), entry, extra.length, false);
  line.writeUInt32LE(Math.min(offset, MAX_32), 42);
  line.set(name, 46);
  line.set(extra, 46 + name.length);
  return line;
}

/** The 26 bytes that local headers and directory entries have in common. */
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

/** The 64-bit values of fields that are too large for 32 bits. */
function zip64Extra(values: readonly number[]): Buffer {
  if (values.length === 0) return Buffer.alloc(0);
  const extra = Buffer.alloc(4 + 8 * values.length);
  extra.writeUInt16LE(1, 0);
  extra.writeUInt16LE(8 * values.length, 2);
  for (const [i, value] of values.entries()) extra.writeBigUInt64LE(BigInt(value), 4 + 8 * i);
  return extra;
}

/**
 * The end of the file, which contains the position and length of its directory, additionally in 64 bits if 16 or 32
 * bits are too few.
 */
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
