import { parquetMetadataAsync, parquetReadObjects, parquetSchema } from "hyparquet";
import { compressors } from "hyparquet-compressors";
import { questionSchema } from "../domain/question.js";
import type { RawRow } from "./rows.js";

const COLUMNS: ReadonlySet<string> = new Set(Object.keys(questionSchema.shape));

/**
 * Rows of a Parquet file, question columns only. 64-bit integers become numbers where that loses
 * nothing, timestamps ISO 8601 strings.
 * @throws Error where the file is damaged or uses something hyparquet cannot read
 */
export async function parquetRows(bytes: Uint8Array): Promise<RawRow[]> {
  const file = new Uint8Array(bytes).buffer;
  const metadata = await parquetMetadataAsync(file);
  const columns = parquetSchema(metadata)
    .children.map((child) => child.element.name)
    .filter((name) => COLUMNS.has(name));
  if (columns.length === 0) return Array.from({ length: Number(metadata.num_rows) }, (_, i) => rawRow({}, i));
  const rows = await parquetReadObjects({ file, metadata, columns, compressors });
  return rows.map(rawRow);
}

function rawRow(row: Record<string, unknown>, index: number): RawRow {
  const value = Object.fromEntries(Object.entries(row).map(([name, cell]) => [name, plain(cell)]));
  return { where: `row ${index + 1}`, value };
}

function plain(cell: unknown): unknown {
  // A larger one stays a bigint, which the check refuses by name of its field.
  if (typeof cell === "bigint" && Number.isSafeInteger(Number(cell))) return Number(cell);
  if (cell instanceof Date) return cell.toISOString();
  return cell;
}
