import { copyFileSync, readFileSync, truncateSync, writeFileSync } from "node:fs";
import { Database } from "../../../src/store/sqlite.js";
import { below } from "../../random.js";

/** Ways to damage a database file, each named after its damage. */

export interface Damage {
  readonly name: string;
  apply(file: string): void;
}

const PAGE = 4096;

interface Page {
  readonly object: string;
  readonly kind: string;
  readonly number: number;
}

/** The pages of each table and index: https://sqlite.org/dbstat.html */
function pagesOf(file: string): Page[] {
  const db = new Database(file);
  try {
    db.pragma("wal_checkpoint(TRUNCATE)");
    return db.prepare("SELECT name AS object, pagetype AS kind, pageno AS number FROM dbstat").all() as Page[];
  } finally {
    db.close();
  }
}

function overwrite(file: string, at: number, bytes: Uint8Array): void {
  const content = readFileSync(file);
  content.set(bytes, at);
  writeFileSync(file, content);
}

function execute(file: string, sql: string): void {
  const db = new Database(file);
  try {
    db.unsafeMode(true);
    db.pragma("foreign_keys = OFF");
    db.exec(sql);
  } finally {
    db.close();
  }
}

/** Offsets and values in the header: https://sqlite.org/fileformat2.html#the_database_header */
const HEADER: readonly (readonly [field: string, at: number, bytes: readonly number[]])[] = [
  ["magic string", 0, [0, 0, 0, 0]],
  ["page size", 16, [0x12, 0x34]],
  ["write version", 18, [9, 9]],
  ["reserved space", 20, [200]],
  ["payload fractions", 21, [1, 2, 3]],
  ["page count", 28, [0x7f, 0, 0, 0]],
  ["free list", 32, [0, 0, 0, 5, 0, 0, 0, 9]],
  ["schema format", 44, [0, 0, 0, 77]],
  ["text encoding", 56, [0, 0, 0, 9]],
  ["user version", 60, [0, 0, 0x0f, 0x0f]],
  ["application id", 68, [1, 2, 3, 4]],
];

/** Columns with JSON, and a value that each row could be found with. */
const JSON_COLUMNS: readonly (readonly [table: string, column: string])[] = [
  ["traces", "trace"],
  ["results", "result"],
  ["runs", "settings"],
  ["runs", "limits"],
  ["art_e_tasks", "message_ids"],
  ["agents", "settings"],
  ["agent_versions", "snapshot"],
  ["tools", "parameters_schema"],
  ["tools", "handler_config"],
  ["mails", "recipients"],
  ["evals", "definition"],
  ["eval_tests", "report"],
];

const BAD_JSON: readonly (readonly [name: string, sql: (column: string) => string])[] = [
  ["not JSON", () => "'not json'"],
  ["cut off", (column) => `substr(${column}, 1, length(${column}) / 2)`],
  ["an empty object", () => "'{}'"],
  ["null", () => "'null'"],
  ["a blob", () => "x'00ff7b'"],
  ["a changed property name", (column) => `replace(replace(${column}, '"usage"', '"usagf"'), '"role"', '"rolf"')`],
];

/** The possible damages of a file, which is read but not changed. */
export function damagesOf(file: string, random: () => number): Damage[] {
  const pages = pagesOf(file);
  const objects = [...new Set(pages.map(({ object }) => object))].filter((name) => !name.startsWith("sqlite_"));
  const size = readFileSync(file).length;
  const onPages = objects.flatMap((object): Damage[] => {
    const own = pages.filter((page) => page.object === object);
    const page = own[below(random, own.length)] ?? { number: 2 };
    const root = own[0] ?? page;
    const start = (page.number - 1) * PAGE;
    const at = below(random, PAGE - 64);
    return [
      { name: `zeroes in a page of ${object}`, apply: (path) => overwrite(path, start, Buffer.alloc(PAGE)) },
      {
        name: `zeroes in the root of ${object}`,
        apply: (path) => overwrite(path, (root.number - 1) * PAGE, Buffer.alloc(64)),
      },
      {
        name: `changed bytes in a page of ${object}`,
        apply: (path) =>
          overwrite(
            path,
            start + at,
            Uint8Array.from({ length: 64 }, () => below(random, 256)),
          ),
      },
    ];
  });
  const tables = objects.filter((name) => !/^idx_|_(data|idx|docsize|config|content)$/.test(name));
  return [
    ...[size / 2, 3 * PAGE, PAGE, 100, 10].map((bytes) => ({
      name: `truncated to ${Math.floor(bytes)} bytes`,
      apply: (path: string) => truncateSync(path, Math.floor(bytes)),
    })),
    { name: "zeroes in the first page", apply: (path) => overwrite(path, 0, Buffer.alloc(PAGE)) },
    { name: "zeroes in the schema", apply: (path) => overwrite(path, 100, Buffer.alloc(PAGE - 100)) },
    ...HEADER.map(([field, at, bytes]) => ({
      name: `a wrong ${field} in the header`,
      apply: (path: string) => overwrite(path, at, Uint8Array.from(bytes)),
    })),
    ...onPages,
    ...tables.map((table) => ({
      name: `no table ${table}`,
      apply: (path: string) => execute(path, `DROP TABLE IF EXISTS ${table}`),
    })),
    ...JSON_COLUMNS.flatMap(([table, column]) =>
      BAD_JSON.map(([what, sql]) => ({
        name: `${what} in a ${column} of ${table}`,
        apply: (path: string) =>
          execute(
            path,
            `UPDATE ${table} SET ${column} = ${sql(column)}
             WHERE ${column} = (SELECT ${column} FROM ${table} WHERE ${column} IS NOT NULL LIMIT 1 OFFSET 0)`,
          ),
      })),
    ),
  ];
}

export function copyDamaged(from: string, to: string, { apply }: Damage): void {
  copyFileSync(from, to);
  apply(to);
}
