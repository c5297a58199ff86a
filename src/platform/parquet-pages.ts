/** What a page of a Parquet file says of itself, as far as it is asked. */
interface PageHeader {
  readonly compressed_page_size: number;
  readonly uncompressed_page_size: number;
  readonly data_page_header?: { readonly num_values: number } | undefined;
  readonly data_page_header_v2?: { readonly num_values: number } | undefined;
  readonly dictionary_page_header?: { readonly num_values: number } | undefined;
}

/** As hyparquet reads one: it leaves the reader behind the header. */
export type ReadPageHeader = (reader: { view: DataView; offset: number }) => PageHeader;

/** Part of a file; shorter where the file ends. */
export type ReadBytes = (start: number, end: number) => Promise<ArrayBuffer> | ArrayBuffer;

/** Where the pages of one column lie. */
export interface ColumnChunk {
  readonly name: string;
  readonly start: number;
  readonly end: number;
}

/** A page is decoded whole, however little of it is wanted: eight bytes a value, and its text. */
const MAX_VALUES = 5_000_000;
const MAX_BYTES = 1_000_000_000;

/** Fewer rows than this are read whatever the size of their file: they may all be alike. */
const FEW_ROWS = 100_000;

/** A header is some dozens of bytes, but may hold the least and the greatest value of its page. */
const HEADER_BYTES = [1 << 14, 1 << 22];

/** Throws where a file claims more rows than it can hold different ones: each has an id of its own. */
export function checkRowCount(rows: number, fileBytes: number): void {
  if (rows <= FEW_ROWS || rows <= fileBytes) return;
  throw new Error(`it claims ${rows.toLocaleString("en")} rows in ${fileBytes.toLocaleString("en")} bytes`);
}

/** Throws where a page of the column would take up too much memory; a run of equal values of any length takes a few bytes in the file. */
export async function checkPages(chunk: ColumnChunk, read: ReadBytes, readHeader: ReadPageHeader): Promise<void> {
  for (let at = chunk.start; at < chunk.end; ) {
    const { header, bytes } = await headerAt(at, chunk.end, read, readHeader);
    const values = (header.data_page_header ?? header.data_page_header_v2 ?? header.dictionary_page_header)?.num_values;
    if ((values ?? 0) > MAX_VALUES) throw tooLarge(chunk, `${values?.toLocaleString("en")} values`);
    if (header.uncompressed_page_size > MAX_BYTES) {
      throw tooLarge(chunk, `${header.uncompressed_page_size.toLocaleString("en")} bytes`);
    }
    if (header.compressed_page_size < 0) throw new Error(`a page of its column ${chunk.name} has no size`);
    at += bytes + header.compressed_page_size;
  }
}

async function headerAt(at: number, end: number, read: ReadBytes, readHeader: ReadPageHeader) {
  for (const size of HEADER_BYTES) {
    const view = new DataView(await read(at, Math.min(end, at + size)));
    const reader = { view, offset: 0 };
    try {
      const header = readHeader(reader);
      return { header, bytes: reader.offset };
    } catch (error) {
      if (view.byteLength < size || size === HEADER_BYTES.at(-1)) throw error;
    }
  }
  throw new Error("there is a last size");
}

function tooLarge({ name }: ColumnChunk, what: string): Error {
  return new Error(`a page of its column ${name} would be ${what}, more than is read`);
}
