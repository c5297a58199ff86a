// Cells of xlsx sheets: raw values, number formats, and dates like openpyxl's.
import { SaxesParser } from "saxes";
import type { FrameTime } from "./pandas-frame.js";
import { roundHalfEven } from "./python-values.js";

/** A cell as written in the file. */
export interface RawCell {
  readonly row: number;
  readonly column: number;
  /** `n` unless the file contains another type. */
  readonly type: string;
  /** The value, or null if the cell is empty. */
  readonly value: string | null;
  /** Text of a cell of type inlineStr. */
  readonly inline: string | null;
  readonly hasFormula: boolean;
  readonly style: number;
}

/** An XML element with its name and attributes without prefixes. */
export interface XmlNode {
  readonly name: string;
  readonly attributes: Readonly<Record<string, string>>;
  readonly children: readonly XmlNode[];
  /** Text of the element itself, including text before the first child. */
  readonly text: string;
}

/** An element that is still being read. */
interface OpenNode extends XmlNode {
  readonly children: OpenNode[];
  text: string;
}

/** Built-in format codes in openpyxl's spelling. A workbook only contains their numbers. */
const BUILTIN: Readonly<Record<number, string>> = {
  0: "General",
  1: "0",
  2: "0.00",
  3: "#,##0",
  4: "#,##0.00",
  5: '"$"#,##0_);("$"#,##0)',
  6: '"$"#,##0_);[Red]("$"#,##0)',
  7: '"$"#,##0.00_);("$"#,##0.00)',
  8: '"$"#,##0.00_);[Red]("$"#,##0.00)',
  9: "0%",
  10: "0.00%",
  11: "0.00E+00",
  12: "# ?/?",
  13: "# ??/??",
  14: "mm-dd-yy",
  15: "d-mmm-yy",
  16: "d-mmm",
  17: "mmm-yy",
  18: "h:mm AM/PM",
  19: "h:mm:ss AM/PM",
  20: "h:mm",
  21: "h:mm:ss",
  22: "m/d/yy h:mm",
  37: "#,##0_);(#,##0)",
  38: "#,##0_);[Red](#,##0)",
  39: "#,##0.00_);(#,##0.00)",
  40: "#,##0.00_);[Red](#,##0.00)",
  41: '_(* #,##0_);_(* \\(#,##0\\);_(* "-"_);_(@_)',
  42: '_("$"* #,##0_);_("$"* \\(#,##0\\);_("$"* "-"_);_(@_)',
  43: '_(* #,##0.00_);_(* \\(#,##0.00\\);_(* "-"??_);_(@_)',
  44: '_("$"* #,##0.00_)_("$"* \\(#,##0.00\\)_("$"* "-"??_)_(@_)',
  45: "mm:ss",
  46: "[h]:mm:ss",
  47: "mmss.0",
  48: "##0.0E+0",
  49: "@",
};

export function builtinFormat(id: number): string {
  return BUILTIN[id] ?? "General";
}

const LITERALS = /"[^"]*"|\[(?!hh?\]|mm?\]|ss?\])[^\]]*\]/g;
const DATE_LETTER = /(?<![_\\])[dmhys]/i;
const DURATION = /\[(?:hh?|mm?|ss?)\]/i;

/**
 * Returns whether numbers with this format are dates or times, based on the letters of its first section, like
 * openpyxl.
 */
export function isDateFormat(format: string): boolean {
  return DATE_LETTER.test(firstSection(format).replace(LITERALS, ""));
}

/** Returns whether a format is a duration, such as `[h]:mm`. */
export function isDurationFormat(format: string): boolean {
  return DURATION.test(firstSection(format));
}

/** Returns the first section of a format. Excel's longest format has 255 characters. */
const firstSection = (format: string) => format.slice(0, 1000).split(";")[0] ?? "";

const DAY_MS = 86_400_000;
const EPOCH_1900 = Date.UTC(1899, 11, 30);
const EPOCH_1904 = Date.UTC(1904, 0, 1);

/**
 * Like openpyxl, converts a serial number to a date, a time of day (below one day) or a duration. Returns null if it is
 * out of range.
 */
export function fromSerial(serial: number, isDuration: boolean, is1904: boolean): FrameTime | null {
  if (!Number.isFinite(serial)) return null;
  if (isDuration) return { kind: "timedelta", ms: Math.round(serial * DAY_MS) };
  const day = Math.floor(serial);
  const ms = roundHalfEven((serial - day) * DAY_MS);
  if (serial >= 0 && serial < 1 && ms < DAY_MS) return { kind: "time", ms };
  // Excel treats 1900 as a leap year.
  const shifted = serial > 0 && serial < 60 && !is1904 ? day + 1 : day;
  const time = (is1904 ? EPOCH_1904 : EPOCH_1900) + shifted * DAY_MS + ms;
  const year = new Date(time).getUTCFullYear();
  return year >= 1 && year <= 9999 ? { kind: "datetime", ms: time } : null;
}

/** Parses a cell of type `d`. */
export function fromIsoDate(text: string): FrameTime {
  const time = /^\d{4}-\d\d-\d\d/.test(text)
    ? Date.parse(text.endsWith("Z") ? text : `${text.slice(0, 23)}Z`)
    : Number.NaN;
  const date = Number.isNaN(time) ? Date.parse(`${text.slice(0, 10)}T00:00:00Z`) : time;
  if (Number.isNaN(date)) throw new Error(`${text} is not a date`);
  return { kind: "datetime", ms: date };
}

const MAX_ROW = 1_048_576;
const MAX_COLUMN = 18_278;

/** Returns the cells in the order of the file. A row or cell without coordinates comes after the previous one. */
export function readCells(sheet: XmlNode): RawCell[] {
  const cells: RawCell[] = [];
  let row = 0;
  for (const element of findChildren(findChild(sheet, "sheetData"), "row")) {
    row = element.attributes.r === undefined ? row + 1 : toWhole(element.attributes.r);
    let column = 0;
    for (const cell of findChildren(element, "c")) {
      const place = cell.attributes.r === undefined ? { row, column: column + 1 } : parseCoordinate(cell.attributes.r);
      column = place.column;
      if (place.row > MAX_ROW || place.column > MAX_COLUMN) throw new Error("a cell is outside of the sheet");
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

/** Returns the text of a string item: its own text followed by its runs, without phonetic hints. */
export function richText(node: XmlNode): string {
  const own = findChild(node, "t")?.text ?? "";
  const runs = findChildren(node, "r").map((run) => findChild(run, "t")?.text ?? "");
  return own + runs.join("");
}

export function parseCoordinate(text: string): { row: number; column: number } {
  const match = /^\$?([A-Za-z]{1,3})\$?(\d{1,7})$/.exec(text);
  if (match === null) throw new Error(`${text} is not a cell`);
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

/** Parses a range such as A1:B2, or one cell. */
export function parseRange(text: string): { minRow: number; minColumn: number; maxRow: number; maxColumn: number } {
  const [first = "", last = first, ...more] = text.split(":");
  if (more.length > 0) throw new Error(`${text} is not a range`);
  const [start, end] = [parseCoordinate(first), parseCoordinate(last)];
  return { minRow: start.row, minColumn: start.column, maxRow: end.row, maxColumn: end.column };
}

function toWhole(text: string): number {
  const number = Number(text);
  if (!Number.isInteger(number) || number < 1) throw new Error(`${text} is not a row`);
  return number;
}

/**
 * Parses an XML document and returns its root.
 * @throws Error for a document that is not well-formed or has a document type, so that no custom entity is expanded
 */
export function parseXml(bytes: Uint8Array): XmlNode {
  const parser = new SaxesParser({ position: false, xmlns: false as const });
  const root: OpenNode = { name: "", attributes: {}, children: [], text: "" };
  let open: OpenNode = root;
  const outer: OpenNode[] = [];
  parser.on("error", ({ message }) => {
    throw new Error(`broken XML: ${message}`);
  });
  parser.on("doctype", () => {
    throw new Error("XML with a document type is unsupported");
  });
  parser.on("opentag", ({ name, attributes }) => {
    const node = { name: localName(name), attributes: localNames(attributes), children: [], text: "" };
    open.children.push(node);
    outer.push(open);
    open = node;
  });
  parser.on("closetag", () => {
    open = outer.pop() ?? root;
  });
  const addText = (text: string) => {
    open.text += text;
  };
  parser.on("text", addText);
  parser.on("cdata", addText);
  parser.write(new TextDecoder().decode(bytes)).close();
  const [document] = root.children;
  if (document === undefined) throw new Error("XML without an element");
  return document;
}

/** Returns a name without its prefix. Namespaces are not resolved, because Office writes the usual prefixes or none. */
function localName(name: string): string {
  return name.slice(name.indexOf(":") + 1);
}

function localNames(attributes: Readonly<Record<string, string>>): Record<string, string> {
  const own = Object.entries(attributes).filter(([name]) => !/^xmlns(:|$)/.test(name));
  return Object.fromEntries(own.map(([name, value]) => [localName(name), value]));
}

/** Returns the first child with a name, or the first descendant with a path of names. */
export function findChild(node: XmlNode | undefined, ...path: readonly string[]): XmlNode | undefined {
  let current = node;
  for (const name of path) current = current?.children.find((child) => child.name === name);
  return current;
}

export function findChildren(node: XmlNode | undefined, name: string): readonly XmlNode[] {
  return node?.children.filter((child) => child.name === name) ?? [];
}

/** Returns the attribute `val` of a child. The file format stores most settings in this attribute. */
export function childValue(node: XmlNode | undefined, name: string): string | undefined {
  return findChild(node, name)?.attributes.val;
}

/** Parses a boolean like openpyxl: false, f and 0 are false, and anything else is true. */
export function toBoolean(text: string): boolean {
  return text !== "false" && text !== "f" && text !== "0";
}
