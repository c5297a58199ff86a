import { nameColumns } from "../csv/column-names.js";
import type { Frame, FrameCell } from "../csv/frame.js";
import { inferObjects } from "../csv/infer-objects.js";
import { readCachedValue, type TypedCell } from "./cell-value.js";
import type { Sheet, Workbook } from "./workbook.js";

const MAX_CELLS = 20_000_000;

/**
 * `pandas.read_excel(workbook, sheet)`: the first row, also an empty one, is the header; cached values; empty rows and
 * columns at the end are cut off, others are kept.
 */
export function readExcel(workbook: Workbook, sheet: Sheet): Frame {
  const [header, ...records] = readRows(workbook, sheet);
  if (header === undefined) return { columns: [], rows: 0, index: null };
  const columns = nameColumns(header).map((name, i) => {
    const cells = records.map((record) => record[i] ?? "");
    return { name, ...(cells.length === 0 ? ({ type: "object", values: [] } as const) : inferObjects(cells)) };
  });
  return { columns, rows: records.length, index: null };
}

/** All rows from the first to the last with a value, equally long; an empty cell is an empty text. */
function readRows(workbook: Workbook, sheet: Sheet): FrameCell[][] {
  const rows: FrameCell[][] = [];
  for (const cell of workbook.cellsOf(sheet)) {
    const value = toFrameCell(readCachedValue(cell, workbook));
    if (value === "") continue;
    while (rows.length < cell.row) rows.push([]);
    const row = rows[cell.row - 1] as FrameCell[];
    while (row.length < cell.column) row.push("");
    row[cell.column - 1] = value;
  }
  const width = rows.reduce((widest, row) => Math.max(widest, row.length), 0);
  if (width * rows.length > MAX_CELLS) throw new Error("the sheet is too large to compare");
  for (const row of rows) while (row.length < width) row.push("");
  return rows;
}

function toFrameCell({ type, value }: TypedCell): FrameCell {
  if (value === null) return "";
  return type === "e" ? Number.NaN : value;
}
