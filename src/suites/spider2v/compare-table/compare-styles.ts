import { isDeepStrictEqual } from "node:util";
import { isList } from "../../formats/python/values.js";
import { formatCoordinate, parseRange } from "../../formats/xlsx/cells.js";
import { isDateFormat } from "../../formats/xlsx/number-formats.js";
import type { Sheet, Workbook } from "../../formats/xlsx/workbook.js";
import { findChild, findChildren } from "../../formats/xlsx/xml.js";
import { EMPTY_CELL, readStyleProperty, type StyledCell, type StyleValue, styleCell } from "./cell-styles.js";
import { findActiveCells } from "./conditional-formats.js";
import { type ChosenSheet, chooseSheet, type TableRule } from "./table-books.js";

const MAX_CELLS = 5_000_000;

/** `style`: the properties that the rule names of every cell up to the last one, after conditional formats. */
export const compareStyles: TableRule = (rule, books) => {
  const names = isList(rule.props) ? rule.props.map(String) : [];
  return isDeepStrictEqual(
    describeStyles(chooseSheet(rule.sheet_idx0, books), names),
    describeStyles(chooseSheet(rule.sheet_idx1, books), names),
  );
};

function describeStyles({ book, sheet }: ChosenSheet, names: readonly string[]): Map<string, readonly StyleValue[]> {
  const styles = new Map<string, readonly StyleValue[]>();
  if (sheet === null) return styles;
  const cells = readStyledCells(book, sheet);
  for (const [coordinate, cell] of cells)
    styles.set(
      coordinate,
      names.map((name) => readStyleProperty(name, cell)),
    );
  for (const { coordinate, format } of findActiveCells(book, sheet)) {
    const cell = cells.get(coordinate) ?? EMPTY_CELL;
    styles.set(
      coordinate,
      names.map((name) => readStyleProperty(name, cell, format)),
    );
  }
  return styles;
}

/** From A1 to the last row and column; cells inside a merged range but its first are empty, and count for the size. */
export function readStyledCells(book: Workbook, sheet: Sheet): Map<string, StyledCell> {
  const raw = book.cellsOf(sheet);
  const merged = findChildren(findChild(book.package.read(sheet.part), "mergeCells"), "mergeCell").map(
    ({ attributes }) => parseRange(attributes.ref ?? ""),
  );
  const rows = [...raw.map(({ row }) => row), ...merged.map(({ maxRow }) => maxRow)].reduce(larger, 0);
  const columns = [...raw.map(({ column }) => column), ...merged.map(({ maxColumn }) => maxColumn)].reduce(larger, 0);
  const mergedCells = merged.reduce((sum, { minRow, minColumn, maxRow, maxColumn }) => {
    return sum + (maxRow - minRow + 1) * (maxColumn - minColumn + 1);
  }, 0);
  if (rows * columns > MAX_CELLS || mergedCells > MAX_CELLS)
    throw new Error("the sheet is too large to compare its styles");
  const cells = new Map<string, StyledCell>();
  for (let column = 1; column <= columns; column++) {
    for (let row = 1; row <= rows; row++) cells.set(formatCoordinate(row, column), EMPTY_CELL);
  }
  for (const cell of raw) {
    cells.set(formatCoordinate(cell.row, cell.column), styleCell(cell, book.styles.cells, isDateFormat));
  }
  for (const { minRow, minColumn, maxRow, maxColumn } of merged) {
    for (let row = minRow; row <= maxRow; row++) {
      for (let column = minColumn; column <= maxColumn; column++) {
        if (row !== minRow || column !== minColumn) cells.set(formatCoordinate(row, column), EMPTY_CELL);
      }
    }
  }
  return cells;
}

const larger = (a: number, b: number) => Math.max(a, b);
