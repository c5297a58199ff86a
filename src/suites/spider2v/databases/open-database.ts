/** A value of a row, as the library gives it. */
export type DatabaseValue = unknown;

/** A copy of a database file, opened for reading. */
export interface DatabaseReader {
  /** At most `limit` rows are read. */
  query(sql: string, limit: number): Promise<readonly (readonly DatabaseValue[])[]>;
  close(): void;
}

/** Equal as the values of a row are in Python: numbers by value, NaN equals nothing. */
export function areRowsEqual(a: readonly DatabaseValue[], b: readonly DatabaseValue[]): boolean {
  return a.length === b.length && a.every((value, i) => areValuesEqual(value, b[i]));
}

function areValuesEqual(a: unknown, b: unknown): boolean {
  // biome-ignore lint/suspicious/noDoubleEquals: compares numbers, big integers and booleans by value
  if (isNumeric(a) && isNumeric(b)) return a == b;
  if (typeof a !== "object" || typeof b !== "object" || a === null || b === null) return a === b;
  if (Object.getPrototypeOf(a) !== Object.getPrototypeOf(b)) return false;
  const [keys, others] = [Object.keys(a), Object.keys(b)];
  const [x, y] = [a as Record<string, unknown>, b as Record<string, unknown>];
  return keys.length === others.length && keys.every((key) => key in y && areValuesEqual(x[key], y[key]));
}

const isNumeric = (value: unknown): value is number | bigint | boolean =>
  typeof value === "number" || typeof value === "bigint" || typeof value === "boolean";
