import type { Sheet, Workbook } from "./workbook.js";
import { childValue, findChild, findChildren, type XmlNode } from "./xml.js";

const ANCHORS = ["absoluteAnchor", "oneCellAnchor", "twoCellAnchor"];

/** A chart of a sheet. */
export interface Chart {
  /** `values,categories` of each series as the file spells the references, joined by semicolons. */
  readonly source: string;
  /** barChart, lineChart, ... */
  readonly type: string;
  /** Null: none. */
  readonly title: string | null;
  /** Where the legend is: r unless the file says; null: none. */
  readonly legend: string | null;
  readonly direction: string | null;
  readonly xTitle: string | null;
  readonly yTitle: string | null;
  readonly anchor: readonly (string | number | null)[] | null;
}

/** The charts of a sheet as openpyxl loads them: of a combined chart only the first kind and its series. */
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
    const found = findChild(data, "numRef") ?? findChild(data, "strRef");
    return found === undefined ? "" : (findChild(found, "f")?.text ?? "None");
  };
  return `${reference("val")},${reference("cat")}`;
}

/** The first run of the first paragraph. A title that is made up or referred to is an empty text. */
function readTitle(title: XmlNode | undefined): string | null {
  return title === undefined ? null : (findChild(title, "tx", "rich", "p", "r", "t")?.text ?? "");
}

function findAxis(area: XmlNode | undefined, plot: XmlNode, kinds: readonly string[]): XmlNode | undefined {
  const ids = findChildren(plot, "axId").map(({ attributes }) => attributes.val);
  return area?.children.find((axis) => kinds.includes(axis.name) && ids.includes(childValue(axis, "axId")));
}

/** As the origin lists it, with the row of the end in both places. */
function readAnchor(anchor: XmlNode): Chart["anchor"] {
  const [from, to] = [findChild(anchor, "from"), findChild(anchor, "to")];
  if (from === undefined || to === undefined) return null;
  const number = (node: XmlNode, name: string) => Number(findChild(node, name)?.text ?? 0);
  const [row, column] = [number(to, "row"), number(to, "col")];
  return [anchor.attributes.editAs ?? null, number(from, "col"), row, column, row];
}
