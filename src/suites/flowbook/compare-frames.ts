import { equalFrames, type Frame, type FrameCell, type FrameColumn } from "../formats/csv/frame.js";
import { compareStrings, stripText } from "../formats/python/text.js";

export interface CsvOptions {
  readonly ignoreOrder: boolean;
  readonly ignoreCase: boolean;
  readonly strict: boolean;
}

/**
 * Columns in order of name; cells, never headers, stripped and lowered as the options say; rows sorted by all columns;
 * then `DataFrame.equals`.
 */
export function areFramesEqual(result: Frame, expected: Frame, options: CsvOptions): boolean {
  const [a, b] = [prepare(result, options), prepare(expected, options)];
  return equalFrames(a, b);
}

function prepare(frame: Frame, options: CsvOptions): Frame {
  const columns = frame.columns
    .toSorted((a, b) => compareStrings(String(a.name), String(b.name)))
    .map((column) => ({ ...column, values: column.values.map((cell) => normalize(cell, options)) }));
  return options.ignoreOrder ? sortRows({ ...frame, columns }) : { ...frame, columns };
}

function normalize(cell: FrameCell, options: CsvOptions): FrameCell {
  if (typeof cell !== "string") return cell;
  const stripped = options.strict ? cell : stripText(cell);
  return options.ignoreCase ? stripped.toLowerCase() : stripped;
}

/** Missing values last. The labels of the rows are lost. Text beside numbers cannot be sorted, and raises in pandas. */
function sortRows(frame: Frame): Frame {
  for (const column of frame.columns) requireOneKind(column);
  const order = Array.from({ length: frame.rows }, (_, i) => i).sort((a, b) => {
    for (const { values } of frame.columns) {
      const difference = compareCells(values[a] as FrameCell, values[b] as FrameCell);
      if (difference !== 0) return difference;
    }
    return 0;
  });
  const columns = frame.columns.map((column) => ({
    ...column,
    values: order.map((row) => column.values[row] as FrameCell),
  }));
  return { columns, rows: frame.rows, index: null };
}

function requireOneKind({ name, values }: FrameColumn): void {
  const isText = values.filter((cell) => !Number.isNaN(cell)).map((cell) => typeof cell === "string");
  if (isText.includes(true) && isText.includes(false)) {
    throw new Error(`column ${String(name)} has text beside numbers and cannot be sorted`);
  }
}

function compareCells(a: FrameCell, b: FrameCell): number {
  const [aMissing, bMissing] = [Number.isNaN(a), Number.isNaN(b)];
  if (aMissing || bMissing) return Number(aMissing) - Number(bMissing);
  if (typeof a === "string" && typeof b === "string") return compareStrings(a, b);
  return a < b ? -1 : a > b ? 1 : 0;
}
