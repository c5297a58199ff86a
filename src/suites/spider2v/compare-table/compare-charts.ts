import { isDeepStrictEqual } from "node:util";
import { isList } from "../../formats/python/values.js";
import { type Chart, readCharts } from "../../formats/xlsx/charts.js";
import { type ChosenSheet, chooseSheet, type TableRule } from "./table-books.js";

/** What `chart_props` can ask for. Width and height are openpyxl's defaults, since it does not read them. */
const PROPERTIES: Readonly<Record<string, (chart: Chart) => unknown>> = {
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
 * `chart`: the charts of two sheets by their series, with the properties that the rule names. References are compared
 * as they are spelled: `'Sheet1'!$B$2`, as openpyxl writes, is not LibreOffice's `Sheet1!$B$2`.
 */
export const compareCharts: TableRule = (rule, books) => {
  const names = isList(rule.chart_props) ? rule.chart_props.map(String) : [];
  return isDeepStrictEqual(
    describeCharts(chooseSheet(rule.sheet_idx0, books), names),
    describeCharts(chooseSheet(rule.sheet_idx1, books), names),
  );
};

function describeCharts({ book, sheet }: ChosenSheet, names: readonly string[]): Map<string, unknown> {
  if (sheet === null) return new Map();
  const known = Object.keys(PROPERTIES).filter((name) => names.includes(name));
  return new Map(
    readCharts(book, sheet).map((chart) => [chart.source, known.map((name) => PROPERTIES[name]?.(chart))]),
  );
}
