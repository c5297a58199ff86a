// Spider2-V's `compare_table`, which applies rules to two workbooks.
import { posix } from "node:path";
import { RE2JS } from "re2js";
import type { JsonObject, JsonValue } from "../../platform/json.js";
import { equalFrames, type Frame, type FrameColumn } from "../formats/pandas-frame.js";
import { equalValues, fromJson, isList, roundHalfEven } from "../formats/python-values.js";
import { formatCoordinate, parseCoordinate } from "../formats/xlsx-cells.js";
import { readExcel, readRawValue, Workbook } from "../formats/xlsx-workbook.js";
import { readCollectedFile } from "../task/suite-files.js";
import { CannotGrade, type CollectedFile, type MetricFunction, requireFile } from "./grading-function.js";
import {
  type ChosenSheet,
  chooseSheet,
  compareCharts,
  comparePivots,
  compareStyles,
  EMPTY_CELL,
  MissingSheet,
  readStyledCells,
  readStyleProperty,
  type StyleValue,
  type TableBooks,
  type TableRule,
} from "./spider2v-sheets.js";

/**
 * `sheet_data`: reads both sheets like `pandas.read_excel`, rounds floats to `precision` digits, and compares with
 * `equals`.
 */
const compareSheetData: TableRule = (rule, books) => {
  const precision = rule.precision ?? 4;
  if (typeof precision !== "number" || !Number.isInteger(precision)) throw new Error("precision is not a whole number");
  const result = readFrame(chooseSheet(rule.sheet_idx0, books));
  if (result === null) throw new MissingSheet();
  const expected = readFrame(chooseSheet(rule.sheet_idx1, books));
  if (expected === null) throw new Error("the gold workbook does not have the sheet");
  return equalFrames(roundFrame(result, precision), roundFrame(expected, precision));
};

/** Returns null if the sheet cannot be read. */
function readFrame({ book, sheet }: ChosenSheet): Frame | null {
  if (sheet === null || sheet.isChartsheet) return null;
  try {
    return readExcel(book, sheet);
  } catch {
    return null;
  }
}

function roundFrame(frame: Frame, precision: number): Frame {
  return { ...frame, columns: frame.columns.map((column) => roundColumn(column, precision)) };
}

/** Rounds like numpy: scales by a power of ten, and rounds halves to the even neighbor. */
function roundColumn(column: FrameColumn, precision: number): FrameColumn {
  if (column.type !== "float64") return column;
  const power = 10 ** Math.abs(precision);
  const round = (value: number) =>
    precision >= 0 ? roundHalfEven(value * power) / power : roundHalfEven(value / power) * power;
  return { ...column, values: column.values.map((value) => (Number.isFinite(value) ? round(Number(value)) : value)) };
}

const FLAGS: Readonly<Record<string, number>> = {
  I: RE2JS.CASE_INSENSITIVE,
  IGNORECASE: RE2JS.CASE_INSENSITIVE,
  M: RE2JS.MULTILINE,
  MULTILINE: RE2JS.MULTILINE,
  S: RE2JS.DOTALL,
  DOTALL: RE2JS.DOTALL,
};

/** Checks a rule {method, ref}: eq, ne, lt, le, gt, ge, approx:N, range.te, re.FLAGS, str_list_eq, str_set_eq. */
function matchesRule(value: StyleValue, rule: JsonObject): boolean {
  const { method, ref = null } = rule;
  if (typeof method !== "string") throw new Error("a rule has no method");
  if (method.startsWith("re")) return matchesPattern(value, method, ref);
  if (method === "eq" || method === "ne") return isEqual(value, ref) === (method === "eq");
  if (["lt", "le", "gt", "ge"].includes(method)) return isOrdered(method, value, ref);
  if (method.startsWith("approx")) return isClose(value, Number(method.split(":")[1]), Number(ref));
  if (method.startsWith("range.") && isList(ref)) {
    const [left, right] = [`l${method[6]}`, `l${method[7]}`];
    return isOrdered(left, ref[0] ?? null, value) && isOrdered(right, value, ref[1] ?? null);
  }
  if (method === "str_list_eq" || method === "str_set_eq") return matchesList(value, ref, method === "str_set_eq");
  throw new CannotGrade("unsupported", `the method ${method} of a rule is not supported`);
}

function matchesPattern(value: StyleValue, method: string, ref: JsonValue): boolean {
  if (typeof value !== "string" || typeof ref !== "string") throw new Error("a pattern needs a string");
  const flags = method
    .split(".")
    .slice(1)
    .reduce((all, name) => all | (FLAGS[name] ?? 0), 0);
  return RE2JS.compile(ref, flags).matcher(value).find();
}

const isEqual = (value: StyleValue, ref: JsonValue) =>
  value !== null && typeof value === "object" ? false : equalValues(value, fromJson(ref));

function isOrdered(method: string, a: StyleValue | JsonValue, b: StyleValue | JsonValue): boolean {
  const areTexts = typeof a === "string" && typeof b === "string";
  if (!areTexts && (typeof a !== "number" || typeof b !== "number")) throw new Error("values cannot be compared");
  if (method === "lt") return a < b;
  if (method === "le") return a <= b;
  return method === "gt" ? a > b : a >= b;
}

function isClose(value: StyleValue, threshold: number, ref: number): boolean {
  const number =
    typeof value === "number" || typeof value === "boolean" ? Number(value) : Number.parseFloat(String(value));
  return !Number.isNaN(number) && Math.abs(number - ref) <= threshold;
}

function matchesList(value: StyleValue, ref: JsonValue, isSet: boolean): boolean {
  if (typeof value !== "string" || !isList(ref)) throw new Error("a list needs a string");
  const items = value.replace(/^["']{1,1000}/, "").split(",");
  const last = items.length - 1;
  items[last] = trimQuotes(items[last] ?? "");
  const [own, other] = isSet ? [[...new Set(items)].sort(), [...new Set(ref)].sort()] : [items, ref];
  return equalValues(own, fromJson(other as JsonValue));
}

function trimQuotes(text: string): string {
  let end = text.length;
  while (end > 0 && (text[end - 1] === '"' || text[end - 1] === "'")) end--;
  return text.slice(0, end);
}

/** `check_cell`: checks properties of one cell of the result against rules. `value` is read from the XML. */
const checkCell: TableRule = (rule, books) => {
  const { book, name, sheet } = chooseSheet(rule.sheet_idx, books);
  if (sheet === null) throw new MissingSheet();
  const { row, column } = parseCoordinate(String(rule.coordinate));
  const cell = readStyledCells(book, sheet).get(formatCoordinate(row, column)) ?? EMPTY_CELL;
  const rules = Object.entries((rule.props ?? {}) as Readonly<Record<string, JsonObject>>);
  // Like Spider2-V, read all values even after a rule has failed, because an unreadable value raises, but skip the
  // remaining rules.
  let holds = true;
  for (const [property, matches] of rules) {
    const value =
      property === "value" ? readRawValue(book, name, String(rule.coordinate)) : readStyleProperty(property, cell);
    holds = holds && matchesRule(value, matches);
  }
  return holds;
};

const RULES: Readonly<Record<string, TableRule>> = {
  sheet_name: (_, { result, expected }) =>
    expected !== null && JSON.stringify(result.sheetNames) === JSON.stringify(expected.sheetNames),
  sheet_data: compareSheetData,
  chart: compareCharts,
  pivot_table: comparePivots,
  style: compareStyles,
  check_cell: checkCell,
};

/** Rules of Spider2-V that its tasks do not use. */
const NOT_IMPLEMENTED =
  "sheet_print sheet_fuzzy sparkline freeze zoom data_validation row_props col_props filter".split(" ");

const EXTENSIONS = [".xlsx", ".xlsm", ".xltx", ".xltm"];

/**
 * `compare_table`: all rules must hold, and are checked in order. A result that is not a workbook, or does not have a
 * sheet to compare, scores 0. A broken gold workbook or an unknown rule raises.
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
    throw new Error(`${posix.basename(path)} is not a workbook`);
  return new Workbook(await readCollectedFile(path));
}

function holds(rule: JsonObject, books: TableBooks): boolean {
  const type = String(rule.type);
  if (Object.hasOwn(RULES, type)) return RULES[type]?.(rule, books) ?? false;
  if (NOT_IMPLEMENTED.includes(type)) throw new CannotGrade("unsupported", `rules of type ${type} are unsupported`);
  throw new Error(`unknown rule type ${type}`);
}
