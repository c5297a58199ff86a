import { isDeepStrictEqual } from "node:util";
import { isList } from "../../formats/python/values.js";
import { type PivotTable, readPivots } from "../../formats/xlsx/pivots.js";
import { type ChosenSheet, chooseSheet, type TableRule } from "./table-books.js";

type Describe = (pivot: PivotTable, names: readonly string[]) => unknown;

const describeSelection: Describe = ({ selection }, names) =>
  names.includes("ordered") ? selection : selection.map((items) => new Set(items));

/** What `pivot_props` can ask for. */
const PROPERTIES: Readonly<Record<string, Describe>> = {
  name: (pivot) => pivot.name,
  show_total: (pivot) => pivot.showTotal,
  show_empty_row: (pivot) => pivot.showEmptyRow,
  show_empty_col: (pivot) => pivot.showEmptyColumn,
  show_headers: (pivot) => pivot.showHeaders,
  location: (pivot) => pivot.location,
  selection: describeSelection,
  filter: (pivot, names) => [describeSelection(pivot, names), new Set(pivot.pageFields)],
  col_fields: (pivot) => pivot.columnFields,
  row_fields: (pivot) => pivot.rowFields,
  data_fields: (pivot, names) =>
    pivot.dataFields.map(({ field, name, subtotal, showDataAs }) => [
      field,
      names.includes("data_fields_name") ? name : "",
      subtotal,
      showDataAs,
    ]),
};

/** `pivot_table`: the pivot tables of two sheets by their source, with the properties that the rule names. */
export const comparePivots: TableRule = (rule, books) => {
  const names = isList(rule.pivot_props) ? rule.pivot_props.map(String) : [];
  return isDeepStrictEqual(
    describePivots(chooseSheet(rule.sheet_idx0, books), names),
    describePivots(chooseSheet(rule.sheet_idx1, books), names),
  );
};

function describePivots({ book, sheet }: ChosenSheet, names: readonly string[]): Map<string, unknown> {
  if (sheet === null) return new Map();
  const known = Object.keys(PROPERTIES).filter((name) => names.includes(name));
  return new Map(
    readPivots(book, sheet).map((pivot) => [pivot.source, known.map((name) => PROPERTIES[name]?.(pivot, names))]),
  );
}
