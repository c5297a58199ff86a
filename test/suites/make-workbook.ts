import { strToU8, zipSync } from "fflate";

const MAIN = "http://schemas.openxmlformats.org/spreadsheetml/2006/main";
const OFFICE = "http://schemas.openxmlformats.org/officeDocument/2006/relationships";
const PACKAGE = "http://schemas.openxmlformats.org/package/2006/relationships";

/** The parts of a workbook with one sheet, before they are zipped. */
export function workbookParts(sheet: string, more: Readonly<Record<string, string>> = {}): Record<string, string> {
  return {
    "[Content_Types].xml": '<Types xmlns="http://schemas.openxmlformats.org/package/2006/content-types"/>',
    "xl/workbook.xml": `<workbook xmlns="${MAIN}" xmlns:r="${OFFICE}"><sheets><sheet name="Sheet1" sheetId="1" r:id="r1"/></sheets><pivotCaches><pivotCache cacheId="7" r:id="r3"/></pivotCaches></workbook>`,
    "xl/_rels/workbook.xml.rels": relationships({
      r1: ["worksheet", "worksheets/sheet1.xml"],
      r2: ["styles", "/xl/styles.xml"],
      r3: ["pivotCacheDefinition", "pivotCache/cache1.xml"],
      r4: ["sharedStrings", "sharedStrings.xml"],
    }),
    "xl/worksheets/sheet1.xml": `<worksheet xmlns="${MAIN}">${sheet}</worksheet>`,
    ...more,
  };
}

export function relationships(list: Readonly<Record<string, readonly [type: string, target: string]>>): string {
  const items = Object.entries(list).map(
    ([id, [type, target]]) => `<Relationship Id="${id}" Type="${OFFICE}/${type}" Target="${target}"/>`,
  );
  return `<Relationships xmlns="${PACKAGE}">${items.join("")}</Relationships>`;
}

export function zipParts(parts: Readonly<Record<string, string>>): Buffer {
  return Buffer.from(zipSync(Object.fromEntries(Object.entries(parts).map(([name, text]) => [name, strToU8(text)]))));
}

/** Converts rows of cells to XML. Numbers stay numbers, texts become inline strings, and XML is unchanged. */
export function sheetData(rows: readonly (readonly (string | number | null)[])[]): string {
  const cell = (value: string | number | null, row: number, column: number) => {
    const place = `r="${String.fromCharCode(65 + column)}${row + 1}"`;
    if (value === null) return "";
    if (typeof value === "number") return `<c ${place}><v>${value}</v></c>`;
    if (value.startsWith("<c")) return value.replace("<c", `<c ${place}`);
    return `<c ${place} t="inlineStr"><is><t xml:space="preserve">${value}</t></is></c>`;
  };
  const lines = rows.map((row, r) => `<row r="${r + 1}">${row.map((value, c) => cell(value, r, c)).join("")}</row>`);
  return `<sheetData>${lines.join("")}</sheetData>`;
}
