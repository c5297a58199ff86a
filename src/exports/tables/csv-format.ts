import { type Cell, csvLineOf } from "../../platform/csv-line.js";
import type { CellValue, Column } from "./table.js";

/**
 * RFC 4180 in UTF-8, without a byte order mark. A text that a spreadsheet would execute as a formula gets an
 * apostrophe before it. Several texts are separated by spaces; no value is an empty cell.
 */
export function* csvRows<Row>(columns: readonly Column<Row>[], rows: Iterable<Row>): Generator<string> {
  yield csvLineOf(columns.map(({ name }) => name));
  for (const row of rows) yield csvLineOf(columns.map(({ read }) => toCell(read(row))));
}

function toCell(value: CellValue): Cell {
  if (value === null || typeof value === "string" || typeof value === "number") return value;
  // In capitals: what R takes as logical, as all others do.
  return typeof value === "boolean" ? String(value).toUpperCase() : value.join(" ");
}
