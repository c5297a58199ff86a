/** The records of a zip file besides its data, by its specification (APPNOTE 6.3.10, sections 4.3 and 4.5.3). */
export interface ZipEntry {
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

export interface DosTime {
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
  const head = Buffer.alloc(46);
  head.writeUInt32LE(0x02014b50, 0);
  head.writeUInt16LE(VERSION_ZIP64, 4);
  writeShared(head.subarray(6), entry, extra.length, false);
  head.writeUInt32LE(Math.min(offset, MAX_32), 42);
  return Buffer.concat([head, name, extra]);
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
