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

/** A cell and whether it is a whole number, such as Excel's 1.0. */
interface Converted {
  readonly value: number | bigint | boolean;
  readonly isWhole: boolean;
}

type IntegerRange = "int64" | "uint64" | "none";

/** A missing value is NaN. Integers are bigint only if they could not be represented exactly as a number. */
export type FrameCell = number | bigint | boolean | string | FrameTime;

/** A date, a time of day or a duration, in milliseconds. Two are equal if kind and value are equal. */
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

/** A table as in pandas: typed columns, and row labels unless they are 0, 1, 2, ... */
export interface Frame {
  readonly columns: readonly FrameColumn[];
  readonly rows: number;
  /** Row labels, with one list per level. */
  readonly index: readonly (readonly FrameCell[])[] | null;
}

/** Infers a column's type in the order of pandas' C parser: integer, float, boolean, text. */
export function inferColumn(texts: readonly string[]): TypedValues {
  const integers = readIntegers(texts);
  if (integers !== null) return integers;
  return readFloats(texts) ?? readBooleans(texts) ?? readTexts(texts);
}

/**
 * Returns null if the column does not consist of integers, so that floats are tried next. With missing values, integers
 * become floats.
 */
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
 * Reads integers after the first one beyond signed 64 bits. If any is beyond unsigned 64 bits, or below signed 64 bits,
 * the column is text. If a column has large integers and also a negative or missing one, all its cells remain raw text,
 * including `NA` and empty cells.
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

/** Reads `true` and `false` in any case. With missing values, the column has type object. */
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
 * Joins chunks. pandas reads long files in chunks and infers the types of each. Different number types become floats;
 * any other difference becomes object.
 */
export function joinChunks(chunks: readonly TypedValues[]): TypedValues {
  const types = new Set(chunks.map(({ type }) => type));
  const values = chunks.flatMap((chunk) => chunk.values);
  const [only] = types;
  if (types.size === 1 && only !== undefined) return { type: only, values };
  const isNumeric = [...types].every((type) => type === "int64" || type === "uint64" || type === "float64");
  return isNumeric ? { type: "float64", values: values.map(Number) } : { type: "object", values };
}

/**
 * Infers a column of numbers, booleans, texts and dates like pandas' Python parser. Texts that consist of digits become
 * numbers if the entire column is numeric. Any missing value turns the column into floats, even a column of booleans.
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
  // pandas does not resolve this conflict, so the cells stay unchanged, including empty texts.
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

/** Converts a cell to a number, or undefined if it is not one. */
function convert(cell: FrameCell): Converted | undefined {
  if (typeof cell === "object") return undefined;
  if (typeof cell !== "string") return { value: cell, isWhole: typeof cell !== "number" || Number.isInteger(cell) };
  const integer = parseInteger(cell);
  if (integer !== null) return integer.range === "none" ? undefined : { value: integer.value, isWhole: true };
  const float = parseFloatLikePandas(cell);
  return float === null ? undefined : { value: float, isWhole: false };
}

/** Reads booleans if the first cell is not a number. Accepts the texts True and False in three spellings. */
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

/** Infers columns that contain only dates or only durations, which have their own types. */
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

/** Maximum number of digits. A number with more digits, not counting leading zeros, is out of every range. */
const MAX_INTEGER_DIGITS = 40;
const INTEGER = /^[+-]?\d+$/;

/** Digits that pandas' float parser reads, including leading zeros. */
const MAX_DIGITS = 17;

/** Parses an integer that may be surrounded by blanks. Returns null for other text. */
function parseInteger(text: string): { value: bigint; range: IntegerRange } | null {
  const digits = trimBlanks(text);
  if (!INTEGER.test(digits)) return null;
  if (digits.replace(/^[+-]?0*/, "").length > MAX_INTEGER_DIGITS) return { value: 0n, range: "none" };
  const value = BigInt(digits.replace("+", ""));
  return { value, range: rangeOf(value) };
}

/** `uint64` means that the value is too large for a signed 64-bit integer. */
function rangeOf(value: bigint): IntegerRange {
  if (BigInt.asIntN(64, value) === value) return "int64";
  return BigInt.asUintN(64, value) === value ? "uint64" : "none";
}

/** Converts a whole number to a number if that is exact. */
export function toCell(value: bigint): number | bigint {
  const number = Number(value);
  return Number.isSafeInteger(number) ? number : value;
}

const FLOAT = /^([+-]?)(\d*)(?:\.(\d*))?(?:[eE]([+-]?\d*))?$/;
const INFINITY = /^([+-]?)inf(inity)?$/i;

/**
 * Parses a float like pandas' `precise_xstrtod`, which does not round correctly: it reads 17 digits, including leading
 * zeros, and scales by one power of ten. For example, 0.30000000000000004 becomes 0.3. Returns null if the text is not
 * a number, or is too large for a double.
 */
function parseFloatLikePandas(text: string): number | null {
  const infinite = INFINITY.exec(text);
  if (infinite !== null) return infinite[1] === "-" ? Number.NEGATIVE_INFINITY : Number.POSITIVE_INFINITY;
  const parts = FLOAT.exec(trimBlanks(text));
  if (parts === null) return null;
  const [, sign = "", whole = "", decimals = "", power] = parts;
  if (whole === "" && decimals === "") return null;
  // An exponent without digits is not part of the number, so the text has trailing characters.
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

/** Trims C's `isspace` characters. */
function trimBlanks(text: string): string {
  let start = 0;
  let end = text.length;
  while (start < end && isBlank(text.charCodeAt(start))) start++;
  while (end > start && isBlank(text.charCodeAt(end - 1))) end--;
  return text.slice(start, end);
}

const isBlank = (unit: number) => unit === 0x20 || (unit >= 0x09 && unit <= 0x0d);

/**
 * `DataFrame.equals`: compares labels by value, and columns by type and value. NaN equals NaN, and there is no
 * tolerance.
 */
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

/** In an object column, 1, 1.0 and True are equal, as in Python. */
function equalCells(a: FrameCell, b: FrameCell): boolean {
  if (typeof a === "object" || typeof b === "object") {
    return typeof a === "object" && typeof b === "object" && a.kind === b.kind && a.ms === b.ms;
  }
  if (typeof a === "string" || typeof b === "string") return a === b;
  // biome-ignore lint/suspicious/noDoubleEquals: compares numbers, big integers and booleans by value
  return a == b || (Number.isNaN(a) && Number.isNaN(b));
}
