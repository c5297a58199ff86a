import type { ColumnType, FrameCell } from "./frame.js";
import { parseFloatLikePandas, parseInteger, toCell } from "./parse-number.js";

/** Texts that pandas 2 reads as a missing value. */
export const MISSING_TEXTS: ReadonlySet<FrameCell> = new Set(
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
  const isBeyond = values.some((value) => value >= 2n ** 63n);
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
