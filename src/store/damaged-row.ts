// Reads JSON columns, and skips and reports rows that are damaged.
import { UserError } from "../platform/errors.js";
import { damagedHint } from "./database-error.js";

/**
 * Damaged JSON columns. A reader of one row gets an error with the row's place. Lists skip the row, report it through
 * `onDamagedRow`, and continue.
 */

/** Location of a value in the database. `row` is the row's primary key in readable form. */
interface ColumnPlace {
  readonly table: string;
  readonly row: string | number;
  readonly column: string;
}

/** JSON types of the properties that every reader of a value needs. */
export type Shape = Readonly<Record<string, "string" | "number" | "array" | "object">>;

export class DamagedRowError extends UserError {
  constructor(
    { table, row, column }: ColumnPlace,
    readonly reason: string,
    options?: { cause?: unknown },
  ) {
    super(
      "row_damaged",
      `The database is damaged: table ${table}, row ${row}, column ${column}: ${reason}.`,
      damagedHint(),
      1,
      options,
    );
  }
}

/**
 * Returns the value of a JSON column. Only `shape` is checked: validating the entire schema would take three times as
 * long as parsing (500 µs for a trace of 18 KB).
 * @throws DamagedRowError if the column is not JSON or does not have a property of `shape`
 */
export function parseColumn<T>(json: unknown, shape: Shape | "array", place: ColumnPlace): T {
  let value: unknown;
  try {
    if (typeof json !== "string") throw new TypeError("not text");
    value = JSON.parse(json);
  } catch (cause) {
    throw new DamagedRowError(place, "it is not JSON", { cause });
  }
  if (shape === "array") {
    if (!Array.isArray(value)) throw new DamagedRowError(place, "it is not a JSON array");
    return value as T;
  }
  if (typeOf(value) !== "object") throw new DamagedRowError(place, "it is not a JSON object");
  const properties = value as Readonly<Record<string, unknown>>;
  for (const [name, type] of Object.entries(shape)) {
    if (typeOf(properties[name]) === type) continue;
    throw new DamagedRowError(place, `the property ${name} is missing or has the wrong type`);
  }
  return value as T;
}

function typeOf(value: unknown): string {
  return Array.isArray(value) ? "array" : value === null ? "null" : typeof value;
}

let listener: (error: DamagedRowError) => void = () => undefined;

/** Sets the process's only listener. It is global because any command can be the first to find a damaged row. */
export function onDamagedRow(report: (error: DamagedRowError) => void): void {
  listener = report;
}

/** Reports a damaged row that a list omits. */
export function reportDamaged(place: ColumnPlace, reason: string): void {
  listener(new DamagedRowError(place, reason));
}

/** Runs `read` for one row of a list. Reports a damaged row to the listener and returns undefined. */
export function skipDamaged<T>(read: () => T): T | undefined {
  try {
    return read();
  } catch (error) {
    if (!(error instanceof DamagedRowError)) throw error;
    listener(error);
    return undefined;
  }
}

/** Maps `items` with `read`, without the damaged rows. */
export function mapReadable<Item, T extends {}>(items: readonly Item[], read: (item: Item) => T): T[] {
  return items.flatMap((item) => skipDamaged(() => read(item)) ?? []);
}

/** Returns SQL for a JSON column, NULL if it is not JSON: SQLite's JSON functions would abort the entire query. */
export function jsonSql(column: string): string {
  return `iif(json_valid(${column}), ${column}, NULL)`;
}
