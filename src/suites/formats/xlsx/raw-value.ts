import { formatCoordinate, type RawCell } from "./cells.js";
import type { Workbook } from "./workbook.js";

/**
 * A cell's value as Spider2-V's `read_cell_value` takes it from the XML: numbers, shared strings and results of
 * formulas. An inline string, which openpyxl writes, reads as nothing. It opens the part `sheet<sheetId>.xml`, which
 * need not be the sheet of that name.
 */
export function readRawValue(workbook: Workbook, sheetName: string, coordinate: string): string | number | null {
  const sheet = workbook.findSheet(sheetName);
  if (sheet === null) throw new Error(`there is no sheet ${sheetName}`);
  const part = `xl/worksheets/sheet${sheet.sheetId}.xml`;
  const cells = workbook.cellsOf({ ...sheet, part });
  return toValue(
    workbook,
    cells.find((cell) => formatCoordinate(cell.row, cell.column) === coordinate),
  );
}

function toValue(workbook: Workbook, cell: RawCell | undefined): string | number | null {
  if (cell === undefined || cell.value === null) return null;
  if (cell.type === "n") return Number.isNaN(Number(cell.value)) ? null : Number(cell.value);
  if (cell.type === "s") return workbook.sharedStrings[Number(cell.value)] ?? null;
  return cell.type === "str" ? cell.value : null;
}
