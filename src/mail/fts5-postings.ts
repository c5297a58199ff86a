import { DamagedRowError } from "../store/damaged-row.js";
import type { Db } from "../store/open-store.js";
import { stemOf } from "../text/porter.js";

/**
 * Reads posting lists from the tables in which FTS5 stores its index ("FTS5 Data Structures",
 * https://www.sqlite.org/fts5.html#fts5_data_structures, and the head of fts5_index.c). SQL can return the matching
 * rows, but not how often a word occurs in each: bm25() looks up every row's length, which takes 82 ms for eight words
 * in a mailbox of 35,000 emails where this reader takes 12. Only for indexes without prefix indexes and with all
 * details, as ours are.
 */
export interface TermPostings {
  /** Ascending. */
  readonly rowids: Int32Array;
  /** Occurrences of the term, in one column or in all. */
  readonly counts: Uint16Array;
}

export interface RowSet {
  has(rowid: number): boolean;
}

export interface Fts5Postings {
  /** The members of a set that contain a word in any form, in the column with this number (null: in any). */
  read(word: string, members: RowSet, column?: number | null): TermPostings;
}

interface Segment {
  readonly id: number;
  readonly lastPage: number;
}

/** Row of the structure record in the data table. */
const STRUCTURE_ID = 10;
const PAGE_ID_BITS = 37;

/**
 * Valid until the index is written to.
 * @throws DamagedRowError, also from `read`, if a record is not as FTS5 writes it
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
      // From an offset outside the record, or a record that is missing or not a BLOB.
      if (!(cause instanceof RangeError || cause instanceof TypeError)) throw cause;
      throw new DamagedRowError({ table: `${table}_data`, row, column: "block" }, "it is not an FTS5 record", {
        cause,
      });
    }
  };
  const segments = decode(STRUCTURE_ID, () => readSegments(block.get(STRUCTURE_ID) as Buffer));

  const find = (segment: Segment, key: Buffer): Doclist | null => {
    // The lowest bit tells whether the leaf has a doclist index.
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
      const found = new PostingsBuilder();
      // Every term of the main index begins with "0".
      const key = Buffer.from(`0${stemOf(word)}`, "latin1");
      for (const segment of segments) {
        decode(segment.id * 2 ** PAGE_ID_BITS, () => find(segment, key)?.read(members, column, found));
      }
      return found.build(segments.length > 1);
    },
  };
}

/** The segments of an index, from its structure record, which begins with a counter of four bytes. */
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

  /** SQLite's varint: big-endian, seven bits per byte. Values beyond 2^53 do not occur here. */
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

interface ByteRange {
  readonly start: number;
  readonly end: number;
}

/** A leaf begins with the offset of its first rowid (0: none) and the end of its content, two bytes each. */
const firstRowidOf = (page: Buffer) => page.readUInt16BE(0);
const contentEndOf = (page: Buffer) => page.readUInt16BE(2);
const LEAF_HEADER_BYTES = 4;

/** FTS5_MAX_TOKEN_SIZE and the byte before each term. */
const MAX_TERM_BYTES = 32_769;

/** The term being read: each shares its first bytes with the one before. */
const termBytes = Buffer.alloc(MAX_TERM_BYTES);

/** The range of a leaf in which the doclist of a term begins. */
function findTerm(page: Buffer, key: Buffer): ByteRange | null {
  const contentEnd = contentEndOf(page);
  const index = new VarintReader(page, contentEnd);
  let start = 0;
  while (index.at < page.length) {
    const isFirst = start === 0;
    start += index.next();
    const reader = new VarintReader(page, start);
    const kept = isFirst ? 0 : reader.next();
    const added = reader.next();
    page.copy(termBytes, kept, reader.at, reader.at + added);
    if (kept + added !== key.length || key.compare(termBytes, 0, key.length) !== 0) continue;
    const end = index.at < page.length ? start + index.next() : contentEnd;
    return { start: reader.at + added, end };
  }
  return null;
}

/** The rows of one term in one segment, over one or more leaves. */
class Doclist {
  private at: number;
  private end: number;
  /** Where the first rowid of the page is stored. Unlike all others it is not the difference to the one before. */
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

  read(members: RowSet, column: number | null, found: PostingsBuilder): void {
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
      if (count > 0) found.add(rowid, count);
    }
  }

  private continueOnNextPage(): boolean {
    if (this.isLastPage) return false;
    const page = this.readPage(++this.pageNumber);
    if (page === null) return false;
    const contentEnd = contentEndOf(page);
    // A leaf with terms lists where they begin; the doclist ends before the first.
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
    for (let left = size; left > 0; ) {
      if (this.at >= this.end && !this.continueOnNextPage()) return;
      const taken = Math.min(left, this.end - this.at);
      this.at += taken;
      left -= taken;
    }
  }

  /** A position list is one varint per position, and a 1 with the number of the column before those of a column. */
  private countPositions(size: number, column: number | null): number {
    let count = 0;
    let isColumn = false;
    let isCounted = column === null || column === 0;
    let isContinued = false;
    for (let left = size; left > 0; ) {
      if (this.at >= this.end && !this.continueOnNextPage()) return count;
      const stop = Math.min(this.end, this.at + left);
      left -= stop - this.at;
      const { page } = this;
      for (; this.at < stop; this.at++) {
        const byte = page[this.at] as number;
        if (byte === COLUMN_MARK && !isContinued && !isColumn) isColumn = true;
        else if (byte >= 0x80) isContinued = true;
        else {
          // Column numbers take one byte in a table of fewer than 128 columns.
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
