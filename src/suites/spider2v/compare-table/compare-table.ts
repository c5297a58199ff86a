import { posix } from "node:path";
import type { JsonObject } from "../../../domain/json.js";
import { CannotGrade } from "../../evaluation/cannot-grade.js";
import { readCollectedFile } from "../../evaluation/suite-files.js";
import { isList } from "../../formats/python/values.js";
import { Workbook } from "../../formats/xlsx/workbook.js";
import { type CollectedFile, type MetricFunction, requireFile } from "../metric-function.js";
import { checkCell } from "./check-cell.js";
import { compareCharts } from "./compare-charts.js";
import { comparePivots } from "./compare-pivots.js";
import { compareStyles } from "./compare-styles.js";
import { compareSheetData } from "./sheet-data.js";
import { MissingSheet, type TableBooks, type TableRule } from "./table-books.js";

const RULES: Readonly<Record<string, TableRule>> = {
  sheet_name: (_, { result, expected }) =>
    expected !== null && JSON.stringify(result.sheetNames) === JSON.stringify(expected.sheetNames),
  sheet_data: compareSheetData,
  chart: compareCharts,
  pivot_table: comparePivots,
  style: compareStyles,
  check_cell: checkCell,
};

/** Rules that the origin has and no task of it uses. */
const NOT_IMPLEMENTED = [
  "sheet_print",
  "sheet_fuzzy",
  "sparkline",
  "freeze",
  "zoom",
  "data_validation",
  "row_props",
].concat(["col_props", "filter"]);

const EXTENSIONS = [".xlsx", ".xlsm", ".xltx", ".xltm"];

/**
 * `compare_table`: all rules must hold, asked one after the other. A result that is no workbook, or lacks a sheet whose
 * cells are compared, scores 0; a broken gold or an unknown rule raises.
 */
export const compareTable: MetricFunction = async (result, expected, options) => {
  if (result === null) return 0;
  const file = requireFile(result, "the result");
  let book: Workbook;
  try {
    book = await openWorkbook(file);
  } catch {
    return 0;
  }
  const gold =
    expected === undefined || expected === null ? null : await openWorkbook(requireFile(expected, "the gold"));
  const books: TableBooks = { result: book, expected: gold };
  if (!isList(options.rules)) throw new Error("there are no rules");
  try {
    return Number(options.rules.every((rule) => holds(rule as JsonObject, books)));
  } catch (error) {
    if (error instanceof MissingSheet) return 0;
    throw error;
  }
};

async function openWorkbook({ path }: CollectedFile): Promise<Workbook> {
  if (!EXTENSIONS.includes(posix.extname(path).toLowerCase()))
    throw new Error(`${posix.basename(path)} is no workbook`);
  return new Workbook(await readCollectedFile(path));
}

function holds(rule: JsonObject, books: TableBooks): boolean {
  const type = String(rule.type);
  if (Object.hasOwn(RULES, type)) return RULES[type]?.(rule, books) ?? false;
  if (NOT_IMPLEMENTED.includes(type)) throw new CannotGrade("unsupported", `rules of type ${type} are not supported`);
  throw new Error(`rules of type ${type} are not known`);
}
