import { type RawCell, readCells, richText } from "./cells.js";
import { type Relationship, XlsxPackage } from "./package.js";
import { readStyles, type Stylesheet } from "./styles.js";
import { findChild, findChildren, toBoolean, type XmlNode } from "./xml.js";

export interface Sheet {
  readonly name: string;
  readonly sheetId: string;
  /** The part that it is in. */
  readonly part: string;
  readonly isChartsheet: boolean;
}

const WORKBOOK_TYPE = /spreadsheetml\.(sheet|template)\.main\+xml$|sheet\.macroEnabled\.main\+xml$/;

/** A workbook of the format that Excel and LibreOffice write, opened for reading as openpyxl does. */
export class Workbook {
  readonly package: XlsxPackage;
  readonly sheets: readonly Sheet[];
  readonly is1904: boolean;
  readonly relationships: readonly Relationship[];
  readonly root: XmlNode;
  #strings: readonly string[] | null = null;
  #styles: Stylesheet | null = null;
  readonly #cells = new Map<string, readonly RawCell[]>();

  /** Throws where the bytes are no workbook. */
  constructor(bytes: Uint8Array) {
    this.package = new XlsxPackage(bytes);
    const part = this.#findWorkbookPart();
    this.root = this.package.read(part);
    this.relationships = this.package.relationshipsOf(part);
    const date1904 = findChild(this.root, "workbookPr")?.attributes.date1904;
    this.is1904 = date1904 !== undefined && toBoolean(date1904);
    this.sheets = this.#findSheets();
  }

  /** Names of the sheets that hold cells. */
  get sheetNames(): readonly string[] {
    return this.sheets.filter((sheet) => !sheet.isChartsheet).map(({ name }) => name);
  }

  findSheet(name: string): Sheet | null {
    return this.sheets.find((sheet) => sheet.name === name) ?? null;
  }

  get sharedStrings(): readonly string[] {
    this.#strings ??= this.#readRelated("sharedStrings", (root) =>
      findChildren(root, "si").map((item) => richText(item).replaceAll("x005F_", "")),
    );
    return this.#strings;
  }

  get styles(): Stylesheet {
    const part = this.relationships.find(({ type }) => type === "styles")?.target;
    this.#styles ??= readStyles(part === undefined || !this.package.has(part) ? null : this.package.read(part));
    return this.#styles;
  }

  cellsOf(sheet: Sheet): readonly RawCell[] {
    let cells = this.#cells.get(sheet.part);
    if (cells === undefined) {
      cells = sheet.isChartsheet ? [] : readCells(this.package.read(sheet.part));
      this.#cells.set(sheet.part, cells);
    }
    return cells;
  }

  #findWorkbookPart(): string {
    const types = findChildren(this.package.read("[Content_Types].xml"), "Override");
    const override = types.find(({ attributes }) => WORKBOOK_TYPE.test(attributes.ContentType ?? ""));
    return override?.attributes.PartName?.replace(/^\//, "") ?? "xl/workbook.xml";
  }

  #findSheets(): Sheet[] {
    return findChildren(findChild(this.root, "sheets"), "sheet").flatMap(({ attributes }) => {
      const relationship = this.relationships.find(({ id }) => id === attributes.id);
      if (relationship === undefined || !this.package.has(relationship.target)) return [];
      const { name = "", sheetId = "" } = attributes;
      return [{ name, sheetId, part: relationship.target, isChartsheet: relationship.type === "chartsheet" }];
    });
  }

  #readRelated<T>(type: string, read: (root: XmlNode) => readonly T[]): readonly T[] {
    const part = this.relationships.find((relationship) => relationship.type === type)?.target;
    return part === undefined || !this.package.has(part) ? [] : read(this.package.read(part));
  }
}
