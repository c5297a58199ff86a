import { existsSync, rmSync } from "node:fs";
import { type Finding, repairIndex } from "../mail/integrity.js";
import { commandLine } from "../platform/command-line.js";
import { UserError } from "../platform/errors.js";
import { replaceFile } from "../platform/files.js";
import { firstIssue } from "../platform/json.js";
import { DamagedRowError, parseColumn, type Shape } from "../store/damaged-row.js";
import type { Db } from "../store/database-file.js";
import { openStore } from "../store/open-store.js";
import {
  type DamagedFile,
  newTables,
  openDamaged,
  type Row,
  readableRows,
  type StoredTable,
} from "../store/salvage.js";
import { parseResult } from "../traces/results-store.js";
import { SETTINGS_SHAPE } from "../traces/runs-store.js";
import { taskResultSchema } from "../traces/task-result.js";
import { anyTraceSchema } from "../traces/trace.js";
import { parseTrace } from "../traces/traces-store.js";

/** Finds the damage in a database, table by table, and copies every readable row into a new database. */

/** Readable and damaged rows of one table. */
export interface TableDamage {
  readonly table: string;
  readonly readable: number;
  /** Number of rows that an index still lists but that cannot be read, or null if no index can be counted. */
  readonly lost: number | null;
  /** Keys of rows with a damaged value, each with its fault. These rows are not saved. */
  readonly badRows: readonly string[];
  /** Messages from SQLite's integrity check, and the error that stopped reading. Empty if the table is intact. */
  readonly faults: readonly string[];
}

export interface RecoveredTable extends TableDamage {
  /** Rows left out because the row they belong to is lost. */
  readonly orphans: number;
}

export interface Recovery {
  readonly target: string;
  /** The parts that had to be replaced before SQLite could open the file, or null. */
  readonly repaired: string | null;
  readonly tables: readonly RecoveredTable[];
  /** JSON Lines file with the traces of lost runs, or null. */
  readonly tracesFile: string | null;
}

type Statement = ReturnType<Db["prepare"]>;

/** The JSON columns of each table, with the shape that every reader expects. */
const JSON_COLUMNS: Readonly<Record<string, Readonly<Record<string, Shape | "array" | ((json: unknown) => unknown)>>>> =
  {
    agent_tools: { config: {} },
    agent_versions: { snapshot: { agent: "object", tools: "array" } },
    agents: { settings: {} },
    art_e_tasks: { message_ids: "array" },
    eval_tests: { report: { criterion: "string" } },
    evals: { definition: {} },
    mails: { recipients: "array" },
    results: { result: (json) => parseResult("", json) },
    runs: { settings: SETTINGS_SHAPE, limits: {} },
    suite_tasks: { task: { id: "string" } },
    tools: { parameters_schema: {}, handler_config: {} },
    traces: { trace: (json) => parseTrace("", json) },
  };

/** Columns of JSON_COLUMNS that can be NULL. */
const NULLABLE = new Set(["config", "limits"]);

/** Returns the fault in a row's JSON columns, or null. */
function rowFault(table: string, row: Row): string | null {
  for (const [column, shape] of Object.entries(JSON_COLUMNS[table] ?? {})) {
    const json = row[column];
    if (json === null && NULLABLE.has(column)) continue;
    try {
      if (typeof shape === "function") shape(json);
      else parseColumn(json, shape, { table, row: "", column });
    } catch (error) {
      if (!(error instanceof DamagedRowError)) throw error;
      return `column ${column}: ${error.reason}`;
    }
  }
  return null;
}

function keyOf({ key }: StoredTable, row: Row): string {
  // SQLite's row id means nothing to a user.
  const id = key[0] === "rowid" ? (row.id ?? row._key0) : key.map((_, i) => row[`_key${i}`]).join("/");
  return String(id);
}

/**
 * Examines each table. Takes as long as reading the file twice.
 * @throws UserError if no table can be read
 */
export function examineDatabase(path: string): TableDamage[] {
  const file = openDamaged(path, `${path}.examined`);
  try {
    return examineTables(file.db);
  } finally {
    file.close();
  }
}

function examineTables(db: Db): TableDamage[] {
  return newTables().map((table) => {
    const badRows: string[] = [];
    let readable = 0;
    const failure = forEachRow(db, table, (row) => {
      const fault = rowFault(table.name, row);
      if (fault === null) readable++;
      else badRows.push(`${keyOf(table, row)} (${fault})`);
    });
    const faults = [...new Set([...checkOf(db, table.name), ...messageOf(failure)])];
    return { table: table.name, readable, lost: lostRows(db, table, readable + badRows.length), badRows, faults };
  });
}

/** Calls `use` with each readable row. Returns the reason why reading ended early, or null. */
function forEachRow(db: Db, table: StoredTable, use: (row: Row) => void): Error | "missing" | null {
  const rows = readableRows(db, table);
  for (;;) {
    const next = rows.next();
    if (next.done === true) return next.value;
    use(next.value);
  }
}

function messageOf(failure: Error | "missing" | null): string[] {
  if (failure === null) return [];
  return [failure === "missing" ? "the table is missing" : failure.message];
}

const FAULTS_SHOWN = 3;

/**
 * Returns the first faults that SQLite's integrity check reports: https://sqlite.org/pragma.html#pragma_integrity_check
 */
function checkOf(db: Db, table: string): string[] {
  const faults: string[] = [];
  try {
    // Read line by line, because the check itself can fail after it has reported some faults.
    for (const line of db.prepare(`PRAGMA integrity_check('${table}')`).pluck().iterate() as Iterable<string>) {
      if (line !== "ok") faults.push(...line.split("\n").filter((part) => !part.startsWith("***")));
    }
  } catch (error) {
    if (faults.length === 0) faults.push((error as Error).message);
  }
  const more = faults.length > FAULTS_SHOWN ? [`and ${faults.length - FAULTS_SHOWN} more`] : [];
  return [...faults.slice(0, FAULTS_SHOWN), ...more];
}

function lostRows(db: Db, { name }: StoredTable, read: number): number | null {
  try {
    // SQLite counts the entries of the smallest index.
    const all = db.prepare(`SELECT count(*) FROM ${name}`).pluck().get() as number;
    return Math.max(0, all - read);
  } catch {
    return null;
  }
}

/** Checks that the values in an intact file are readable, as one of the checks for a healthy database. */
export function checkStoredValues(db: Db): Finding {
  const bad: string[] = [];
  for (const table of newTables()) {
    if (JSON_COLUMNS[table.name] === undefined) continue;
    // Emails make up most of the file, so SQLite reads only their one JSON column.
    const rows =
      table.name === "mails"
        ? (db
            .prepare("SELECT id AS _key0, id, recipients FROM mails WHERE NOT json_valid(recipients)")
            .iterate() as Iterable<Row>)
        : readableRows(db, table);
    for (const row of rows) {
      const fault = rowFault(table.name, row);
      if (fault !== null) bad.push(`table ${table.name}, row ${keyOf(table, row)}, ${fault}`);
    }
  }
  const faults =
    bad.length > FAULTS_SHOWN ? [...bad.slice(0, FAULTS_SHOWN), `and ${bad.length - FAULTS_SHOWN} more`] : bad;
  return {
    check: "Stored values",
    ok: bad.length === 0,
    detail: bad.length === 0 ? "all readable" : faults.join("; "),
  };
}

/** Returns the damage behind an unexpected error, or null if the file is intact and the error is a bug. */
export function describeDamage(path: string, cause: unknown): UserError | null {
  let file: DamagedFile;
  try {
    file = openDamaged(path, `${path}.examined`);
  } catch (error) {
    return error instanceof UserError ? error : null;
  }
  try {
    const faults: string[] = [];
    for (const table of newTables()) {
      faults.push(...checkOf(file.db, table.name).map((line) => `table ${table.name}: ${line}`));
      for (const row of readableRows(file.db, table)) {
        const fault = rowFault(table.name, row) ?? schemaFault(table.name, row);
        if (fault !== null) faults.push(`table ${table.name}, row ${keyOf(table, row)}, ${fault}`);
        if (faults.length > 0) break;
      }
      if (faults.length > 0) break;
    }
    if (faults.length === 0) return null;
    return new UserError("db_damaged", `The database ${path} is damaged: ${faults[0]}.`, damageHint(), 1, { cause });
  } finally {
    file.close();
  }
}

/** Changed bytes can also leave valid JSON that no longer matches its schema. */
function schemaFault(table: string, row: Row): string | null {
  if (table === "results") {
    const read = taskResultSchema.strip().safeParse(JSON.parse(String(row.result)));
    return read.success ? null : `column result: ${firstIssue(read.error)}`;
  }
  if (table !== "traces") return null;
  const trace = JSON.parse(String(row.trace));
  const read = anyTraceSchema.safeParse(trace);
  return read.success ? null : `column trace: ${firstIssue(read.error)}`;
}

function damageHint(): string {
  return `Run ${commandLine`art-e doctor`} for the extent, and ${commandLine`art-e doctor --recover NEW.db`} to save the readable rows.`;
}

/**
 * Copies every readable row into a new database and rebuilds its mail index. Does not change the damaged file.
 * @throws UserError if `target` exists, or nothing can be read
 */
export async function recoverDatabase(path: string, target: string): Promise<Recovery> {
  if (existsSync(target)) {
    throw new UserError("output_exists", `--recover: ${target} already exists.`, "Pass a new file.");
  }
  const file = openDamaged(path, `${target}.header`);
  try {
    const db = openStore(target, { mustExist: false });
    try {
      return await copyReadable(file, db, target);
    } catch (error) {
      db.close();
      for (const ending of ["", "-wal", "-shm"]) rmSync(target + ending, { force: true });
      throw error;
    } finally {
      db.close();
    }
  } finally {
    file.close();
  }
}

async function copyReadable(file: DamagedFile, db: Db, target: string): Promise<Recovery> {
  // Rows come in any order, so orphans are removed at the end.
  db.pragma("foreign_keys = OFF");
  const copied = newTables().map((table) => copyTable(file.db, db, table));
  addLostDatasets(db);
  const lines = tracesOfLostRuns(db);
  const tracesFile = lines.length === 0 ? null : `${target}.traces.jsonl`;
  if (tracesFile !== null) await replaceFile(tracesFile, lines);
  const orphans = removeOrphans(db);
  db.pragma("foreign_keys = ON");
  const mails = db.prepare("SELECT count(*) FROM mails").pluck().get() as number;
  if (mails > 0) repairIndex(db, () => {});
  const tables = copied.map((table) => ({ ...table, orphans: orphans.get(table.table) ?? 0 }));
  return { target, repaired: file.repaired, tables, tracesFile };
}

function copyTable(from: Db, to: Db, table: StoredTable): TableDamage {
  const badRows: string[] = [];
  let readable = 0;
  let insert: Statement | null = null;
  const copy = to.transaction(() =>
    forEachRow(from, table, (row) => {
      const columns = table.columns.filter((name) => name in row);
      insert ??= to.prepare(
        `INSERT OR REPLACE INTO ${table.name} (${columns.join(", ")}) VALUES (${columns.map(() => "?").join(", ")})`,
      );
      const fault = rowFault(table.name, row) ?? insertFault(insert, columns, row);
      if (fault === null) readable++;
      else badRows.push(`${keyOf(table, row)} (${fault})`);
    }),
  );
  const faults = messageOf(copy());
  return { table: table.name, readable, lost: lostRows(from, table, readable + badRows.length), badRows, faults };
}

/** Inserts a row. Returns the error if a damaged value violates a constraint of the table, or null. */
function insertFault(insert: Statement, columns: readonly string[], row: Row): string | null {
  try {
    insert.run(columns.map((name) => row[name]));
    return null;
  } catch (error) {
    if (!/^SQLITE_(CONSTRAINT|MISMATCH)/.test(String((error as { code?: unknown }).code))) throw error;
    return (error as Error).message;
  }
}

/** Adds a row without questions for each lost dataset, because runs refer to their dataset. */
function addLostDatasets(db: Db): void {
  db.exec(
    `INSERT INTO datasets (id, sha256)
     SELECT DISTINCT dataset_id, dataset_id FROM runs WHERE dataset_id NOT IN (SELECT id FROM datasets)`,
  );
}

/** Returns the traces of lost runs as lines for `art-e import-traces`, which turns them into runs again. */
function tracesOfLostRuns(db: Db): string[] {
  const traces = db
    .prepare("SELECT trace FROM traces WHERE run_id IS NOT NULL AND run_id NOT IN (SELECT id FROM runs)")
    .pluck()
    .all() as string[];
  return traces.map((trace) => `${trace}\n`);
}

/** Repeatedly deletes rows that refer to lost rows. Returns the number of deleted rows per table. */
function removeOrphans(db: Db): ReadonlyMap<string, number> {
  const removed = new Map<string, number>();
  for (let isChanged = true; isChanged; ) {
    isChanged = false;
    for (const { name } of newTables()) {
      for (const key of db.pragma(`foreign_key_list(${name})`) as {
        table: string;
        from: string;
        to: string | null;
      }[]) {
        const { changes } = db
          .prepare(
            `DELETE FROM ${name} WHERE ${key.from} IS NOT NULL
               AND ${key.from} NOT IN (SELECT ${key.to ?? "id"} FROM ${key.table})`,
          )
          .run();
        if (changes === 0) continue;
        removed.set(name, (removed.get(name) ?? 0) + changes);
        isChanged = true;
      }
    }
  }
  return removed;
}
