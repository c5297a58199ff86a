import type { JsonObject } from "../../platform/json.js";
import { missingPackage } from "../../platform/optional-packages.js";
import { Database } from "../../store/sqlite.js";
import { isList, isTruthy } from "../formats/python-values.js";
import { CannotGrade, type MetricFunction, requireFile } from "../grading-function.js";

/** A file of SQLite. Whole numbers are exact. */
function openSqlite(path: string): DatabaseReader {
  const database = new Database(path, { readonly: true, fileMustExist: true });
  database.defaultSafeIntegers(true);
  database.pragma("trusted_schema = OFF");
  return {
    query: async (sql, limit) => {
      const rows: (readonly DatabaseValue[])[] = [];
      for (const row of database.prepare<[], DatabaseValue[]>(sql).raw().iterate()) {
        if (rows.push(row) >= limit) break;
      }
      return rows;
    },
    close: () => database.close(),
  };
}

/** Queries are stopped after this. */
const TIMEOUT_MS = 60_000;

/**
 * A file of DuckDB. The library is 68 MB and optional, so it is loaded only here. A database may define views over
 * other files and addresses: these cannot be read.
 */
async function openDuckdb(path: string): Promise<DatabaseReader> {
  const { DuckDBInstance } = await loadDuckdb();
  const instance = await DuckDBInstance.create(path, {
    access_mode: "READ_ONLY",
    enable_external_access: "false",
    autoinstall_known_extensions: "false",
    autoload_known_extensions: "false",
    allow_community_extensions: "false",
    memory_limit: "1GB",
    threads: "1",
  });
  const connection = await instance.connect();
  return {
    query: async (sql, limit) => {
      const timer = setTimeout(() => connection.interrupt(), TIMEOUT_MS);
      try {
        const reader = await connection.streamAndReadUntil(sql, limit);
        return reader.getRows() as readonly (readonly DatabaseValue[])[];
      } finally {
        clearTimeout(timer);
      }
    },
    close: () => {
      connection.closeSync();
      instance.closeSync();
    },
  };
}

async function loadDuckdb() {
  try {
    return await import("@duckdb/node-api");
  } catch (error) {
    const missing = missingPackage(error);
    throw missing === null ? error : new CannotGrade("unsupported", `${missing.message} ${missing.hint}`);
  }
}

/** A value of a row, as the library gives it. */
type DatabaseValue = unknown;

/** A copy of a database file, opened for reading. */
interface DatabaseReader {
  /** At most `limit` rows are read. */
  query(sql: string, limit: number): Promise<readonly (readonly DatabaseValue[])[]>;
  close(): void;
}

/** Equal as the values of a row are in Python: numbers by value, NaN equals nothing. */
function areRowsEqual(a: readonly DatabaseValue[], b: readonly DatabaseValue[]): boolean {
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

const MAX_ROWS = 1_000_000;

/**
 * `check_local_database`: by default only the names of tables and views are compared. `-schema` adds columns and types,
 * `-schema-content` the rows in the order in which they are stored. Anything that goes wrong scores 0. Copies keep the
 * name of their file, since views of DuckDB name it.
 */
export const checkLocalDatabase: MetricFunction = async (result, expected, options) => {
  const type = options.db_type ?? "duckdb";
  const gold = requireFile(expected, "what it is compared with");
  if (result === null) return 0;
  const { path } = requireFile(result, "the result");
  if (type !== "duckdb" && type !== "sqlite3") throw new Error(`databases of type ${String(type)} are not known`);
  const open = type === "duckdb" ? openDuckdb : async (file: string) => openSqlite(file);
  const opened: DatabaseReader[] = [];
  try {
    for (const file of [path, gold.path]) opened.push(await open(file));
    const [a, b] = opened as [DatabaseReader, DatabaseReader];
    // SQLite has no schemas: there the origin's query fails.
    if (isTruthy(options.schema_name)) await selectSchema(a, b, String(options.schema_name));
    return Number(await areDatabasesEqual(a, b, options));
  } catch (error) {
    if (error instanceof CannotGrade) throw error;
    return 0;
  } finally {
    for (const database of opened) database.close();
  }
};

async function selectSchema(a: DatabaseReader, b: DatabaseReader, name: string): Promise<void> {
  const text = `'${name.replaceAll("'", "''")}'`;
  const found = await a.query(`SELECT schema_name FROM information_schema.schemata WHERE schema_name = ${text}`, 1);
  if (found.length === 0) throw new Error("no such schema");
  for (const database of [a, b]) await database.query(`SET schema = ${text}`, 1);
}

async function areDatabasesEqual(a: DatabaseReader, b: DatabaseReader, options: JsonObject): Promise<boolean> {
  const checks = isList(options.check_type) ? options.check_type : ["table", "view"];
  const names = new Map<string, readonly string[]>();
  for (const kind of ["table", "view"]) {
    if (!checks.some((check) => check === kind || check === `${kind}-schema` || check === `${kind}-schema-content`))
      continue;
    const targets = options[`${kind}_targets`];
    const [own, other] = [await listNames(a, kind, targets), await listNames(b, kind, targets)];
    if (!areRowsEqual(own, other)) return false;
    names.set(kind, own);
  }
  for (const [kind, list] of names) {
    const withRows = checks.includes(`${kind}-schema-content`);
    for (const name of list) {
      if (withRows || checks.includes(`${kind}-schema`)) {
        if (!(await haveEqualRows(a, b, `PRAGMA table_info(${name})`))) return false;
      }
    }
    for (const name of withRows ? list : []) if (!(await haveEqualRows(a, b, `SELECT * FROM ${name}`))) return false;
  }
  return true;
}

/** Names as they are: the origin does not quote them either, so that one which needs quotes is an error. */
async function listNames(database: DatabaseReader, kind: string, targets: JsonObject[string] | undefined) {
  const rows = await database.query(`SELECT name FROM sqlite_master WHERE type = '${kind}' ORDER BY name`, MAX_ROWS);
  const names = rows.map(([name]) => String(name));
  const wanted = isList(targets) && targets.length > 0 ? targets : null;
  return wanted === null ? names : names.filter((name) => wanted.includes(name));
}

/** The result is read to one row more than the gold has. */
async function haveEqualRows(a: DatabaseReader, b: DatabaseReader, sql: string): Promise<boolean> {
  const gold = await b.query(sql, MAX_ROWS);
  const rows = await a.query(sql, gold.length + 1);
  return rows.length === gold.length && rows.every((row, i) => areRowsEqual(row, gold[i] ?? []));
}
