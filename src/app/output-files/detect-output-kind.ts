import { closeSync, openSync, readSync, statSync } from "node:fs";
import { UserError } from "../../domain/errors.js";
import { QUESTIONS_TABLE } from "../../exports/tables/questions-table.js";
import { PARQUET_TABLE_KEY } from "../../exports/tables/table.js";

/** How each kind of output file is recognised by its first bytes. */
const KINDS = {
  results: ["results file", (start: string) => /^\s{0,9}\{\s{0,9}"runId"\s{0,9}:/.test(start)],
  traces: ["traces file", isTraces],
  recording: ["recording", (start: string) => /^\{"(?:key|model|request)":/.test(start)],
  junit: ["JUnit file", (start: string) => start.includes("<testsuite")],
  agent: ["YAML file of an agent", (start: string) => /^id: [^\n]{1,200}\nname: /.test(start)],
  html: ["report page", (start: string) => start.includes("<title>ART-E report")],
  md: ["report in Markdown", (start: string) => start.startsWith("## ART-E")],
  csv: ["table of tasks", (start: string) => start.replace("\ufeff", "").startsWith("runId,agentId,")],
  questions: [
    "file of questions",
    (start: string, end: () => string) =>
      /^\{"id":\d+,"question":|^id,question,answer,/.test(start) ||
      (start.startsWith("PAR1") && isQuestionsTable(end())),
  ],
  provenance: ["file of how questions were made", (start: string) => /^\{"id":\d+,"made_by":/.test(start)],
  "jsonl-table": ["table in JSON lines", (start: string) => start.startsWith('{"runId":') && TABLE_ROW.test(start)],
  "parquet-table": [
    "table of art-e in Parquet",
    (start: string, end: () => string) =>
      start.startsWith("PAR1") && end().includes(PARQUET_TABLE_KEY) && !isQuestionsTable(end()),
  ],
} as const satisfies Record<string, readonly [name: string, is: (start: string, end: () => string) => boolean]>;

const TABLE_ROW = /^\{"runId":"[^"]*","agentId":"[^"]*","model":"[^"]*",(?:"runName":(?:null|"[^"]*"),)?"taskId":/;

const TRACES = /^\{"(?:traceId|step_id|messages|schema_version|trajectories|resourceSpans|version":2,"status)":/;

/** By the metadata in the footer of a Parquet file: some bytes of Thrift stand between the key and its value. */
function isQuestionsTable(end: string): boolean {
  return new RegExp(`${PARQUET_TABLE_KEY}.{1,4}${QUESTIONS_TABLE}`, "s").test(end);
}

/** In any of the formats of exports. */
function isTraces(start: string): boolean {
  return TRACES.test(start) || (start.startsWith("PK\x03\x04") && start.includes("_journal/start.json"));
}

export type OutputKind = keyof typeof KINDS;

const PART_BYTES = 1 << 16;

const SQLITE_MAGIC = "SQLite format 3\0";
/** Of a write-ahead log: sqlite.org/fileformat2.html#walformat. */
const WAL_MAGIC = ["\x37\x7f\x06\x82", "\x37\x7f\x06\x83"];

/** Refuses to overwrite a file of another kind. */
export function checkKind(flag: string, path: string, kind: OutputKind): void {
  const start = startOf(path);
  const [name, is] = KINDS[kind];
  const end = () => partOf(path, Math.max(0, statSync(path).size - PART_BYTES));
  if (start === "" || is(Buffer.from(start, "latin1").toString("utf8"), end)) return;
  throw new UserError(
    "output_exists",
    `${flag}: ${path} exists and is not a ${name}.`,
    "Name another file, or add --overwrite to lose what is in it.",
  );
}

/** A database, a write-ahead log, or a file beside a database with one of SQLite's suffixes. */
export function isOfSqlite(path: string): boolean {
  const beside = /^(.+)-(?:wal|shm|journal)$/s.exec(path)?.[1];
  if (beside !== undefined && startOf(beside).startsWith(SQLITE_MAGIC)) return true;
  const start = startOf(path);
  return [SQLITE_MAGIC, ...WAL_MAGIC].some((magic) => start.startsWith(magic));
}

/** The first bytes as latin1; empty where there is no regular file or it is empty. */
function startOf(path: string): string {
  const stats = statSync(path, { throwIfNoEntry: false });
  return stats === undefined || !stats.isFile() || stats.size === 0 ? "" : partOf(path, 0);
}

/** Bytes from a position on, as latin1. */
function partOf(path: string, position: number): string {
  const file = openSync(path, "r");
  try {
    const bytes = Buffer.alloc(PART_BYTES);
    return bytes.subarray(0, readSync(file, bytes, 0, PART_BYTES, position)).toString("latin1");
  } finally {
    closeSync(file);
  }
}
