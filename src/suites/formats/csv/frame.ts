/** A missing value is NaN. Whole numbers are bigint only where a number would not be exact. */
export type FrameCell = number | bigint | boolean | string | FrameTime;

/** A date, a time of day or a duration, in milliseconds. Two are equal if kind and value are. */
export interface FrameTime {
  readonly kind: "datetime" | "time" | "timedelta";
  readonly ms: number;
}

export type ColumnType = "int64" | "uint64" | "float64" | "bool" | "object" | "datetime64" | "timedelta64";

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
export function equalCells(a: FrameCell, b: FrameCell): boolean {
  if (typeof a === "object" || typeof b === "object") {
    return typeof a === "object" && typeof b === "object" && a.kind === b.kind && a.ms === b.ms;
  }
  if (typeof a === "string" || typeof b === "string") return a === b;
  // biome-ignore lint/suspicious/noDoubleEquals: compares numbers, big integers and booleans by value
  return a == b || (Number.isNaN(a) && Number.isNaN(b));
}
