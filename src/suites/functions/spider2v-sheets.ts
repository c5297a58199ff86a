// Spider2-V's rules for single sheets of a workbook.
import { isDeepStrictEqual } from "node:util";
import type { JsonObject, JsonValue } from "../../platform/json.js";
import { isList } from "../formats/python-values.js";
import {
  findChild,
  findChildren,
  formatCoordinate,
  isDateFormat,
  parseRange,
  type RawCell,
  type XmlNode,
} from "../formats/xlsx-cells.js";
import { type Chart, type PivotTable, readCharts, readPivots } from "../formats/xlsx-parts.js";
import type { CellColor, CellFont, CellStyle } from "../formats/xlsx-styles.js";
import { readRawValue, type Sheet, type Workbook } from "../formats/xlsx-workbook.js";
import { CannotGrade } from "./grading-function.js";

/** The two workbooks of a comparison. */
export interface TableBooks {
  readonly result: Workbook;
  /** The workbook, or null if the task does not have one. */
  readonly expected: Workbook | null;
}

export type TableRule = (rule: JsonObject, books: TableBooks) => boolean;

export interface ChosenSheet {
  readonly book: Workbook;
  readonly name: string;
  readonly sheet: Sheet | null;
}

type Describe = (pivot: PivotTable, names: readonly string[]) => unknown;

/** A cell with the parts that affect its style. */
interface StyledCell {
  /** Whether the cell has a value or formula. */
  readonly hasValue: boolean;
  readonly isNumber: boolean;
  readonly style: CellStyle;
}

export type StyleValue = string | number | boolean | null | CellColor;

/** Thrown if the result does not have a sheet to compare. The comparison then scores 0. */
export class MissingSheet extends Error {
  override readonly name = "MissingSheet";
}

/**
 * Returns a rule's sheet. A number or "RI0" is an index in the result, and "RNname" is a name in the result. "EI0" and
 * "ENname" refer to the gold workbook in the same way. A negative index counts from the end, and an index out of range
 * means a missing sheet.
 */
export function chooseSheet(index: JsonValue | undefined, books: TableBooks): ChosenSheet {
  const text = typeof index === "number" ? `RI${index}` : index;
  const match = typeof text === "string" ? /^([RE])([IN])(.*)$/s.exec(text) : null;
  if (match === null) throw new Error(`${JSON.stringify(index)} is not a sheet`);
  const [, side, kind, rest = ""] = match;
  const book = side === "R" ? books.result : books.expected;
  if (book === null) throw new Error("the expected workbook is missing");
  const position = /^\s*[+-]?\d+\s*$/.test(rest) ? Number(rest) : Number.NaN;
  const name = kind === "N" ? rest : (book.sheetNames.at(position) ?? "");
  return { book, name: Number.isNaN(position) && kind === "I" ? "" : name, sheet: book.findSheet(name) };
}

/** Returns a rule that requires two sheets to be equal in the rule's properties. */
function comparingSheets(
  properties: string,
  describe: (sheet: ChosenSheet, names: readonly string[]) => Map<string, unknown>,
): TableRule {
  return (rule, books) => {
    const list = rule[properties];
    const names = isList(list) ? list.map(String) : [];
    return isDeepStrictEqual(
      describe(chooseSheet(rule.sheet_idx0, books), names),
      describe(chooseSheet(rule.sheet_idx1, books), names),
    );
  };
}

const describeSelection: Describe = ({ selection }, names) =>
  names.includes("ordered") ? selection : selection.map((items) => new Set(items));

/** Properties that `pivot_props` can contain. */
const PIVOT_PROPERTIES: Readonly<Record<string, Describe>> = {
  name: (pivot) => pivot.name,
  show_total: (pivot) => pivot.showTotal,
  show_empty_row: (pivot) => pivot.showEmptyRow,
  show_empty_col: (pivot) => pivot.showEmptyColumn,
  show_headers: (pivot) => pivot.showHeaders,
  location: (pivot) => pivot.location,
  selection: describeSelection,
  filter: (pivot, names) => [describeSelection(pivot, names), new Set(pivot.pageFields)],
  col_fields: (pivot) => pivot.columnFields,
  row_fields: (pivot) => pivot.rowFields,
  data_fields: (pivot, names) =>
    pivot.dataFields.map(({ field, name, subtotal, showDataAs }) => [
      field,
      names.includes("data_fields_name") ? name : "",
      subtotal,
      showDataAs,
    ]),
};

/** `pivot_table`: compares the pivot tables of two sheets by their source, with the rule's properties. */
export const comparePivots = comparingSheets("pivot_props", describing(readPivots, PIVOT_PROPERTIES));

/** Describes the parts of a sheet by their source, with the requested properties of each. */
function describing<Part extends { readonly source: string }>(
  read: (book: Workbook, sheet: Sheet) => readonly Part[],
  properties: Readonly<Record<string, (part: Part, names: readonly string[]) => unknown>>,
) {
  return ({ book, sheet }: ChosenSheet, names: readonly string[]): Map<string, unknown> => {
    const selection = Object.entries(properties).filter(([name]) => names.includes(name));
    const parts = sheet === null ? [] : read(book, sheet);
    return new Map(parts.map((part) => [part.source, selection.map(([, describe]) => describe(part, names))]));
  };
}

/**
 * Properties that `chart_props` can contain. Width and height are openpyxl's defaults, because it does not read them.
 */
const CHART_PROPERTIES: Readonly<Record<string, (chart: Chart) => unknown>> = {
  title: (chart) => chart.title,
  legend: (chart) => chart.legend,
  type: (chart) => chart.type,
  width: () => 15,
  height: () => 7.5,
  direction: (chart) => {
    if (chart.direction === null) throw new Error(`a ${chart.type} has no direction`);
    return chart.direction;
  },
  xtitle: (chart) => chart.xTitle,
  ytitle: (chart) => chart.yTitle,
  anchor: (chart) => {
    if (chart.anchor === null) throw new Error("a chart has no anchor with two cells");
    return chart.anchor;
  },
};

/**
 * `chart`: compares the charts of two sheets by their series, with the rule's properties. References are compared as
 * spelled: openpyxl's `'Sheet1'!$B$2` is not equal to LibreOffice's `Sheet1!$B$2`.
 */
export const compareCharts = comparingSheets("chart_props", describing(readCharts, CHART_PROPERTIES));

const COMPARISON =
  /^\s*\$?[A-Z]{1,3}\$?\d+\s*(=|<>|<=|>=|<|>)\s*(?:(MAX|MIN|AVERAGE|SUM)\((\$[A-Z]{1,3}\$\d+:\$[A-Z]{1,3}\$\d+)\)|(-?\d{1,15}(?:\.\d{1,15})?)|"([^"]*)")\s*$/i;
const MAX_FORMATTED_CELLS = 100_000;

/**
 * Returns the cells that a conditional format applies to. As in Spider2-V, only rules of type `expression` can be
 * evaluated, and others raise. Supports only formulas that compare the cell with a number, a text, or the MAX, MIN,
 * AVERAGE or SUM of a fixed range. Spider2-V supports Excel's functions.
 */
function findActiveCells(book: Workbook, sheet: Sheet): { coordinate: string; format: CellStyle }[] {
  const formats = findChildren(book.package.read(sheet.part), "conditionalFormatting");
  return formats.flatMap((format) =>
    findChildren(format, "cfRule").flatMap((rule) => {
      if (rule.attributes.type !== "expression")
        throw new Error(`conditions of type ${rule.attributes.type} are unsupported`);
      const holds = parseCondition(findChild(rule, "formula")?.text ?? "", book, sheet);
      const style = readFormat(rule, book);
      return listCells(format.attributes.sqref ?? "")
        .filter((coordinate) => holds(readRawValue(book, sheet.name, coordinate)))
        .map((coordinate) => ({ coordinate, format: style }));
    }),
  );
}

function readFormat({ attributes }: XmlNode, book: Workbook): CellStyle {
  const format = attributes.dxfId === undefined ? undefined : book.styles.differential[Number(attributes.dxfId)];
  if (format === undefined) throw new Error("a conditional format has no style");
  return format;
}

function listCells(ranges: string): string[] {
  return ranges.split(" ").flatMap((text) => {
    const { minRow, minColumn, maxRow, maxColumn } = parseRange(text);
    const [rows, columns] = [maxRow - minRow + 1, maxColumn - minColumn + 1];
    if (rows * columns > MAX_FORMATTED_CELLS) throw new Error("a conditional format covers too many cells to compare");
    return Array.from({ length: rows * columns }, (_, i) =>
      formatCoordinate(minRow + Math.floor(i / columns), minColumn + (i % columns)),
    );
  });
}

function parseCondition(formula: string, book: Workbook, sheet: Sheet): (value: string | number | null) => boolean {
  const match = COMPARISON.exec(formula.slice(0, 1000));
  if (match === null) throw new CannotGrade("unsupported", `the condition ${formula.slice(0, 100)} is unsupported`);
  const [, operator = "=", aggregate, range, number, text] = match;
  const other = aggregate === undefined ? (number === undefined ? (text ?? "") : Number(number)) : null;
  const limit = other ?? aggregateRange(aggregate ?? "", range ?? "", book, sheet);
  return (value) => compareValues(value ?? 0, limit, operator);
}

function aggregateRange(name: string, range: string, book: Workbook, sheet: Sheet): number {
  const values = listCells(range.replaceAll("$", ""))
    .map((coordinate) => readRawValue(book, sheet.name, coordinate))
    .filter((value) => typeof value === "number");
  const sum = values.reduce((a, b) => a + b, 0);
  const results: Readonly<Record<string, number>> = {
    MAX: values.reduce((a, b) => Math.max(a, b), values[0] ?? 0),
    MIN: values.reduce((a, b) => Math.min(a, b), values[0] ?? 0),
    AVERAGE: sum / values.length,
    SUM: sum,
  };
  return results[name.toUpperCase()] ?? Number.NaN;
}

/** Compares values like Excel: texts are larger than numbers, and their case is ignored. */
function compareValues(a: string | number, b: string | number, operator: string): boolean {
  const [x, y] =
    typeof a === typeof b ? [fold(a), fold(b)] : [Number(typeof a === "string"), Number(typeof b === "string")];
  if (operator === "=") return x === y;
  if (operator === "<>") return x !== y;
  if (operator === "<") return x < y;
  if (operator === ">") return x > y;
  return operator === "<=" ? x <= y : x >= y;
}

const fold = (value: string | number) => (typeof value === "string" ? value.toLowerCase() : value);

const DEFAULT_STYLE: CellStyle = {
  font: null,
  fill: { type: "patternFill", background: "00000000", foreground: "00000000" },
  numberFormat: "General",
};

export const EMPTY_CELL: StyledCell = { hasValue: false, isNumber: false, style: DEFAULT_STYLE };

function styleCell(cell: RawCell, styles: readonly CellStyle[]): StyledCell {
  const style = styles[cell.style] ?? DEFAULT_STYLE;
  return {
    hasValue: cell.hasFormula || cell.value !== null || cell.inline !== null,
    isNumber: cell.type === "n" && !cell.hasFormula && !isDateFormat(style.numberFormat ?? "General"),
    style,
  };
}

/**
 * Returns a style property of the cell, or of a conditional format that applies to it. For an empty cell, only the fill
 * matters.
 */
export function readStyleProperty(name: string, cell: StyledCell, style: CellStyle = cell.style): StyleValue {
  if (name === "fill_type") return style.fill?.type ?? null;
  if (name === "bgcolor") return style.fill?.background ?? null;
  if (name === "fgcolor") return style.fill?.foreground ?? null;
  if (name === "hyperlink") throw new Error("hyperlinks are unsupported");
  if (name === "number_format") return cell.hasValue && cell.isNumber ? style.numberFormat : null;
  const read = FONT[name];
  if (read === undefined) throw new Error(`unknown style ${name}`);
  if (!cell.hasValue) return null;
  if (style.font === null) throw new Error("a cell has no font");
  return read(style.font);
}

const FONT: Readonly<Record<string, (font: CellFont) => StyleValue>> = {
  font_name: (font) => font.name,
  font_family: (font) => font.family,
  font_bold: (font) => font.bold,
  font_italic: (font) => font.italic,
  font_underline: (font) => font.underline,
  font_size: (font) => font.size,
  font_color: (font) => {
    if (font.color === null) throw new Error("a font has no color");
    return font.color;
  },
};

const MAX_CELLS = 5_000_000;

/** `style`: compares the rule's properties for every cell up to the last one, after conditional formats are applied. */
export const compareStyles = comparingSheets("props", describeStyles);

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

/**
 * Returns cells from A1 to the last row and column. All cells in a merged range except the first are empty, but count
 * toward the size.
 */
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
    cells.set(formatCoordinate(cell.row, cell.column), styleCell(cell, book.styles.cells));
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
