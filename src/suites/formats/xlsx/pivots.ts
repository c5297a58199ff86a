import { parseCoordinate } from "./cells.js";
import type { Sheet, Workbook } from "./workbook.js";
import { findChild, findChildren, toBoolean, type XmlNode } from "./xml.js";

/** A pivot table of a sheet. Fields are counted from the first one that has items. */
export interface PivotTable {
  /** Kind, range and sheet of its source; the range without the columns of the outer fields that have no items. */
  readonly source: string;
  readonly name: string;
  readonly location: string;
  readonly showTotal: boolean;
  readonly showEmptyRow: boolean;
  readonly showEmptyColumn: boolean;
  readonly showHeaders: boolean;
  /** For each field its items, whether hidden and which. */
  readonly selection: readonly (readonly string[])[];
  readonly pageFields: readonly number[];
  readonly columnFields: readonly number[];
  readonly rowFields: readonly number[];
  readonly dataFields: readonly DataField[];
}

export interface DataField {
  readonly field: number;
  readonly name: string;
  readonly subtotal: string;
  readonly showDataAs: string;
}

/** The pivot tables of a sheet as openpyxl loads them, with the source of their cache; results are not among it. */
export function readPivots(workbook: Workbook, sheet: Sheet): PivotTable[] {
  const { package: parts } = workbook;
  return parts
    .relationshipsOf(sheet.part)
    .filter(({ type }) => type === "pivotTable")
    .map(({ target }) => {
      const table = parts.read(target);
      return readPivot(table, readCache(workbook, table.attributes.cacheId));
    });
}

function readCache(workbook: Workbook, cacheId: string | undefined): XmlNode {
  const caches = findChildren(findChild(workbook.root, "pivotCaches"), "pivotCache");
  const id = caches.find(({ attributes }) => attributes.cacheId === cacheId)?.attributes.id;
  const part = workbook.relationships.find((relationship) => relationship.id === id)?.target;
  if (part === undefined) throw new Error("a pivot table has no cache");
  return workbook.package.read(part);
}

function readPivot(table: XmlNode, cache: XmlNode): PivotTable {
  const fields = findChildren(findChild(table, "pivotFields"), "pivotField").map(readItems);
  const first = fields.findIndex((items) => items.length > 0);
  const last = fields.findLastIndex((items) => items.length > 0);
  const left = first < 0 ? fields.length : first;
  const right = first < 0 ? 0 : fields.length - 1 - last;
  const { attributes } = table;
  const numbers = (list: string, item: string, attribute: string) =>
    findChildren(findChild(table, list), item).map((node) => Number(node.attributes[attribute]));
  return {
    source: readSource(cache, left, right),
    name: attributes.name ?? "",
    location: JSON.stringify(Object.entries(findChild(table, "location")?.attributes ?? {}).sort()),
    showTotal: toBoolean(attributes.visualTotals ?? "1"),
    showEmptyRow: toBoolean(attributes.showEmptyRow ?? "0"),
    showEmptyColumn: toBoolean(attributes.showEmptyCol ?? "0"),
    showHeaders: toBoolean(attributes.showHeaders ?? "1"),
    selection: first < 0 ? [] : fields.slice(first, last + 1),
    pageFields: numbers("pageFields", "pageField", "fld"),
    columnFields: numbers("colFields", "field", "x").map((field) => field - left),
    rowFields: numbers("rowFields", "field", "x").map((field) => field - left),
    dataFields: findChildren(findChild(table, "dataFields"), "dataField").map(({ attributes: field }) => ({
      field: Number(field.fld) - left,
      name: field.name ?? "None",
      subtotal: field.subtotal ?? "sum",
      showDataAs: field.showDataAs ?? "normal",
    })),
  };
}

/** Items that stand for a value; subtotals do not. An item that is not said to be hidden is not the same as `h="0"`. */
function readItems(field: XmlNode): string[] {
  return findChildren(findChild(field, "items"), "item").flatMap(({ attributes: { h, x } }) =>
    x === undefined ? [] : [`${h === undefined ? "" : toBoolean(h)};${Number(x)}`],
  );
}

function readSource(cache: XmlNode, left: number, right: number): string {
  const source = findChild(cache, "cacheSource");
  const range = findChild(source, "worksheetSource");
  const [first, last, ...more] = range?.attributes.ref?.split(":") ?? [];
  if (source === undefined || first === undefined || last === undefined || more.length > 0) {
    throw new Error("the source of a pivot table is no range of a sheet");
  }
  const [start, end] = [parseCoordinate(first), parseCoordinate(last)];
  const cells = `(${start.row}, ${start.column + left}):(${end.row}, ${end.column - right})`;
  return `${source.attributes.type};${cells};${range?.attributes.sheet ?? "None"}`;
}
