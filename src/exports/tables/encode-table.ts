import { csvRows } from "./csv-format.js";
import { jsonLines } from "./jsonl-format.js";
import type { Column } from "./table.js";

export const TABLE_FORMATS = ["parquet", "csv", "jsonl"] as const;

export type TableFormat = (typeof TABLE_FORMATS)[number];

/** The file of a table, in pieces: text, or bytes of Parquet. */
export async function encodeTable<Row>(
  format: TableFormat,
  { name, columns }: { readonly name: string; readonly columns: readonly Column<Row>[] },
  rows: Iterable<Row>,
): Promise<Iterable<string> | Iterable<Uint8Array>> {
  if (format === "csv") return csvRows(columns, rows);
  if (format === "jsonl") return jsonLines(columns, rows);
  // Loaded only where it is used.
  const { parquetBytes } = await import("./parquet-format.js");
  return parquetBytes(name, columns, rows);
}
