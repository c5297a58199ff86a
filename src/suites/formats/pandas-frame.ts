/** Texts that pandas 2 reads as a missing value. */
const MISSING_TEXTS: ReadonlySet<FrameCell> = new Set(
  ["#N/A", "#N/A N/A", "#NA", "-1.#IND", "-1.#QNAN", "-NaN", "-nan", "1.#IND", "1.#QNAN", "<NA>", "N/A", "NA"].concat([
    "NULL",
    "NaN",
    "None",
    "n/a",
    "nan",
    "null",
    "",
  ]),
);

export interface TypedValues {
  readonly type: ColumnType;
  readonly values: readonly FrameCell[];
}

/** Types of a column in the order in which the C parser of pandas tries them: integer, float, boolean, text. */
export function inferColumn(texts: readonly string[]): TypedValues {
  const integers = readIntegers(texts);
  if (integers !== null) return integers;
  return readFloats(texts) ?? readBooleans(texts) ?? readTexts(texts);
}

/** Null: not a column of integers, go on with floats. With missing values integers are floats. */
function readIntegers(texts: readonly string[]): TypedValues | null {
  const values: bigint[] = [];
  let missing = 0;
  for (const text of texts) {
    if (MISSING_TEXTS.has(text)) missing++;
    else {
      const integer = parseInteger(text);
      if (integer === null) return null;
      if (integer.range !== "int64") return readUnsigned(texts);
      values.push(integer.value);
    }
  }
  if (missing === 0) return { type: "int64", values: values.map(toCell) };
  let next = 0;
  const floats = texts.map((text) => (MISSING_TEXTS.has(text) ? Number.NaN : Number(values[next++])));
  return { type: "float64", values: floats };
}

/**
 * After the first integer beyond 64 signed bits. Beyond unsigned ones, or below signed ones, the column is text. Large
 * ones beside a negative or a missing one are the raw text, in which `NA` and empty cells stay as they are.
 */
function readUnsigned(texts: readonly string[]): TypedValues | null {
  const values: bigint[] = [];
  let missing = false;
  let signed = false;
  for (const text of texts) {
    if (MISSING_TEXTS.has(text)) missing = true;
    else if (/^[ \t-\r]*-/.test(text)) signed = true;
    else {
      const integer = parseInteger(text);
      if (integer === null) return null;
      if (integer.range === "none") return readTexts(texts);
      values.push(integer.value);
    }
  }
  const isBeyond = values.some((value) => rangeOf(value) === "uint64");
  if (isBeyond && (missing || signed)) return { type: "object", values: texts };
  return signed ? readTexts(texts) : { type: "uint64", values: values.map(toCell) };
}

function readFloats(texts: readonly string[]): TypedValues | null {
  const values: number[] = [];
  for (const text of texts) {
    const value = MISSING_TEXTS.has(text) ? Number.NaN : parseFloatLikePandas(text);
    if (value === null) return null;
    values.push(value);
  }
  return { type: "float64", values };
}

/** `true` and `false` in any case; with missing values the column is of objects. */
function readBooleans(texts: readonly string[]): TypedValues | null {
  const values: FrameCell[] = [];
  for (const text of texts) {
    const word = text.toLowerCase();
    if (MISSING_TEXTS.has(text)) values.push(Number.NaN);
    else if (word === "true" || word === "false") values.push(word === "true");
    else return null;
  }
  return { type: values.every((value) => typeof value === "boolean") ? "bool" : "object", values };
}

function readTexts(texts: readonly string[]): TypedValues {
  return { type: "object", values: texts.map((text) => (MISSING_TEXTS.has(text) ? Number.NaN : text)) };
}

/**
 * pandas reads long files in chunks and infers the types of each. Numbers of different types become floats; anything
 * else that differs becomes objects.
 */
export function joinChunks(chunks: readonly TypedValues[]): TypedValues {
  const types = new Set(chunks.map(({ type }) => type));
  const values = chunks.flatMap((chunk) => chunk.values);
  const [only] = types;
  if (types.size === 1 && only !== undefined) return { type: only, values };
  const isNumeric = [...types].every((type) => type === "int64" || type === "uint64" || type === "float64");
  return isNumeric ? { type: "float64", values: values.map(Number) } : { type: "object", values };
}

/** A cell and whether it is a whole number; Excel's 1.0 is one. */
interface Converted {
  readonly value: number | bigint | boolean;
  readonly isWhole: boolean;
}

/**
 * Types of a column whose cells are numbers, booleans, texts and dates, as pandas' Python parser gives them: texts of
 * digits become numbers where the whole column is numeric; anything missing makes it a column of floats, booleans
 * included.
 */
export function inferObjects(cells: readonly FrameCell[]): TypedValues {
  return inferNumbers(cells) ?? inferBooleans(cells) ?? inferTimes(markMissing(cells));
}

function inferNumbers(cells: readonly FrameCell[]): TypedValues | null {
  const converted: (Converted | null)[] = [];
  for (const cell of cells) {
    const value = isMissing(cell) ? null : convert(cell);
    if (value === undefined) return null;
    converted.push(value);
  }
  const present = converted.filter((value) => value !== null);
  const hasMissing = present.length < converted.length;
  const whole = present.flatMap(({ value, isWhole }) => (isWhole && typeof value !== "boolean" ? [BigInt(value)] : []));
  const isUnsigned = whole.some((value) => rangeOf(value) === "uint64");
  // A conflict that pandas leaves alone: the cells stay as they are, empty texts too.
  if (isUnsigned && (hasMissing || whole.some((value) => value < 0n))) return { type: "object", values: cells };
  if (hasMissing || present.some(({ value, isWhole }) => !isWhole && typeof value === "number"))
    return toFloats(converted);
  if (present.every(({ value }) => typeof value === "boolean"))
    return { type: "bool", values: present.map(({ value }) => value) };
  const integers = present.map(({ value }) => BigInt(value));
  if (integers.every((value) => rangeOf(value) === "int64")) return { type: "int64", values: integers.map(toCell) };
  const isInRange = integers.every((value) => value >= 0n && rangeOf(value) !== "none");
  return isInRange ? { type: "uint64", values: integers.map(toCell) } : toFloats(converted);
}

function toFloats(cells: readonly (Converted | null)[]): TypedValues {
  return { type: "float64", values: cells.map((cell) => (cell === null ? Number.NaN : Number(cell.value))) };
}

const isMissing = (cell: FrameCell) => MISSING_TEXTS.has(cell) || Number.isNaN(cell);

/** Undefined: not a number. */
function convert(cell: FrameCell): Converted | undefined {
  if (typeof cell === "object") return undefined;
  if (typeof cell !== "string") return { value: cell, isWhole: typeof cell !== "number" || Number.isInteger(cell) };
  const integer = parseInteger(cell);
  if (integer !== null) return integer.range === "none" ? undefined : { value: integer.value, isWhole: true };
  const float = parseFloatLikePandas(cell);
  return float === null ? undefined : { value: float, isWhole: false };
}

/** Only where the first cell is not a number: the texts True and False in three spellings. */
function inferBooleans(cells: readonly FrameCell[]): TypedValues | null {
  if (typeof cells[0] === "number" || typeof cells[0] === "bigint" || typeof cells[0] === "boolean") return null;
  const values = cells.map((cell) => {
    if (isMissing(cell)) return Number.NaN;
    if (typeof cell === "boolean") return cell;
    if (cell === "True" || cell === "TRUE" || cell === "true") return true;
    return cell === "False" || cell === "FALSE" || cell === "false" ? false : null;
  });
  if (values.includes(null)) return null;
  const present = values.filter((value) => value !== null);
  return { type: present.every((value) => typeof value === "boolean") ? "bool" : "object", values: present };
}

const markMissing = (cells: readonly FrameCell[]) => cells.map((cell) => (isMissing(cell) ? Number.NaN : cell));

/** Columns of dates only, or of durations only, have types of their own. */
function inferTimes(values: readonly FrameCell[]): TypedValues {
  for (const [kind, type] of [
    ["datetime", "datetime64"],
    ["timedelta", "timedelta64"],
  ] as const) {
    const present = values.filter((value) => !Number.isNaN(value));
    if (present.length > 0 && present.every((value) => typeof value === "object" && value.kind === kind)) {
      return { type, values };
    }
  }
  return { type: "object", values };
}

/** More digits than these are out of every range, leading zeros apart. */
const MAX_INTEGER_DIGITS = 40;
const INTEGER = /^[+-]?\d+$/;

/** Digits that pandas' float parser looks at; leading zeros count. */
const MAX_DIGITS = 17;

type IntegerRange = "int64" | "uint64" | "none";

/** An integer with blanks around it; null where the text is none. */
function parseInteger(text: string): { value: bigint; range: IntegerRange } | null {
  const digits = trimBlanks(text);
  if (!INTEGER.test(digits)) return null;
  if (digits.replace(/^[+-]?0*/, "").length > MAX_INTEGER_DIGITS) return { value: 0n, range: "none" };
  const value = BigInt(digits.replace("+", ""));
  return { value, range: rangeOf(value) };
}

/** `uint64`: too large for 64 bits with a sign. */
function rangeOf(value: bigint): IntegerRange {
  if (BigInt.asIntN(64, value) === value) return "int64";
  return BigInt.asUintN(64, value) === value ? "uint64" : "none";
}

/** A whole number is kept as a number where that is exact. */
export function toCell(value: bigint): number | bigint {
  const number = Number(value);
  return Number.isSafeInteger(number) ? number : value;
}

const FLOAT = /^([+-]?)(\d*)(?:\.(\d*))?(?:[eE]([+-]?\d*))?$/;
const INFINITY = /^([+-]?)inf(inity)?$/i;

/**
 * A float as pandas' `precise_xstrtod` reads it, which is not correctly rounded: it takes 17 digits, leading zeros
 * included, and scales by one power of ten. So 0.30000000000000004 is 0.3. Null where the text is no number, or one too
 * large for a double.
 */
function parseFloatLikePandas(text: string): number | null {
  const infinite = INFINITY.exec(text);
  if (infinite !== null) return infinite[1] === "-" ? Number.NEGATIVE_INFINITY : Number.POSITIVE_INFINITY;
  const parts = FLOAT.exec(trimBlanks(text));
  if (parts === null) return null;
  const [, sign = "", whole = "", decimals = "", power] = parts;
  if (whole === "" && decimals === "") return null;
  // An exponent without digits is given back, and then stands behind the number.
  if (power !== undefined && !/\d/.test(power)) return null;
  const used = whole.slice(0, MAX_DIGITS);
  const usedDecimals = decimals.slice(0, MAX_DIGITS - used.length);
  let number = 0;
  for (const digit of used + usedDecimals) number = number * 10 + Number(digit);
  const exponent = whole.length - used.length - usedDecimals.length + Number((power ?? "0").slice(0, MAX_DIGITS + 1));
  const scaled = scaleByPower(sign === "-" ? -number : number, exponent);
  return Number.isFinite(scaled) ? scaled : null;
}

function scaleByPower(number: number, exponent: number): number {
  if (exponent > 308) return Number.POSITIVE_INFINITY;
  if (exponent > 0) return number * POWERS(exponent);
  if (exponent < -616) return 0;
  if (exponent < -308) return number / POWERS(-308 - exponent) / 1e308;
  return number / POWERS(-exponent);
}

const POWERS = (exponent: number) => Number(`1e${exponent}`);

/** Without what `isspace` holds for in C at both ends. */
function trimBlanks(text: string): string {
  let start = 0;
  let end = text.length;
  while (start < end && isBlank(text.charCodeAt(start))) start++;
  while (end > start && isBlank(text.charCodeAt(end - 1))) end--;
  return text.slice(start, end);
}

const isBlank = (unit: number) => unit === 0x20 || (unit >= 0x09 && unit <= 0x0d);

/** A missing value is NaN. Whole numbers are bigint only where a number would not be exact. */
export type FrameCell = number | bigint | boolean | string | FrameTime;

/** A date, a time of day or a duration, in milliseconds. Two are equal if kind and value are. */
export interface FrameTime {
  readonly kind: "datetime" | "time" | "timedelta";
  readonly ms: number;
}

type ColumnType = "int64" | "uint64" | "float64" | "bool" | "object" | "datetime64" | "timedelta64";

export interface FrameColumn {
  readonly name: FrameCell;
  readonly type: ColumnType;
  readonly values: readonly FrameCell[];
}

/** A table as pandas holds it: typed columns, and the labels of the rows where they are not 0, 1, 2, ... */
export interface Frame {
  readonly columns: readonly FrameColumn[];
  readonly rows: number;
  /** One list a level. */
  readonly index: readonly (readonly FrameCell[])[] | null;
}

/** `DataFrame.equals`: labels by value, columns by type and value, NaN equals NaN, no tolerance. */
export function equalFrames(a: Frame, b: Frame): boolean {
  if (a.columns.length !== b.columns.length || a.rows !== b.rows) return false;
  if (!equalIndexes(a, b)) return false;
  return a.columns.every((column, i) => {
    const other = b.columns[i] as FrameColumn;
    return equalCells(column.name, other.name) && column.type === other.type && equalLists(column.values, other.values);
  });
}

function equalIndexes(a: Frame, b: Frame): boolean {
  if (a.index === null && b.index === null) return true;
  const [levels, others] = [indexOf(a), indexOf(b)];
  return levels.length === others.length && levels.every((level, i) => equalLists(level, others[i] ?? []));
}

const indexOf = (frame: Frame) => frame.index ?? [Array.from({ length: frame.rows }, (_, i) => i)];

const equalLists = (a: readonly FrameCell[], b: readonly FrameCell[]) =>
  a.length === b.length && a.every((cell, i) => equalCells(cell, b[i] as FrameCell));

/** Within a column of objects 1, 1.0 and True are equal, as in Python. */
function equalCells(a: FrameCell, b: FrameCell): boolean {
  if (typeof a === "object" || typeof b === "object") {
    return typeof a === "object" && typeof b === "object" && a.kind === b.kind && a.ms === b.ms;
  }
  if (typeof a === "string" || typeof b === "string") return a === b;
  // biome-ignore lint/suspicious/noDoubleEquals: compares numbers, big integers and booleans by value
  return a == b || (Number.isNaN(a) && Number.isNaN(b));
}
