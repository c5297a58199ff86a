// Spider2-V's evaluation function for SQLite databases.
import type { JsonObject } from "../../platform/json.js";
import { missingPackage } from "../../platform/optional-packages.js";
import { Database } from "../../store/sqlite.js";
import { isList, isNumeric, isTruthy } from "../formats/python-values.js";
import { CannotGrade, type MetricFunction, requireFile } from "./grading-function.js";

/** A value in a row, as the library returns it. */
type DatabaseValue = unknown;

/** A copy of a database file, opened for reading. */
interface DatabaseReader {
  /** Runs a query. Reads at most `limit` rows. */
  query(sql: string, limit: number): Promise<readonly (readonly DatabaseValue[])[]>;
  close(): void;
}

/** Opens a SQLite file. Integers are exact. */
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

/** Maximum time of a query in milliseconds. */
const TIMEOUT_MS = 60_000;

/**
 * Opens a DuckDB file. The library has 68 MB and is optional, so it is loaded only here. Views can refer to other files
 * and URLs, but reading them is disabled.
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

/** Compares rows like Python: numbers by value, and NaN equals nothing. */
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

const MAX_ROWS = 1_000_000;

/**
 * Spider2-V's `check_local_database`. By default it compares only the names of tables and views. `-schema` adds columns
 * and types, and `-schema-content` adds the rows in their stored order. Any error scores 0. The copies keep their file
 * names, because DuckDB views can contain them.
 */
export const checkLocalDatabase: MetricFunction = async (result, expected, options) => {
  const type = options.db_type ?? "duckdb";
  const gold = requireFile(expected, "the expected file");
  if (result === null) return 0;
  const { path } = requireFile(result, "the result");
  if (type !== "duckdb" && type !== "sqlite3") throw new Error(`unknown database type ${String(type)}`);
  const open = type === "duckdb" ? openDuckdb : async (file: string) => openSqlite(file);
  const databases: DatabaseReader[] = [];
  try {
    for (const file of [path, gold.path]) databases.push(await open(file));
    const [a, b] = databases as [DatabaseReader, DatabaseReader];
    // SQLite does not have schemas, so Spider2-V's query fails for it.
    if (isTruthy(options.schema_name)) await selectSchema(a, b, String(options.schema_name));
    return Number(await areDatabasesEqual(a, b, options));
  } catch (error) {
    if (error instanceof CannotGrade) throw error;
    return 0;
  } finally {
    for (const database of databases) database.close();
  }
};

async function selectSchema(a: DatabaseReader, b: DatabaseReader, name: string): Promise<void> {
  const text = `'${name.replaceAll("'", "''")}'`;
  const schemas = await a.query(`SELECT schema_name FROM information_schema.schemata WHERE schema_name = ${text}`, 1);
  if (schemas.length === 0) throw new Error("unknown schema");
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

/** Returns the names unquoted. As in Spider2-V, a name that needs quotes is therefore an error. */
async function listNames(database: DatabaseReader, kind: string, targets: JsonObject[string] | undefined) {
  const rows = await database.query(`SELECT name FROM sqlite_master WHERE type = '${kind}' ORDER BY name`, MAX_ROWS);
  const names = rows.map(([name]) => String(name));
  const selection = isList(targets) && targets.length > 0 ? targets : null;
  return selection === null ? names : names.filter((name) => selection.includes(name));
}

/** Compares rows. Reads at most one more row from the result than the gold database has. */
async function haveEqualRows(a: DatabaseReader, b: DatabaseReader, sql: string): Promise<boolean> {
  const gold = await b.query(sql, MAX_ROWS);
  const rows = await a.query(sql, gold.length + 1);
  return rows.length === gold.length && rows.every((row, i) => areRowsEqual(row, gold[i] ?? []));
}
