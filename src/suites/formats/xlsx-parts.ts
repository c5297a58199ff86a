// Pivot tables and charts of xlsx sheets.
import { childValue, findChild, findChildren, parseCoordinate, toBoolean, type XmlNode } from "./xlsx-cells.js";
import type { Sheet, Workbook } from "./xlsx-workbook.js";

/** A pivot table of a sheet. Field numbers start at the first field with items. */
export interface PivotTable {
  /** Type, range and sheet of its source. The range excludes the columns of outer fields without items. */
  readonly source: string;
  readonly name: string;
  readonly location: string;
  readonly showTotal: boolean;
  readonly showEmptyRow: boolean;
  readonly showEmptyColumn: boolean;
  readonly showHeaders: boolean;
  /** Items per field, each with whether it is hidden. */
  readonly selection: readonly (readonly string[])[];
  readonly pageFields: readonly number[];
  readonly columnFields: readonly number[];
  readonly rowFields: readonly number[];
  readonly dataFields: readonly DataField[];
}

interface DataField {
  readonly field: number;
  readonly name: string;
  readonly subtotal: string;
  readonly showDataAs: string;
}

export interface Chart {
  /** `values,categories` of each series, joined by semicolons, with the file's spelling of the references. */
  readonly source: string;
  /** Chart type, such as barChart or lineChart. */
  readonly type: string;
  /** Title, or null if the chart has none. */
  readonly title: string | null;
  /** Position of the legend (r by default), or null if the chart has none. */
  readonly legend: string | null;
  readonly direction: string | null;
  readonly xTitle: string | null;
  readonly yTitle: string | null;
  readonly anchor: readonly (string | number | null)[] | null;
}

/**
 * Returns the pivot tables of a sheet as openpyxl loads them, with the source of their cache and without their results.
 */
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

/** Returns the items with a value, but no subtotals. An item without `h` differs from one with `h="0"`. */
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
    throw new Error("the source of a pivot table is not a range of a sheet");
  }
  const [start, end] = [parseCoordinate(first), parseCoordinate(last)];
  const cells = `(${start.row}, ${start.column + left}):(${end.row}, ${end.column - right})`;
  return `${source.attributes.type};${cells};${range?.attributes.sheet ?? "None"}`;
}

const ANCHORS = ["absoluteAnchor", "oneCellAnchor", "twoCellAnchor"];

/**
 * Returns the charts of a sheet as openpyxl loads them. For a combined chart, returns only the first type and its
 * series.
 */
export function readCharts(workbook: Workbook, sheet: Sheet): Chart[] {
  const { package: parts } = workbook;
  return parts
    .relationshipsOf(sheet.part)
    .filter(({ type }) => type === "drawing")
    .flatMap(({ target }) => {
      const drawing = parts.read(target);
      const relationships = parts.relationshipsOf(target);
      return ANCHORS.flatMap((name) => findChildren(drawing, name)).flatMap((anchor) => {
        const frame = findChild(anchor, "graphicFrame", "graphic", "graphicData", "chart");
        const chart = relationships.find(({ id }) => id === frame?.attributes.id);
        return chart === undefined ? [] : readChart(parts.read(chart.target), anchor);
      });
    });
}

function readChart(space: XmlNode, anchor: XmlNode): Chart[] {
  const chart = findChild(space, "chart");
  const area = findChild(chart, "plotArea");
  const plot = area?.children.find(({ name }) => name.endsWith("Chart"));
  if (chart === undefined || plot === undefined) throw new Error("a chart of the workbook has no plot");
  const legend = findChild(chart, "legend");
  return [
    {
      source: findChildren(plot, "ser").map(readSeries).join(";"),
      type: plot.name,
      title: readTitle(findChild(chart, "title")),
      legend: legend === undefined ? null : (childValue(legend, "legendPos") ?? "r"),
      direction: childValue(plot, "barDir") ?? null,
      xTitle: readTitle(findChild(findAxis(area, plot, ["catAx", "dateAx"]), "title")),
      yTitle: readTitle(findChild(findAxis(area, plot, ["valAx"]), "title")),
      anchor: readAnchor(anchor),
    },
  ];
}

function readSeries(series: XmlNode): string {
  const reference = (name: string) => {
    const data = findChild(series, name);
    const source = findChild(data, "numRef") ?? findChild(data, "strRef");
    return source === undefined ? "" : (findChild(source, "f")?.text ?? "None");
  };
  return `${reference("val")},${reference("cat")}`;
}

/** Returns the first run of the first paragraph. A generated or referenced title is an empty string. */
function readTitle(title: XmlNode | undefined): string | null {
  return title === undefined ? null : (findChild(title, "tx", "rich", "p", "r", "t")?.text ?? "");
}

function findAxis(area: XmlNode | undefined, plot: XmlNode, kinds: readonly string[]): XmlNode | undefined {
  const ids = findChildren(plot, "axId").map(({ attributes }) => attributes.val);
  return area?.children.find((axis) => kinds.includes(axis.name) && ids.includes(childValue(axis, "axId")));
}

/** Returns the anchor like Spider2-V, which writes the end's row in both places. */
function readAnchor(anchor: XmlNode): Chart["anchor"] {
  const [from, to] = [findChild(anchor, "from"), findChild(anchor, "to")];
  if (from === undefined || to === undefined) return null;
  const number = (node: XmlNode, name: string) => Number(findChild(node, name)?.text ?? 0);
  const [row, column] = [number(to, "row"), number(to, "col")];
  return [anchor.attributes.editAs ?? null, number(from, "col"), row, column, row];
}
