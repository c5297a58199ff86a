// Checks the output files of a command before any work, so that none destroys a database, an input or another output.
import { closeSync, openSync, readSync, statSync } from "node:fs";
import { extname } from "node:path";
import { shellWord } from "../platform/command-line.js";
import { UserError } from "../platform/errors.js";
import { statOf } from "../platform/file-stats.js";
import { checkWritable, isSameFile } from "../platform/files.js";
import { PARQUET_TABLE_KEY } from "./table-types.js";
import { QUESTIONS_TABLE } from "./tables.js";

/** A file that a command would write. `path` is undefined if it was not requested. */
export interface OutputFile {
  readonly flag: string;
  readonly path: string | undefined;
  readonly kind: OutputKind;
  /** Endings of its format, if the kind has several formats. */
  readonly endings?: readonly string[];
}

/** A file that a command reads. `name` appears in messages. */
export interface InputFile {
  readonly name: string;
  readonly path: string | null | undefined;
}

/** Name, file endings, and how to recognize the kind from the first bytes. */
const KINDS = {
  results: ["results file", [".json"], (start: string) => /^\s{0,9}\{\s{0,9}"runId"\s{0,9}:/.test(start)],
  traces: ["traces file", [".jsonl", ".eval"], isTraces],
  recording: ["recording", [".jsonl"], (start: string) => /^\{"(?:key|model|request)":/.test(start)],
  junit: ["JUnit file", [".xml"], (start: string) => start.includes("<testsuite")],
  agent: ["YAML agent file", [".yaml", ".yml"], (start: string) => /^id: [^\n]{1,200}\nname: /.test(start)],
  html: ["report page", [".html", ".htm"], (start: string) => start.includes("<title>ART-E report")],
  md: ["Markdown report", [".md", ".markdown"], (start: string) => start.startsWith("## ART-E")],
  csv: ["table of tasks", [".csv"], (start: string) => start.replace("\ufeff", "").startsWith("runId,agentId,")],
  labels: ["file of labels", [".jsonl"], (start: string) => start.startsWith('{"trace":')],
  config: ["config file", [".yaml", ".yml"], () => false],
  python: ["Python file", [".py"], () => false],
  questions: [
    "question file",
    [".jsonl", ".csv", ".parquet"],
    (start: string, end: () => string) =>
      /^\{"id":\d+,"question":|^id,question,answer,/.test(start) ||
      (start.startsWith("PAR1") && isQuestionsTable(end())),
  ],
  provenance: [
    "file about the origin of questions",
    [".jsonl"],
    (start: string) => /^\{"id":\d+,"made_by":/.test(start),
  ],
  "jsonl-table": [
    "table in JSON lines",
    [".jsonl"],
    (start: string) => start.startsWith('{"runId":') && TABLE_ROW.test(start),
  ],
  "parquet-table": [
    "table from art-e in Parquet",
    [".parquet"],
    (start: string, end: () => string) =>
      start.startsWith("PAR1") && end().includes(PARQUET_TABLE_KEY) && !isQuestionsTable(end()),
  ],
} as const satisfies Record<
  string,
  readonly [name: string, endings: readonly string[], is: (start: string, end: () => string) => boolean]
>;

const TABLE_ROW = /^\{"runId":"[^"]*","agentId":"[^"]*","model":"[^"]*",(?:"runName":(?:null|"[^"]*"),)?"taskId":/;

const TRACES = /^\{"(?:traceId|step_id|messages|schema_version|trajectories|resourceSpans|version":2,"status)":/;

type OutputKind = keyof typeof KINDS;

/** Returns the first of the kinds that has the ending of the file, or undefined if none has. */
export function kindOfEnding<T extends OutputKind>(path: string | undefined, kinds: readonly T[]): T | undefined {
  const ending = endingOf(path ?? "");
  return kinds.find((kind) => KINDS[kind][1].some((each) => each === ending));
}

function endingOf(path: string): string {
  return extname(path).toLowerCase();
}

/**
 * Rejects a file whose ending belongs to another format than the one that is written. A name without an ending can have
 * any content, and so can a pipe or a device.
 */
export function checkEnding(
  flag: string,
  path: string,
  kind: OutputKind,
  endings: readonly string[] = KINDS[kind][1],
): void {
  const ending = endingOf(path);
  if (ending === "" || endings.includes(ending) || statOf(path)?.isFile() === false) return;
  const name = path.slice(0, -ending.length);
  throw new UserError(
    "output_format_unknown",
    `${flag}: Cannot write a ${KINDS[kind][0]} to ${path}: expected a file that ends in ${endings.join(" or ")}.`,
    `Pass ${flag} ${shellWord(`${name}${endings[0]}`)}, or a name without an ending.`,
  );
}

/** Refuses a path that is a file, and a folder with files that must not be overwritten. */
export function checkOutputFolder(
  flag: string,
  folder: string,
  outputs: readonly Omit<OutputFile, "flag">[],
  inputs: readonly InputFile[],
  options: { readonly db: string; readonly overwrite: boolean },
): void {
  const stats = statOf(folder);
  if (stats === undefined) return;
  if (!stats.isDirectory())
    throw new UserError("output_unwritable", `${flag}: ${folder} is a file.`, "Choose a folder.");
  checkOutputs(
    outputs.map((output) => ({ flag, ...output })),
    inputs,
    options,
  );
}

/** Refuses outputs that cannot be written or would destroy another file, before any money is spent. */
export function checkOutputs(
  outputs: readonly OutputFile[],
  inputs: readonly InputFile[],
  { db, overwrite }: { readonly db: string; readonly overwrite: boolean },
): void {
  for (const [i, { flag, path, kind, endings }] of outputs.entries()) {
    if (path === undefined) continue;
    checkWritable(flag, path);
    const others = outputs.slice(0, i).map((other) => ({ name: `the file of ${other.flag}`, path: other.path }));
    refuseInputs({ flag, path }, [...inputs, ...others, { name: "the .env file", path: ".env" }], db);
    checkEnding(flag, path, kind, endings);
    if (!overwrite) checkKind(flag, path, kind);
  }
}

/** Refuses an output that is a database or an input of the command, even with --overwrite. */
export function refuseInputs(
  { flag, path }: { readonly flag: string; readonly path: string },
  inputs: readonly InputFile[],
  db: string,
): void {
  const files = [
    { name: "the database", path: db },
    ...["wal", "shm", "journal"].map((end) => ({ name: "part of the database", path: `${db}-${end}` })),
    ...inputs,
  ];
  const input = files.find((file) => typeof file.path === "string" && isSameFile(file.path, path));
  if (input === undefined && !isOfSqlite(path)) return;
  throw new UserError(
    "output_is_input",
    `${flag}: ${path} is ${input?.name ?? "a SQLite file"}, which would be overwritten.`,
    "Choose another file.",
  );
}

/** Returns the recording that a model's or judge's name specifies (`replay/FILE`, `art:replay/FILE`). */
export function replayFile(model: string | undefined): string | undefined {
  return /^(?:art:)?replay\/(.+)$/s.exec(model ?? "")?.[1];
}

/** Checks the metadata in the footer of a Parquet file. There are a few Thrift bytes between the key and its value. */
function isQuestionsTable(end: string): boolean {
  return new RegExp(`${PARQUET_TABLE_KEY}.{1,4}${QUESTIONS_TABLE}`, "s").test(end);
}

/** Recognizes every export format. */
function isTraces(start: string): boolean {
  return TRACES.test(start) || (start.startsWith("PK\x03\x04") && start.includes("_journal/start.json"));
}

const PART_BYTES = 1 << 16;

const SQLITE_MAGIC = "SQLite format 3\0";
/** Write-ahead log: https://sqlite.org/fileformat2.html#walformat */
const WAL_MAGIC = ["\x37\x7f\x06\x82", "\x37\x7f\x06\x83"];

/** Refuses to overwrite a file of another kind. */
function checkKind(flag: string, path: string, kind: OutputKind): void {
  const start = startOf(path);
  const [name, , is] = KINDS[kind];
  const end = () => partOf(path, Math.max(0, statSync(path).size - PART_BYTES));
  if (start === "" || is(Buffer.from(start, "latin1").toString("utf8"), end)) return;
  throw new UserError(
    "output_exists",
    `${flag}: ${path} exists and is not a ${name}.`,
    "Choose another file, or pass --overwrite to replace it.",
  );
}

/** Whether a file is a database, a write-ahead log, or a file next to a database with one of SQLite's suffixes. */
function isOfSqlite(path: string): boolean {
  const beside = /^(.+)-(?:wal|shm|journal)$/s.exec(path)?.[1];
  if (beside !== undefined && startOf(beside).startsWith(SQLITE_MAGIC)) return true;
  const start = startOf(path);
  return [SQLITE_MAGIC, ...WAL_MAGIC].some((magic) => start.startsWith(magic));
}

/** Returns the first bytes as latin1, or an empty string if the file is empty or not a regular file. */
function startOf(path: string): string {
  const stats = statOf(path);
  return stats === undefined || !stats.isFile() || stats.size === 0 ? "" : partOf(path, 0);
}

/** Returns the bytes from a position on, as latin1. */
function partOf(path: string, position: number): string {
  const file = openSync(path, "r");
  try {
    const bytes = Buffer.alloc(PART_BYTES);
    return bytes.subarray(0, readSync(file, bytes, 0, PART_BYTES, position)).toString("latin1");
  } finally {
    closeSync(file);
  }
}
