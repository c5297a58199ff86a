import { equalFrames, type Frame, type FrameColumn } from "../../formats/csv/frame.js";
import { roundHalfEven } from "../../formats/xlsx/excel-time.js";
import { readExcel } from "../../formats/xlsx/read-excel.js";
import { type ChosenSheet, chooseSheet, MissingSheet, type TableRule } from "./table-books.js";

/** `sheet_data`: both sheets through `pandas.read_excel`, floats rounded to `precision` digits, then `equals`. */
export const compareSheetData: TableRule = (rule, books) => {
  const precision = rule.precision ?? 4;
  if (typeof precision !== "number" || !Number.isInteger(precision)) throw new Error("precision is no whole number");
  const result = readFrame(chooseSheet(rule.sheet_idx0, books));
  if (result === null) throw new MissingSheet();
  const expected = readFrame(chooseSheet(rule.sheet_idx1, books));
  if (expected === null) throw new Error("the gold workbook lacks a sheet");
  return equalFrames(roundFrame(result, precision), roundFrame(expected, precision));
};

/** Null where the sheet cannot be read. */
function readFrame({ book, sheet }: ChosenSheet): Frame | null {
  if (sheet === null || sheet.isChartsheet) return null;
  try {
    return readExcel(book, sheet);
  } catch {
    return null;
  }
}

function roundFrame(frame: Frame, precision: number): Frame {
  return { ...frame, columns: frame.columns.map((column) => roundColumn(column, precision)) };
}

/** numpy's rounding: scaled by a power of ten, halves to the even neighbour. */
function roundColumn(column: FrameColumn, precision: number): FrameColumn {
  if (column.type !== "float64") return column;
  const power = 10 ** Math.abs(precision);
  const round = (value: number) =>
    precision >= 0 ? roundHalfEven(value * power) / power : roundHalfEven(value / power) * power;
  return { ...column, values: column.values.map((value) => (Number.isFinite(value) ? round(Number(value)) : value)) };
}
