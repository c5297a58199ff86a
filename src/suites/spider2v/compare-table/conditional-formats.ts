import { CannotGrade } from "../../evaluation/cannot-grade.js";
import { formatCoordinate, parseRange } from "../../formats/xlsx/cells.js";
import { readRawValue } from "../../formats/xlsx/raw-value.js";
import type { CellStyle } from "../../formats/xlsx/styles.js";
import type { Sheet, Workbook } from "../../formats/xlsx/workbook.js";
import { findChild, findChildren, type XmlNode } from "../../formats/xlsx/xml.js";

interface ActiveCell {
  readonly coordinate: string;
  readonly format: CellStyle;
}

type Value = string | number | null;

const COMPARISON =
  /^\s*\$?[A-Z]{1,3}\$?\d+\s*(=|<>|<=|>=|<|>)\s*(?:(MAX|MIN|AVERAGE|SUM)\((\$[A-Z]{1,3}\$\d+:\$[A-Z]{1,3}\$\d+)\)|(-?\d{1,15}(?:\.\d{1,15})?)|"([^"]*)")\s*$/i;
const MAX_CELLS = 100_000;

/**
 * The cells that a conditional format applies to. As at the origin only rules of type `expression` can be evaluated,
 * others raise. Of formulas we know a comparison of the cell with a number, a text, or the MAX, MIN, AVERAGE or SUM of
 * a fixed range; the origin knows Excel's functions.
 */
export function findActiveCells(book: Workbook, sheet: Sheet): ActiveCell[] {
  const formats = findChildren(book.package.read(sheet.part), "conditionalFormatting");
  return formats.flatMap((format) =>
    findChildren(format, "cfRule").flatMap((rule) => {
      if (rule.attributes.type !== "expression") throw new Error(`conditions of type ${rule.attributes.type} raise`);
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
    if (rows * columns > MAX_CELLS) throw new Error("a conditional format covers too many cells to compare");
    return Array.from({ length: rows * columns }, (_, i) =>
      formatCoordinate(minRow + Math.floor(i / columns), minColumn + (i % columns)),
    );
  });
}

function parseCondition(formula: string, book: Workbook, sheet: Sheet): (value: Value) => boolean {
  const match = COMPARISON.exec(formula.slice(0, 1000));
  if (match === null)
    throw new CannotGrade("unsupported", `the condition ${formula.slice(0, 100)} cannot be evaluated`);
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

/** In Excel texts are larger than numbers, and their case does not count. */
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
