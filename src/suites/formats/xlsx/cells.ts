import { findChild, findChildren, type XmlNode } from "./xml.js";

const MAX_ROW = 1_048_576;
const MAX_COLUMN = 18_278;

/** A cell of a sheet as it is written in the file. */
export interface RawCell {
  readonly row: number;
  readonly column: number;
  /** `n` unless the file says otherwise. */
  readonly type: string;
  /** Null where it is empty. */
  readonly value: string | null;
  /** The text of a cell of type inlineStr. */
  readonly inline: string | null;
  readonly hasFormula: boolean;
  readonly style: number;
}

/** Cells in the order of the file. Rows and cells without a place follow the one before. */
export function readCells(sheet: XmlNode): RawCell[] {
  const cells: RawCell[] = [];
  let row = 0;
  for (const element of findChildren(findChild(sheet, "sheetData"), "row")) {
    row = element.attributes.r === undefined ? row + 1 : toWhole(element.attributes.r);
    let column = 0;
    for (const cell of findChildren(element, "c")) {
      const place = cell.attributes.r === undefined ? { row, column: column + 1 } : parseCoordinate(cell.attributes.r);
      column = place.column;
      if (place.row > MAX_ROW || place.column > MAX_COLUMN) throw new Error("a cell lies outside the sheet");
      cells.push({ ...place, ...readContent(cell) });
    }
  }
  return cells;
}

function readContent(cell: XmlNode): Omit<RawCell, "row" | "column"> {
  const type = cell.attributes.t ?? "n";
  const value = findChild(cell, "v")?.text ?? "";
  const inline = findChild(cell, "is");
  return {
    type,
    value: type === "inlineStr" || value === "" ? null : value,
    inline: type === "inlineStr" && inline !== undefined ? richText(inline) : null,
    hasFormula: findChild(cell, "f") !== undefined,
    style: Number(cell.attributes.s ?? 0),
  };
}

/** The text of a string item: its own, then that of its runs; phonetic hints are left out. */
export function richText(node: XmlNode): string {
  const own = findChild(node, "t")?.text ?? "";
  const runs = findChildren(node, "r").map((run) => findChild(run, "t")?.text ?? "");
  return own + runs.join("");
}

export function parseCoordinate(text: string): { row: number; column: number } {
  const match = /^\$?([A-Za-z]{1,3})\$?(\d{1,7})$/.exec(text);
  if (match === null) throw new Error(`${text} is no cell`);
  return { row: Number(match[2]), column: columnNumber(match[1] ?? "") };
}

function columnNumber(letters: string): number {
  let number = 0;
  for (const letter of letters.toUpperCase()) number = number * 26 + letter.charCodeAt(0) - 64;
  return number;
}

export function formatCoordinate(row: number, column: number): string {
  let letters = "";
  for (let rest = column; rest > 0; rest = Math.floor((rest - 1) / 26)) {
    letters = String.fromCharCode(65 + ((rest - 1) % 26)) + letters;
  }
  return `${letters}${row}`;
}

/** A range such as A1:B2, or one cell. */
export function parseRange(text: string): { minRow: number; minColumn: number; maxRow: number; maxColumn: number } {
  const [first = "", last = first, ...more] = text.split(":");
  if (more.length > 0) throw new Error(`${text} is no range`);
  const [start, end] = [parseCoordinate(first), parseCoordinate(last)];
  return { minRow: start.row, minColumn: start.column, maxRow: end.row, maxColumn: end.column };
}

function toWhole(text: string): number {
  const number = Number(text);
  if (!Number.isInteger(number) || number < 1) throw new Error(`${text} is no row`);
  return number;
}
