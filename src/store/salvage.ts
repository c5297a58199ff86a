import { closeSync, copyFileSync, existsSync, openSync, readSync, rmSync, statSync, writeSync } from "node:fs";
import { UserError } from "../platform/errors.js";
import { isReserved } from "../platform/reserved-files.js";
import { connect, type Db } from "./database-file.js";
import { openStore } from "./open-store.js";

/**
 * Reads the intact rows of a damaged database, and never writes to the file. Damage is local: SQLite reports it only
 * for the affected page, and rows on the other pages can still be reached in another order.
 */

/** A table that stores rows, with its columns in the file, or in a new database if the file has lost them. */
export interface StoredTable {
  readonly name: string;
  readonly columns: readonly string[];
  /** The columns that identify a row: `rowid`, or the primary key of a table without row ids. */
  readonly key: readonly string[];
}

/** An open connection to a damaged file or its repaired copy. `close` also deletes the copy. */
export interface DamagedFile {
  readonly db: Db;
  /** The part that was replaced so that SQLite could open the file, or null if nothing was. */
  readonly repaired: string | null;
  close(): void;
}

type Repair = (page: Buffer, fileBytes: number) => void;

export type Row = Readonly<Record<string, unknown>>;

/**
 * Opens a damaged file for reading. If SQLite refuses its first page, opens a copy at `copyPath` with a new header, or
 * with the first page of a new database, which has the same tables in the same places.
 * @throws UserError if neither works
 */
export function openDamaged(path: string, copyPath: string): DamagedFile {
  const errors: unknown[] = [];
  for (const { what, repair } of REPAIRS) {
    const file = repair === null ? path : copyPath;
    let db: Db | null = null;
    try {
      if (repair !== null) copyRepaired(path, copyPath, repair);
      db = connect(file, { readonly: true });
      if (countKnownTables(db) > 0) {
        const connection = db;
        return {
          db,
          repaired: what,
          close() {
            connection.close();
            if (repair !== null) removeCopy(copyPath);
          },
        };
      }
    } catch (error) {
      errors.push(error);
    }
    db?.close();
    if (repair !== null) removeCopy(copyPath);
  }
  const [first] = errors;
  throw new UserError(
    "db_unrecoverable",
    `Cannot read any table in ${path}: ${first instanceof Error ? first.message : "it has none of art-e's tables"}.`,
    "Restore it from a backup, or import the mail into another file with --db.",
    1,
    { cause: first },
  );
}

const REPAIRS: readonly { readonly what: string | null; readonly repair: Repair | null }[] = [
  { what: null, repair: null },
  { what: "the header", repair: repairHeader },
  { what: "the first page", repair: replaceFirstPage },
];

/** Page size of every database that art-e has written, in bytes (SQLite's default). */
const PAGE_BYTES = 4096;

/** Writes the header like SQLite: https://sqlite.org/fileformat2.html#the_database_header */
function repairHeader(page: Buffer, fileBytes: number): void {
  page.write("SQLite format 3\0", 0, "latin1");
  page.writeUInt16BE(PAGE_BYTES, 16);
  // Write and read version 2, so that an existing WAL next to the file is used.
  page.set([2, 2, 0, 64, 32, 32], 18);
  page.writeUInt32BE(Math.floor(fileBytes / PAGE_BYTES), 28);
  // No free pages: the list might be damaged, and reading does not need it.
  page.fill(0, 32, 40);
  page.writeUInt32BE(4, 44);
  page.fill(0, 52, 56);
  page.writeUInt32BE(1, 56);
  page.fill(0, 64, 68);
  // SQLite trusts the page count only if these two are equal.
  page.writeUInt32BE(page.readUInt32BE(24), 92);
}

function replaceFirstPage(page: Buffer, fileBytes: number): void {
  page.set(firstPageOfNewDatabase());
  repairHeader(page, fileBytes);
}

function firstPageOfNewDatabase(): Buffer {
  const db = openStore(":memory:", { mustExist: false });
  try {
    return db.serialize().subarray(0, PAGE_BYTES);
  } finally {
    db.close();
  }
}

function copyRepaired(path: string, copyPath: string, repair: Repair): void {
  if (isReserved(path)) throw new Error(`Cannot copy ${path} while SQLite has it open`);
  removeCopy(copyPath);
  copyFileSync(path, copyPath);
  if (existsSync(`${path}-wal`)) copyFileSync(`${path}-wal`, `${copyPath}-wal`);
  const file = openSync(copyPath, "r+");
  try {
    const page = Buffer.alloc(PAGE_BYTES);
    readSync(file, page, 0, PAGE_BYTES, 0);
    repair(page, statSync(copyPath).size);
    writeSync(file, page, 0, PAGE_BYTES, 0);
  } finally {
    closeSync(file);
  }
}

function removeCopy(copyPath: string): void {
  for (const ending of ["", "-wal", "-shm"]) rmSync(copyPath + ending, { force: true });
}

function countKnownTables(db: Db): number {
  const knownNames = new Set(newTables().map(({ name }) => name));
  const names = db.prepare("SELECT name FROM sqlite_schema WHERE type = 'table'").pluck().all() as string[];
  return names.filter((name) => knownNames.has(name)).length;
}

/** Tables that are rebuilt from the mail, or by the program itself. */
const DERIVED =
  /^(emails_fts|sqlite_|mail_order$|mail_bigrams$|mail_words|mailboxes$|addresses$|corpus_state$|migrations$)/;

let tablesOfNew: readonly StoredTable[] | null = null;

/** Returns the tables of a new database whose rows are worth saving. */
export function newTables(): readonly StoredTable[] {
  if (tablesOfNew !== null) return tablesOfNew;
  const db = openStore(":memory:", { mustExist: false });
  try {
    const list = db.pragma("table_list") as { schema: string; name: string; type: string; wr: 0 | 1 }[];
    tablesOfNew = list
      .filter(({ schema, name, type }) => schema === "main" && type === "table" && !DERIVED.test(name))
      .map(({ name, wr }) => {
        const columns = db.pragma(`table_info(${name})`) as { name: string; pk: number }[];
        const primary = columns.filter(({ pk }) => pk > 0).sort((a, b) => a.pk - b.pk);
        return {
          name,
          columns: columns.map((column) => column.name),
          key: wr === 1 ? primary.map((c) => c.name) : ["rowid"],
        };
      })
      .sort((a, b) => (a.name < b.name ? -1 : 1));
  } finally {
    db.close();
  }
  return tablesOfNew;
}

/** Failed reads per table after which the rest of a damaged part is abandoned. Ids can be millions apart. */
const MAX_FAILURES = 20_000;

/**
 * Yields every readable row of a table once, in no particular order. Reads forward until damage, then backward, then
 * bisects the gap, or searches it through the table's indexes.
 * @returns the first error, or null if the table is intact, or "missing" if the file does not have the table
 */
export function* readableRows(db: Db, table: StoredTable): Generator<Row, Error | "missing" | null> {
  let columns: string[];
  try {
    const present = new Set((db.pragma(`table_info(${table.name})`) as { name: string }[]).map(({ name }) => name));
    columns = table.columns.filter((name) => present.has(name));
  } catch (error) {
    return error as Error;
  }
  if (columns.length === 0) return "missing";
  const reader = new TableReader(db, table, columns);
  if (table.key[0] === "rowid") yield* reader.byRowid();
  else yield* reader.byKey();
  return reader.firstError;
}

class TableReader {
  firstError: Error | null = null;
  private failures = 0;
  private readonly select: string;

  constructor(
    private readonly db: Db,
    private readonly table: StoredTable,
    columns: readonly string[],
  ) {
    const key = table.key.map((name, i) => `${name} AS _key${i}`).join(", ");
    this.select = `SELECT ${key}, ${columns.join(", ")} FROM ${table.name} NOT INDEXED`;
  }

  *byRowid(): Generator<Row> {
    // Breadth first, so that the large readable parts come before a damaged part uses up the failure limit.
    const ranges: [bigint, bigint][] = [[-(2n ** 63n), 2n ** 63n - 1n]];
    for (let range = ranges.shift(); range !== undefined; range = ranges.shift()) {
      let [low, high] = range;
      const where = "WHERE rowid BETWEEN ? AND ? ORDER BY rowid";
      const up = yield* this.read(`${this.select} ${where}`, [low, high]);
      if (up.isComplete) continue;
      if (up.last !== null) low = (up.last[0] as bigint) + 1n;
      if (low > high) continue;
      const down = yield* this.read(`${this.select} ${where} DESC`, [low, high]);
      if (down.isComplete) continue;
      if (down.last !== null) high = (down.last[0] as bigint) - 1n;
      if (low >= high || this.failures > MAX_FAILURES) continue;
      const middle = low + (high - low) / 2n;
      ranges.push([low, middle], [middle + 1n, high]);
    }
  }

  *byKey(): Generator<Row> {
    const { key, name } = this.table;
    const seen = new Set<string>();
    const fresh = (row: Row) => {
      const id = JSON.stringify(key.map((_, i) => String(row[`_key${i}`])));
      if (seen.has(id)) return false;
      seen.add(id);
      return true;
    };
    const up = yield* this.read(`${this.select} ORDER BY ${key.join(", ")}`, [], fresh);
    if (up.isComplete) return;
    yield* this.read(`${this.select} ORDER BY ${key.map((column) => `${column} DESC`).join(", ")}`, [], fresh);
    // An index of a table without row ids contains the primary key.
    const match = key.map((column) => `${column} = ?`).join(" AND ");
    for (const index of this.indexes()) {
      for (const direction of ["ASC", "DESC"]) {
        const keys = `SELECT ${key.map((column, i) => `${column} AS _key${i}`).join(", ")} FROM ${name}
          INDEXED BY ${index.name} ORDER BY ${index.column} ${direction}`;
        const rows: Row[] = [...this.drain(keys)];
        for (const row of rows) {
          if (this.failures > MAX_FAILURES) return;
          if (seen.has(JSON.stringify(key.map((_, i) => String(row[`_key${i}`]))))) continue;
          const values = key.map((_, i) => row[`_key${i}`]);
          yield* this.read(`${this.select} WHERE ${match}`, values, fresh);
        }
      }
    }
  }

  private *drain(sql: string): Generator<Row> {
    const reading = this.read(sql, []);
    for (let next = reading.next(); next.done !== true; next = reading.next()) yield next.value;
  }

  private indexes(): { name: string; column: string }[] {
    try {
      const list = this.db.pragma(`index_list(${this.table.name})`) as {
        name: string;
        origin: string;
        partial: 0 | 1;
      }[];
      return list
        .filter(({ origin, partial }) => origin === "c" && partial === 0)
        .flatMap(({ name }) => {
          const [first] = this.db.pragma(`index_info(${name})`) as { name: string }[];
          return first === undefined ? [] : [{ name, column: first.name }];
        });
    } catch {
      return [];
    }
  }

  /** Yields rows until damage. `last` is the key of the last row. */
  private *read(
    sql: string,
    values: readonly unknown[],
    wanted: (row: Row) => boolean = () => true,
  ): Generator<Row, { readonly isComplete: boolean; readonly last: readonly unknown[] | null }> {
    let last: readonly unknown[] | null = null;
    try {
      for (const row of this.db
        .prepare(sql)
        .safeIntegers(true)
        .iterate(...values) as Iterable<Row>) {
        last = this.table.key.map((_, i) => row[`_key${i}`]);
        if (wanted(row)) yield row;
      }
      return { isComplete: true, last };
    } catch (error) {
      this.firstError ??= error as Error;
      this.failures++;
      return { isComplete: false, last };
    }
  }
}
