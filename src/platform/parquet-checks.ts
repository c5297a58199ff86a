// Checks of Parquet files that hyparquet leaves to its caller: sizes that would fill the memory, and checksums.
import { crc32 } from "node:zlib";
import type { ColumnMetaData } from "hyparquet";

interface PageHeader {
  /** CRC-32 of the page as stored, as a signed integer. Absent if the writer did not compute it. */
  readonly crc?: number | undefined;
  readonly compressed_page_size: number;
  readonly uncompressed_page_size: number;
  readonly data_page_header?: { readonly num_values: number } | undefined;
  readonly data_page_header_v2?: { readonly num_values: number } | undefined;
  readonly dictionary_page_header?: { readonly num_values: number } | undefined;
}

/** hyparquet's header reader, which moves the offset past the header. */
type ReadPageHeader = (reader: { view: DataView; offset: number }) => PageHeader;

/** A file, whose parts can be read. A part is shorter at the end of the file. */
interface ParquetFile {
  slice(start: number, end: number): Promise<ArrayBuffer> | ArrayBuffer;
}

/** A column in a row group. */
interface ColumnChunk {
  readonly meta_data?: Pick<
    ColumnMetaData,
    "path_in_schema" | "dictionary_page_offset" | "data_page_offset" | "total_compressed_size"
  >;
}

/** Byte range of one column's pages. */
interface PageRange {
  readonly name: string;
  readonly start: number;
  readonly end: number;
}

/** Maximum size of a page. Pages are always decoded completely, at eight bytes per value plus its text. */
const MAX_VALUES = 5_000_000;
const MAX_BYTES = 1_000_000_000;

/** Number of rows to read regardless of the file size, because equal rows compress to almost nothing. */
const FEW_ROWS = 100_000;

/**
 * Bytes to read for a page header. Most headers take some dozens, but can contain the minimum and maximum value of the
 * page.
 */
const HEADER_BYTES = [1 << 14, 1 << 22];

/**
 * Rethrows an error of hyparquet. Damaged metadata can cause any error in it, such as "Cannot read properties of
 * undefined", which would not help the user.
 */
export function rethrowParquetError(error: unknown): never {
  if (!(error instanceof TypeError || error instanceof RangeError)) throw error;
  throw new Error("its metadata is damaged", { cause: error });
}

/** Throws if a file claims more rows than bytes. Each row has its own id, which takes at least a byte. */
export function checkRowCount(rows: number, fileBytes: number): void {
  if (rows <= FEW_ROWS || rows <= fileBytes) return;
  throw new Error(`it claims ${rows.toLocaleString("en")} rows in ${fileBytes.toLocaleString("en")} bytes`);
}

/**
 * Throws if a page of a column to read is damaged or would take too much memory. Run-length encoding packs any number
 * of equal values into a few bytes.
 * @param names columns of the table to read
 */
export async function checkColumns(
  chunks: readonly ColumnChunk[],
  names: ReadonlySet<string>,
  file: ParquetFile,
  readHeader: ReadPageHeader,
): Promise<void> {
  for (const { meta_data: meta } of chunks) {
    if (meta === undefined || !names.has(meta.path_in_schema[0] ?? "")) continue;
    const start = Number(meta.dictionary_page_offset || meta.data_page_offset);
    const end = start + Number(meta.total_compressed_size);
    await checkPages({ name: meta.path_in_schema.join("."), start, end }, file, readHeader);
  }
}

async function checkPages(chunk: PageRange, file: ParquetFile, readHeader: ReadPageHeader): Promise<void> {
  for (let at = chunk.start; at < chunk.end; ) {
    const { header, bytes } = await headerAt(at, chunk.end, file, readHeader);
    const values = (header.data_page_header ?? header.data_page_header_v2 ?? header.dictionary_page_header)?.num_values;
    if ((values ?? 0) > MAX_VALUES) throw tooLarge(chunk, `${values?.toLocaleString("en")} values`);
    if (header.uncompressed_page_size > MAX_BYTES) {
      throw tooLarge(chunk, `${header.uncompressed_page_size.toLocaleString("en")} bytes`);
    }
    if (header.compressed_page_size < 0) throw new Error(`a page of its column ${chunk.name} has a negative size`);
    const start = at + bytes;
    at = start + header.compressed_page_size;
    if (at > chunk.end) throw new Error(`a page of its column ${chunk.name} is longer than the column`);
    if (header.crc === undefined) continue;
    const page = new Uint8Array(await file.slice(start, at));
    if (crc32(page) !== header.crc >>> 0) {
      throw new Error(`the checksum (CRC-32) of a page of its column ${chunk.name} is wrong`);
    }
  }
}

async function headerAt(at: number, end: number, file: ParquetFile, readHeader: ReadPageHeader) {
  for (const size of HEADER_BYTES) {
    const view = new DataView(await file.slice(at, Math.min(end, at + size)));
    const reader = { view, offset: 0 };
    try {
      const header = readHeader(reader);
      return { header, bytes: reader.offset };
    } catch (error) {
      if (view.byteLength < size || size === HEADER_BYTES.at(-1)) throw error;
    }
  }
  throw new Error("unreachable: the loop returns at the last size");
}

function tooLarge({ name }: PageRange, what: string): Error {
  return new Error(`a page of its column ${name} has ${what}, more than the maximum`);
}
