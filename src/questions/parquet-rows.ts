import { type FileMetaData, parquetMetadataAsync, parquetReadObjects, parquetSchema } from "hyparquet";
import { parquetHeader } from "hyparquet/src/column.js";
import { compressors } from "hyparquet-compressors";
import { questionSchema } from "../domain/tasks/question.js";
import { checkPages, checkRowCount } from "../platform/parquet-pages.js";
import type { RawRow } from "./raw-row.js";

const COLUMNS: ReadonlySet<string> = new Set(Object.keys(questionSchema.shape));

/**
 * The question columns of a Parquet file. Safe 64-bit integers become numbers, timestamps ISO 8601 strings.
 * @throws Error where the file is damaged or hyparquet does not support it
 */
export async function parquetRows(bytes: Uint8Array): Promise<RawRow[]> {
  const file = new Uint8Array(bytes).buffer;
  const metadata = await parquetMetadataAsync(file);
  await checkSize(file, metadata);
  const columns = parquetSchema(metadata)
    .children.map((child) => child.element.name)
    .filter((name) => COLUMNS.has(name));
  if (columns.length === 0) return Array.from({ length: Number(metadata.num_rows) }, (_, i) => rawRow({}, i));
  const rows = await parquetReadObjects({ file, metadata, columns, compressors });
  return rows.map(rawRow);
}

/** Limit for questions in memory. */
const MAX_ROWS = 1_000_000;

async function checkSize(file: ArrayBuffer, { num_rows, row_groups }: FileMetaData): Promise<void> {
  const rows = Number(num_rows);
  checkRowCount(rows, file.byteLength);
  if (rows > MAX_ROWS) throw new Error(`it has ${rows.toLocaleString("en")} rows, more than ${MAX_ROWS}`);
  for (const { meta_data: meta } of row_groups.flatMap(({ columns }) => columns)) {
    if (meta === undefined || !COLUMNS.has(meta.path_in_schema[0] ?? "")) continue;
    const start = Number(meta.dictionary_page_offset || meta.data_page_offset);
    const chunk = { name: meta.path_in_schema.join("."), start, end: start + Number(meta.total_compressed_size) };
    await checkPages(chunk, (from, to) => file.slice(from, to), parquetHeader);
  }
}

function rawRow(row: Record<string, unknown>, index: number): RawRow {
  const value = Object.fromEntries(Object.entries(row).map(([name, cell]) => [name, toJsonValue(cell)]));
  return { where: `row ${index + 1}`, value };
}

function toJsonValue(cell: unknown): unknown {
  // A larger one stays a bigint, which validation rejects with its field name.
  if (typeof cell === "bigint" && Number.isSafeInteger(Number(cell))) return Number(cell);
  if (cell instanceof Date) return cell.toISOString();
  return cell;
}
