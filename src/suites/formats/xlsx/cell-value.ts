import type { FrameTime } from "../csv/frame.js";
import { toCell } from "../csv/parse-number.js";
import type { RawCell } from "./cells.js";
import { fromIsoDate, fromSerial } from "./excel-time.js";
import { isDateFormat, isDurationFormat } from "./number-formats.js";
import type { Workbook } from "./workbook.js";

export type CellValue = string | number | bigint | boolean | FrameTime;

/** What openpyxl gives for a cell with `data_only`: its cached value, and its type after dates are recognised. */
export interface TypedCell {
  /** n, s, b, d, e */
  readonly type: string;
  readonly value: CellValue | null;
}

/** Formulas that were saved without being calculated are empty. */
export function readCachedValue(cell: RawCell, workbook: Workbook): TypedCell {
  const { type, value } = cell;
  if (value === null) return cell.inline === null ? { type, value: null } : { type: "s", value: cell.inline };
  if (type === "n") return readNumber(value, cell.style, workbook);
  if (type === "s") {
    const text = workbook.sharedStrings[Number(value)];
    if (text === undefined) throw new Error("a cell names a text that the workbook does not have");
    return { type, value: text };
  }
  if (type === "b") return { type, value: Number(value) !== 0 };
  if (type === "str") return { type: "s", value };
  return type === "d" ? { type, value: fromIsoDate(value) } : { type, value };
}

function readNumber(text: string, style: number, workbook: Workbook): TypedCell {
  const isFloat = /[.eE]/.test(text);
  const number = Number(text);
  if (Number.isNaN(number)) throw new Error(`${text} is no number`);
  const format = workbook.styles.cells[style]?.numberFormat ?? "General";
  if (isDateFormat(format)) {
    const time = fromSerial(number, isDurationFormat(format), workbook.is1904);
    return time === null ? { type: "e", value: "#VALUE!" } : { type: "d", value: time };
  }
  return { type: "n", value: isFloat ? number : toCell(BigInt(text.trim())) };
}
