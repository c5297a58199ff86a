import type { FrameCell } from "./frame.js";
import { MISSING_TEXTS, type TypedValues } from "./infer-column.js";
import { parseFloatLikePandas, parseInteger, toCell } from "./parse-number.js";

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
  const isUnsigned = whole.some((value) => value >= 2n ** 63n && value < 2n ** 64n);
  // A conflict that pandas leaves alone: the cells stay as they are, empty texts too.
  if (isUnsigned && (hasMissing || whole.some((value) => value < 0n))) return { type: "object", values: cells };
  if (hasMissing || present.some(({ value, isWhole }) => !isWhole && typeof value === "number"))
    return toFloats(converted);
  if (present.every(({ value }) => typeof value === "boolean"))
    return { type: "bool", values: present.map(({ value }) => value) };
  const integers = present.map(({ value }) => BigInt(value));
  if (integers.every((value) => value >= -(2n ** 63n) && value < 2n ** 63n))
    return { type: "int64", values: integers.map(toCell) };
  if (integers.every((value) => value >= 0n && value < 2n ** 64n))
    return { type: "uint64", values: integers.map(toCell) };
  return toFloats(converted);
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
