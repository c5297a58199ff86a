// Reads posting lists directly from FTS5's tables, because SQLite's own query interface is slower.
import { DamagedRowError } from "../../store/damaged-row.js";
import type { Db } from "../../store/open-store.js";
import { stemOf } from "../../text/porter.js";

/**
 * Reads posting lists from the tables that FTS5 uses to store its index ("FTS5 Data Structures",
 * https://www.sqlite.org/fts5.html#fts5_data_structures, and the start of fts5_index.c). SQL can return the matching
 * rows, but not the occurrences of a word in each row. bm25() looks up every row's length, which takes 82 ms for eight
 * words in a mailbox of 35,000 emails. This reader takes 12 ms. It only supports indexes without prefix indexes and
 * with full details, like ours.
 */
export interface TermPostings {
  /** In ascending order. */
  readonly rowids: Int32Array;
  /** Number of occurrences of the term per row, in one column or in all. */
  readonly counts: Uint16Array;
}

interface RowSet {
  has(rowid: number): boolean;
}

interface Fts5Postings {
  /** Returns the members of a set that contain a word in any form. Searches only the given column, or all if null. */
  read(word: string, members: RowSet, column?: number | null): TermPostings;
}

interface Segment {
  readonly id: number;
  readonly lastPage: number;
}

interface ByteRange {
  readonly start: number;
  readonly end: number;
}

/** Rowid of the structure record in the data table. */
const STRUCTURE_ID = 10;
const PAGE_ID_BITS = 37;

/**
 * Opens an index. The result is valid until the index changes.
 * @throws DamagedRowError, also from `read`, if a record does not have FTS5's format
 */
export function openFts5Postings(db: Db, table: string): Fts5Postings {
  const block = db.prepare(`SELECT block FROM ${table}_data WHERE id = ?`).pluck();
  const leafOf = db
    .prepare(`SELECT pgno FROM ${table}_idx WHERE segid = ? AND term <= ? ORDER BY term DESC LIMIT 1`)
    .pluck();
  const readPage = ({ id, lastPage }: Segment, page: number) =>
    page > lastPage ? null : ((block.get(id * 2 ** PAGE_ID_BITS + page) as Buffer | undefined) ?? null);
  const decode = <T>(row: number, use: () => T): T => {
    try {
      return use();
    } catch (cause) {
      // These errors come from an offset outside the record, or from a record that is missing or not a BLOB.
      if (!(cause instanceof RangeError || cause instanceof TypeError)) throw cause;
      throw new DamagedRowError({ table: `${table}_data`, row, column: "block" }, "it is not an FTS5 record", {
        cause,
      });
    }
  };
  const segments = decode(STRUCTURE_ID, () => readSegments(block.get(STRUCTURE_ID) as Buffer));

  const find = (segment: Segment, key: Buffer): Doclist | null => {
    // The lowest bit is set if the leaf has a doclist index.
    const leaf = leafOf.get(segment.id, key) as number | undefined;
    if (leaf === undefined) return null;
    const page = Math.floor(leaf / 2);
    const bytes = readPage(segment, page);
    const range = bytes === null ? null : findTerm(bytes, key);
    if (bytes === null || range === null) return null;
    return new Doclist(bytes, range, page, (next) => readPage(segment, next));
  };

  return {
    read(word, members, column = null) {
      const postings = new PostingsBuilder();
      // Every term of the main index has the prefix "0".
      const key = Buffer.from(`0${stemOf(word)}`, "latin1");
      for (const segment of segments) {
        decode(segment.id * 2 ** PAGE_ID_BITS, () => find(segment, key)?.read(members, column, postings));
      }
      return postings.build(segments.length > 1);
    },
  };
}

/** Returns the segments of an index from its structure record, which starts with a four-byte counter. */
function readSegments(record: Buffer): Segment[] {
  const reader = new VarintReader(record, 4);
  const levels = reader.next();
  reader.next(); // segments of all levels
  reader.next(); // write counter
  const segments: Segment[] = [];
  for (let level = 0; level < levels; level++) {
    reader.next(); // segments being merged
    const count = reader.next();
    if (reader.at > record.length) throw new RangeError("the record ends within a level");
    for (let i = 0; i < count; i++) {
      if (reader.at >= record.length) throw new RangeError("the record ends within a segment");
      const id = reader.next();
      reader.next(); // first page
      segments.push({ id, lastPage: reader.next() });
    }
  }
  return segments;
}

class VarintReader {
  constructor(
    private readonly bytes: Buffer,
    public at: number,
  ) {}

  /** Reads SQLite's varint: big-endian, seven bits per byte. Values above 2^53 do not occur here. */
  next(): number {
    let value = 0;
    for (let i = 0; i < 9; i++) {
      const byte = this.bytes[this.at++] as number;
      if (byte < 0x80) return value * 0x80 + byte;
      value = value * 0x80 + (byte & 0x7f);
    }
    return value;
  }
}

/**
 * A leaf starts with two two-byte offsets: its first rowid (0 if the leaf does not contain one) and the end of its
 * content.
 */
const firstRowidOf = (page: Buffer) => page.readUInt16BE(0);
const contentEndOf = (page: Buffer) => page.readUInt16BE(2);
const LEAF_HEADER_BYTES = 4;

/** FTS5_MAX_TOKEN_SIZE plus the byte before each term. */
const MAX_TERM_BYTES = 32_769;

/** Buffer for the current term. Each term shares its first bytes with the previous one. */
const termBytes = Buffer.alloc(MAX_TERM_BYTES);

/** Returns the byte range of a term's doclist within a leaf, or null if the leaf does not contain the term. */
function findTerm(page: Buffer, key: Buffer): ByteRange | null {
  const contentEnd = contentEndOf(page);
  const index = new VarintReader(page, contentEnd);
  let start = 0;
  while (index.at < page.length) {
    const isFirst = start === 0;
    start += index.next();
    const reader = new VarintReader(page, start);
    const sharedBytes = isFirst ? 0 : reader.next();
    const added = reader.next();
    page.copy(termBytes, sharedBytes, reader.at, reader.at + added);
    if (sharedBytes + added !== key.length || key.compare(termBytes, 0, key.length) !== 0) continue;
    const end = index.at < page.length ? start + index.next() : contentEnd;
    return { start: reader.at + added, end };
  }
  return null;
}

/** The rows of one term in one segment. They can span several leaves. */
class Doclist {
  private at: number;
  private end: number;
  /** Offset of the page's first rowid. All other rowids are stored as the difference from the previous one. */
  private absoluteAt: number;
  private isLastPage: boolean;

  constructor(
    private page: Buffer,
    { start, end }: ByteRange,
    private pageNumber: number,
    private readonly readPage: (page: number) => Buffer | null,
  ) {
    this.at = start;
    this.end = end;
    this.absoluteAt = start;
    this.isLastPage = end < contentEndOf(page);
  }

  read(members: RowSet, column: number | null, postings: PostingsBuilder): void {
    let rowid = 0;
    while (this.at < this.end || this.continueOnNextPage()) {
      const isAbsolute = this.at === this.absoluteAt;
      const difference = this.varint();
      rowid = isAbsolute ? difference : rowid + difference;
      // The lowest bit marks a deleted row.
      const size = Math.floor(this.varint() / 2);
      if (!members.has(rowid)) {
        this.skip(size);
        continue;
      }
      const count = this.countPositions(size, column);
      if (count > 0) postings.add(rowid, count);
    }
  }

  private continueOnNextPage(): boolean {
    if (this.isLastPage) return false;
    const page = this.readPage(++this.pageNumber);
    if (page === null) return false;
    const contentEnd = contentEndOf(page);
    // A leaf that contains terms lists their offsets. The doclist ends before the first term.
    const hasTerm = contentEnd < page.length;
    this.page = page;
    this.at = LEAF_HEADER_BYTES;
    this.end = hasTerm ? new VarintReader(page, contentEnd).next() : contentEnd;
    this.absoluteAt = firstRowidOf(page);
    this.isLastPage = hasTerm;
    return this.at < this.end;
  }

  private varint(): number {
    const { page } = this;
    let byte = page[this.at++] as number;
    if (byte < 0x80) return byte;
    let value = byte & 0x7f;
    do {
      byte = page[this.at++] as number;
      value = value * 0x80 + (byte & 0x7f);
    } while (byte >= 0x80);
    return value;
  }

  private skip(size: number): void {
    for (let remaining = size; remaining > 0; ) {
      if (this.at >= this.end && !this.continueOnNextPage()) return;
      const step = Math.min(remaining, this.end - this.at);
      this.at += step;
      remaining -= step;
    }
  }

  /**
   * Counts the positions in a list, which contains one varint per position. A 1 and the column number precede the
   * positions of each column except the first.
   */
  private countPositions(size: number, column: number | null): number {
    let count = 0;
    let isColumn = false;
    let isCounted = column === null || column === 0;
    let isContinued = false;
    for (let remaining = size; remaining > 0; ) {
      if (this.at >= this.end && !this.continueOnNextPage()) return count;
      const stop = Math.min(this.end, this.at + remaining);
      remaining -= stop - this.at;
      const { page } = this;
      for (; this.at < stop; this.at++) {
        const byte = page[this.at] as number;
        if (byte === COLUMN_MARK && !isContinued && !isColumn) isColumn = true;
        else if (byte >= 0x80) isContinued = true;
        else {
          // Column numbers take one byte in a table with fewer than 128 columns.
          if (isColumn) isCounted = column === null || column === byte;
          else if (isCounted) count++;
          isColumn = false;
          isContinued = false;
        }
      }
    }
    return count;
  }
}

const COLUMN_MARK = 1;
const MAX_COUNT = 0xffff;

class PostingsBuilder {
  private rowids = new Int32Array(64);
  private counts = new Uint16Array(64);
  private length = 0;

  add(rowid: number, count: number): void {
    if (this.length === this.rowids.length) {
      const rowids = new Int32Array(2 * this.length);
      const counts = new Uint16Array(2 * this.length);
      rowids.set(this.rowids);
      counts.set(this.counts);
      this.rowids = rowids;
      this.counts = counts;
    }
    this.rowids[this.length] = rowid;
    this.counts[this.length++] = Math.min(count, MAX_COUNT);
  }

  build(isUnsorted: boolean): TermPostings {
    const rowids = this.rowids.slice(0, this.length);
    const counts = this.counts.slice(0, this.length);
    if (!isUnsorted) return { rowids, counts };
    const order = Array.from(rowids, (_, i) => i).sort((a, b) => (rowids[a] as number) - (rowids[b] as number));
    return {
      rowids: Int32Array.from(order, (i) => rowids[i] as number),
      counts: Uint16Array.from(order, (i) => counts[i] as number),
    };
  }
}
