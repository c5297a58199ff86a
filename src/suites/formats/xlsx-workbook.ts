// Reads xlsx workbooks like pandas and openpyxl.
import { posix } from "node:path";
import { unzipSync } from "fflate";
import { nameColumns } from "./csv-frame.js";
import { type Frame, type FrameCell, inferObjects, toCell } from "./pandas-frame.js";
import {
  findChild,
  findChildren,
  formatCoordinate,
  fromIsoDate,
  fromSerial,
  isDateFormat,
  isDurationFormat,
  parseXml,
  type RawCell,
  readCells,
  richText,
  toBoolean,
  type XmlNode,
} from "./xlsx-cells.js";
import { readStyles, type Stylesheet } from "./xlsx-styles.js";

/** A cell's value in openpyxl with `data_only`: its cached value, and its type after dates are recognized. */
interface TypedCell {
  /** Type letter: n, s, b, d or e. */
  readonly type: string;
  readonly value: FrameCell | null;
}

export interface Sheet {
  readonly name: string;
  readonly sheetId: string;
  /** Name of the sheet's part. */
  readonly part: string;
  readonly isChartsheet: boolean;
}

interface Relationship {
  readonly id: string;
  /** Last word of its type: worksheet, drawing, chart, pivotTable. */
  readonly type: string;
  /** Name of the target part. */
  readonly target: string;
}

const MAX_CELLS = 20_000_000;

/**
 * Reads a sheet like `pandas.read_excel(workbook, sheet)`. The first row is the header, even if it is empty. Values are
 * the cached ones. Empty rows and columns are removed only at the end.
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

/** Returns all rows up to the last one with a value, with equal lengths. An empty cell is an empty string. */
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

/**
 * Returns a cell's value like Spider2-V's `read_cell_value` from the XML: numbers, shared strings and results of
 * formulas. An inline string, which openpyxl writes, has no value. Reads the part `sheet<sheetId>.xml`, which is not
 * necessarily the sheet with that name.
 */
export function readRawValue(workbook: Workbook, sheetName: string, coordinate: string): string | number | null {
  const sheet = workbook.findSheet(sheetName);
  if (sheet === null) throw new Error(`unknown sheet ${sheetName}`);
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

/** Returns the cached value. A formula that was saved without being calculated is empty. */
function readCachedValue(cell: RawCell, workbook: Workbook): TypedCell {
  const { type, value } = cell;
  if (value === null) return cell.inline === null ? { type, value: null } : { type: "s", value: cell.inline };
  if (type === "n") return readNumber(value, cell.style, workbook);
  if (type === "s") {
    const text = workbook.sharedStrings[Number(value)];
    if (text === undefined) throw new Error("a cell refers to a missing shared string");
    return { type, value: text };
  }
  if (type === "b") return { type, value: Number(value) !== 0 };
  if (type === "str") return { type: "s", value };
  return type === "d" ? { type, value: fromIsoDate(value) } : { type, value };
}

function readNumber(text: string, style: number, workbook: Workbook): TypedCell {
  const isFloat = /[.eE]/.test(text);
  const number = Number(text);
  if (Number.isNaN(number)) throw new Error(`${text} is not a number`);
  const format = workbook.styles.cells[style]?.numberFormat ?? "General";
  if (isDateFormat(format)) {
    const time = fromSerial(number, isDurationFormat(format), workbook.is1904);
    return time === null ? { type: "e", value: "#VALUE!" } : { type: "d", value: time };
  }
  return { type: "n", value: isFloat ? number : toCell(BigInt(text.trim())) };
}

const WORKBOOK_TYPE = /spreadsheetml\.(sheet|template)\.main\+xml$|sheet\.macroEnabled\.main\+xml$/;

/** A workbook from Excel or LibreOffice, read as openpyxl reads it. */
export class Workbook {
  readonly package: XlsxPackage;
  readonly sheets: readonly Sheet[];
  readonly is1904: boolean;
  readonly relationships: readonly Relationship[];
  readonly root: XmlNode;
  private strings: readonly string[] | null = null;
  private cachedStyles: Stylesheet | null = null;
  private readonly cellsByPart = new Map<string, readonly RawCell[]>();

  /** Throws if the bytes are not a workbook. */
  constructor(bytes: Uint8Array) {
    this.package = new XlsxPackage(bytes);
    const part = this.findWorkbookPart();
    this.root = this.package.read(part);
    this.relationships = this.package.relationshipsOf(part);
    const date1904 = findChild(this.root, "workbookPr")?.attributes.date1904;
    this.is1904 = date1904 !== undefined && toBoolean(date1904);
    this.sheets = this.findSheets();
  }

  /** Names of the sheets with cells. */
  get sheetNames(): readonly string[] {
    return this.sheets.filter((sheet) => !sheet.isChartsheet).map(({ name }) => name);
  }

  findSheet(name: string): Sheet | null {
    return this.sheets.find((sheet) => sheet.name === name) ?? null;
  }

  get sharedStrings(): readonly string[] {
    this.strings ??= findChildren(this.readRelated("sharedStrings"), "si").map((item) =>
      richText(item).replaceAll("x005F_", ""),
    );
    return this.strings;
  }

  get styles(): Stylesheet {
    this.cachedStyles ??= readStyles(this.readRelated("styles"));
    return this.cachedStyles;
  }

  cellsOf(sheet: Sheet): readonly RawCell[] {
    let cells = this.cellsByPart.get(sheet.part);
    if (cells === undefined) {
      cells = sheet.isChartsheet ? [] : readCells(this.package.read(sheet.part));
      this.cellsByPart.set(sheet.part, cells);
    }
    return cells;
  }

  private findWorkbookPart(): string {
    const types = findChildren(this.package.read("[Content_Types].xml"), "Override");
    const override = types.find(({ attributes }) => WORKBOOK_TYPE.test(attributes.ContentType ?? ""));
    return override?.attributes.PartName?.replace(/^\//, "") ?? "xl/workbook.xml";
  }

  private findSheets(): Sheet[] {
    return findChildren(findChild(this.root, "sheets"), "sheet").flatMap(({ attributes }) => {
      const relationship = this.relationships.find(({ id }) => id === attributes.id);
      if (relationship === undefined || !this.package.has(relationship.target)) return [];
      const { name = "", sheetId = "" } = attributes;
      return [{ name, sheetId, part: relationship.target, isChartsheet: relationship.type === "chartsheet" }];
    });
  }

  /** Undefined if the workbook does not have the part. */
  private readRelated(type: string): XmlNode | undefined {
    const part = this.relationships.find((relationship) => relationship.type === type)?.target;
    return part === undefined || !this.package.has(part) ? undefined : this.package.read(part);
  }
}

const MAX_PART_BYTES = 128 * 1024 * 1024;
const MAX_TOTAL_BYTES = 256 * 1024 * 1024;
const MAX_PARTS = 10_000;

/** The parts of a workbook's file, by name. */
class XlsxPackage {
  private readonly parts: Readonly<Record<string, Uint8Array>>;

  /** Rejects a zip file whose contents are too large, without unpacking it. */
  constructor(bytes: Uint8Array) {
    let total = 0;
    let count = 0;
    this.parts = unzipSync(bytes, {
      filter: ({ name, originalSize }) => {
        if (!/\.(xml|rels)$/.test(name)) return false;
        total += originalSize;
        count++;
        if (originalSize > MAX_PART_BYTES || total > MAX_TOTAL_BYTES || count > MAX_PARTS) {
          throw new Error("the workbook is too large when unpacked");
        }
        return true;
      },
    });
  }

  has(name: string): boolean {
    return Object.hasOwn(this.parts, name);
  }

  /** Parses a part. Throws if it does not exist. */
  read(name: string): XmlNode {
    const part = this.has(name) ? this.parts[name] : undefined;
    if (part === undefined) throw new Error(`the workbook does not have the part ${name}`);
    return parseXml(part);
  }

  /** Returns the internal relationships of a part, in the order of its list. */
  relationshipsOf(name: string): readonly Relationship[] {
    const folder = posix.dirname(name);
    const path = posix.join(folder, "_rels", `${posix.basename(name)}.rels`);
    if (!this.has(path)) return [];
    return findChildren(this.read(path), "Relationship")
      .filter(({ attributes }) => attributes.TargetMode !== "External")
      .map(({ attributes: { Id: id = "", Type: type = "", Target: target = "" } }) => ({
        id,
        type: posix.basename(type),
        target: target.startsWith("/") ? target.slice(1) : posix.normalize(posix.join(folder, target)),
      }));
  }
}
