// Reads and validates question files in Parquet, CSV, JSON and JSON Lines.
import { readFile } from "node:fs/promises";
import { basename, extname, resolve } from "node:path";
import type { FileMetaData } from "hyparquet";
import { z } from "zod";
import { chunk, yieldBetween } from "../../platform/batches.js";
import { unescapeFormula } from "../../platform/csv.js";
import { messageOf, reasonOf, UserError } from "../../platform/errors.js";
import { decodeUtf8, requireRegularFile } from "../../platform/files.js";
import { parseJsonOrNull } from "../../platform/json.js";
import { checkColumns, checkRowCount, rethrowParquetError } from "../../platform/parquet-checks.js";
import { sha256Of } from "../../platform/sha256.js";
import { type Question, type QuestionSet, questionSchema, type Split } from "../../tasks/question.js";

interface QuestionRows {
  readonly rows: readonly RawRow[];
  /** The line of each row in a JSON Lines file, byte for byte, or null for other formats. */
  readonly lines: readonly string[] | null;
}

interface ValidateRequest {
  readonly name: string;
  /** The requested split, or undefined. */
  readonly wanted: Split | undefined;
  /** The split of rows that do not specify one. */
  readonly unmarked: Split;
}

/** A row before validation. */
interface RawRow {
  /** The row's position in the file, counted from 1, as shown in messages: `row 3`, `line 12`. */
  readonly where: string;
  readonly value: unknown;
}

type QuestionFormat = "parquet" | "csv" | "json" | "jsonl";

const COLUMNS: ReadonlySet<string> = new Set(Object.keys(questionSchema.shape));

/**
 * Returns the question columns of a Parquet file. Safe 64-bit integers become numbers, and timestamps become ISO 8601
 * strings.
 * @throws Error if the file is damaged or hyparquet does not support it
 */
export async function parquetRows(bytes: Uint8Array): Promise<RawRow[]> {
  const { parquetMetadataAsync, parquetReadObjects, parquetSchema } = await import("hyparquet");
  const { compressors } = await import("hyparquet-compressors");
  const file = new Uint8Array(bytes).buffer;
  const metadata = await parquetMetadataAsync(file).catch(rethrowParquetError);
  await checkSize(file, metadata);
  const columns = parquetSchema(metadata)
    .children.map((child) => child.element.name)
    .filter((name) => COLUMNS.has(name));
  if (columns.length === 0) return Array.from({ length: Number(metadata.num_rows) }, (_, i) => rawRow({}, i));
  const rows = await parquetReadObjects({ file, metadata, columns, compressors }).catch(rethrowParquetError);
  return rows.map(rawRow);
}

/** Maximum number of rows, to limit the memory that questions take. */
const MAX_ROWS = 1_000_000;

function refuseTooManyRows(rows: number): void {
  if (rows > MAX_ROWS) throw new Error(`it has ${rows.toLocaleString("en")} rows (maximum ${MAX_ROWS})`);
}

async function checkSize(file: ArrayBuffer, { num_rows, row_groups }: FileMetaData): Promise<void> {
  const { parquetHeader } = await import("hyparquet/src/column.js");
  const rows = Number(num_rows);
  checkRowCount(rows, file.byteLength);
  refuseTooManyRows(rows);
  const chunks = row_groups.flatMap(({ columns }) => columns);
  await checkColumns(chunks, COLUMNS, file, parquetHeader);
}

function rawRow(row: Record<string, unknown>, index: number): RawRow {
  const value = Object.fromEntries(Object.entries(row).map(([name, cell]) => [name, toJsonValue(cell)]));
  return { where: `row ${index + 1}`, value };
}

function toJsonValue(cell: unknown): unknown {
  // Larger integers stay bigints, which validation rejects with the field name.
  if (typeof cell === "bigint" && Number.isSafeInteger(Number(cell))) return Number(cell);
  if (cell instanceof Date) return cell.toISOString();
  return cell;
}

const FORMS = "Pass a Parquet, CSV, JSON or JSONL file with the columns of corbt/enron_emails_sample_questions.";

/**
 * Returns the questions of one split of a file. Rows without a split belong to the split that the file's name contains,
 * otherwise to `wanted`.
 * @param wanted the requested split, or undefined for the file's only split, or `test` if the file has both
 * @throws UserError that names the file and the first bad row
 */
export async function loadQuestionFile(
  path: string,
  wanted: Split | undefined,
  signal: AbortSignal,
): Promise<QuestionSet> {
  const bytes = await readQuestionFile(path);
  signal.throwIfAborted();
  const { rows } = await readRows(path, bytes);
  const unmarked = splitInName(path) ?? wanted ?? DEFAULT_SPLIT;
  const checked = await validateQuestions(rows, { name: path, wanted, unmarked }, signal);
  return { source: resolve(path), revision: null, sha256: sha256Of(bytes), ...checked };
}

export async function readQuestionFile(path: string): Promise<Buffer> {
  try {
    requireRegularFile(path);
    return await readFile(path);
  } catch (cause) {
    const code = cause instanceof Error && "code" in cause ? String(cause.code) : "";
    const [reason, hint] = OPEN_FAILURES[code] ?? [reasonOf(cause), "Pass another file."];
    throw unreadable(path, reason, { cause, hint });
  }
}

/** Reasons and hints per error code, for files that cannot be opened. */
const OPEN_FAILURES: Readonly<Record<string, readonly [reason: string, hint: string]>> = {
  ENOENT: ["no such file", "Check the path."],
  ENOTDIR: ["no such file", "Check the path."],
  EISDIR: ["it is a folder, not a file", "Pass the path of a file."],
  EACCES: ["permission denied", "Make the file and its folder readable, or pass another file."],
  EPERM: ["permission denied", "Make the file and its folder readable, or pass another file."],
};

/** Returns the rows of a question file in any supported format. Throws a UserError that names the file. */
export async function readRows(path: string, bytes: Buffer): Promise<QuestionRows> {
  const text = decodeUtf8(bytes);
  const format = detectQuestionFormat(path, bytes, text);
  if (format === null || (text === null && format !== "parquet"))
    throw unreadable(path, explainUnknownFormat(path, text));
  try {
    if (format === "parquet") return { rows: await parquetRows(bytes), lines: null };
    if (format === "csv") return { rows: await csvRows(text ?? ""), lines: null };
    if (format === "jsonl") {
      const rows = jsonLinesRows(text ?? "");
      refuseTooManyRows(rows.length);
      return { rows, lines: (text ?? "").split("\n").filter((line) => line.trim() !== "") };
    }
    const rows = jsonRows(JSON.parse(text ?? ""));
    refuseTooManyRows(rows?.length ?? 0);
    if (rows !== null) return { rows, lines: null };
  } catch (cause) {
    throw unreadable(path, messageOf(cause), { cause });
  }
  throw unreadable(path, "expected a JSON array of questions or {rows: [...]}");
}

function unreadable(
  path: string,
  reason: string,
  { cause, hint = FORMS }: { readonly cause?: unknown; readonly hint?: string } = {},
): UserError {
  const message = `Cannot read questions from ${path}: ${reason}`;
  return new UserError("questions_unreadable", message, hint, undefined, { cause });
}

function explainUnknownFormat(path: string, text: string | null): string {
  if (text?.startsWith("version https://git-lfs.github.com/spec/")) {
    return "it is a Git LFS pointer, not the file itself (run `git lfs pull` in its repository)";
  }
  if (text?.trim() === "") return "it is empty";
  if (extname(path).toLowerCase() === ".parquet") return "it is not a Parquet file despite its extension";
  return text === null ? "it is neither Parquet nor UTF-8 text" : "it is neither Parquet, CSV, JSON nor JSONL";
}

/**
 * Finds the split in a file name: `test-00000-of-00001.parquet`, `my_train.csv`, but not `latest.csv`. Returns null if
 * it contains neither or both.
 */
function splitInName(path: string): Split | null {
  const words = basename(path)
    .toLowerCase()
    .split(/[^a-z]+/);
  const [train, test] = [words.includes("train"), words.includes("test")];
  if (train === test) return null;
  return train ? "train" : "test";
}

/**
 * Returns the rows of a CSV file with a header (RFC 4180, https://www.rfc-editor.org/rfc/rfc4180). Parses numbers.
 * Empty number and split cells count as missing. Removes the apostrophe that protects spreadsheets from formulas.
 * @throws Error from csv-parse that names the line
 */
async function csvRows(text: string): Promise<RawRow[]> {
  const { parse } = await import("csv-parse/sync");
  const records: Record<string, string>[] = parse(text, { columns: true, bom: true, skip_empty_lines: true });
  return records.map((record, i) => ({
    where: `row ${i + 1}`,
    value: {
      ...Object.fromEntries(Object.entries(record).map(([name, cell]) => [name, unescapeFormula(cell)])),
      id: parseNumber(record.id),
      how_realistic: parseNumber(record.how_realistic),
      message_ids: record.message_ids === undefined ? undefined : splitMessageIds(record.message_ids),
      split: record.split?.trim() || undefined,
    },
  }));
}

/** Other text stays a string, which validation then rejects. */
function parseNumber(cell: string | undefined): number | string | undefined {
  if (cell === undefined || cell.trim() === "") return undefined;
  const number = Number(cell);
  return Number.isNaN(number) ? cell : number;
}

/** The split of a dataset that has both, if the user does not request one. */
export const DEFAULT_SPLIT: Split = "test";

/**
 * Validates raw rows and selects a split. One bad row causes the whole dataset to be rejected, because a subset of the
 * questions would be a different benchmark.
 * @throws UserError for an empty dataset, bad rows, a missing split or duplicate ids
 */
export async function validateQuestions(
  rows: readonly RawRow[],
  { name, wanted, unmarked }: ValidateRequest,
  signal: AbortSignal,
): Promise<{ split: Split; questions: readonly Question[] }> {
  const all = await checkRows(rows, { name, unmarked }, signal);
  const [first, second] = new Set(all.map(({ split = unmarked }) => split));
  const split = wanted ?? (second === undefined ? (first ?? unmarked) : DEFAULT_SPLIT);
  const questions = all.filter((question) => question.split === split);
  // A trainer that requests training questions must never receive test questions.
  if (questions.length === 0) {
    throw new UserError(
      "split_missing",
      `Cannot use the ${split} split of ${name}: all ${all.length} questions belong to the ${first} split.`,
      `Pass --split ${first} or another file.`,
    );
  }
  checkUniqueIds(questions, name);
  return { split, questions };
}

/** Validation stops after this many bad rows. */
const MAX_BAD_ROWS = 100;

/** Number of rows validated before the signal is checked again. */
const ROWS_PER_TURN = 2_000;

export async function checkRows(
  rows: readonly RawRow[],
  { name, unmarked }: { readonly name: string; readonly unmarked?: Split },
  signal: AbortSignal,
): Promise<readonly Question[]> {
  if (rows.length === 0) {
    throw new UserError("questions_empty", `${name} does not contain questions`, "Pass a file with at least one row.");
  }
  const questions: Question[] = [];
  let firstProblem: string | null = null;
  let bad = 0;
  for await (const some of yieldBetween(chunk(rows, ROWS_PER_TURN))) {
    signal.throwIfAborted();
    for (const { where, value } of some) {
      if (bad === MAX_BAD_ROWS) break;
      const row = normalizeRow(value, unmarked);
      const parsed = questionSchema.safeParse(row);
      if (parsed.success) {
        questions.push(parsed.data);
        continue;
      }
      const [issue] = parsed.error.issues;
      firstProblem ??= `${where}, ${describe(issue?.path ?? [], issue?.message ?? "", row)}`;
      bad++;
    }
    if (bad === MAX_BAD_ROWS) break;
  }
  if (firstProblem === null) return questions;
  const counted = bad === MAX_BAD_ROWS ? `at least ${bad}` : `${bad}`;
  throw new UserError(
    "question_rows_bad",
    `${name}: ${firstProblem} (${counted} of ${rows.length} rows ${bad === 1 ? "is" : "are"} invalid)`,
    "Every row needs id, question, answer, message_ids, how_realistic (0 to 1), inbox_address and query_date (YYYY-MM-DD).",
  );
}

function describe(path: readonly PropertyKey[], message: string, row: unknown): string {
  const [field] = path;
  if (field === undefined) return message;
  const missing = typeof row === "object" && row !== null && (row as Record<PropertyKey, unknown>)[field] === undefined;
  return missing ? `field "${String(field)}" is missing` : `field "${path.map(String).join(".")}": ${message}`;
}

/** Removes the differences between the published forms of the dataset. */
function normalizeRow(value: unknown, unmarked: Split | undefined): unknown {
  if (typeof value !== "object" || value === null || Array.isArray(value)) return value;
  const row: Record<string, unknown> = { ...value };
  // A float32 of 0.7 is read as 0.699999988079071. A float32 is exact to six digits.
  if (typeof row.how_realistic === "number") row.how_realistic = Number(row.how_realistic.toPrecision(6));
  // Both splits of the dataset contain [''] for some empty lists.
  if (Array.isArray(row.message_ids)) row.message_ids = row.message_ids.filter((id) => id !== "");
  row.split ??= unmarked;
  // Tables contain them as JSON text, and null or nothing for questions.
  for (const column of ["goal", "drafts", "select"]) {
    const cell = row[column];
    if (cell === null || cell === undefined || cell === "") delete row[column];
    else if (typeof cell === "string") row[column] = parseJsonOrNull(cell) ?? cell;
  }
  return row;
}

export function checkUniqueIds(questions: readonly Question[], name: string): void {
  const seen = new Set<number>();
  const repeated = new Set<number>();
  for (const { id } of questions) (seen.has(id) ? repeated : seen).add(id);
  if (repeated.size === 0) return;
  const examples = [...repeated].slice(0, 10).join(", ");
  throw new UserError(
    "question_ids_repeated",
    `${name}: duplicate ids ${examples}${repeated.size > 10 ? ` and ${repeated.size - 10} more` : ""}`,
    "Results are stored by id. Give every question a unique id.",
  );
}

/**
 * Splits a CSV cell into Message-IDs. The cell can be a JSON array, a Python list (`['<a>', '<b>']`), a NumPy array
 * (`['<a>' '<b>']`), or separated by commas or spaces. Other text is returned unchanged.
 */
export function splitMessageIds(cell: string): string[] | string {
  const text = cell.trim();
  const fromJson = jsonStrings(text);
  if (fromJson !== null) return fromJson;
  const bracketed = text.match(/<[^<>]+>/g);
  if (bracketed !== null) {
    const between = text.replace(/<[^<>]+>/g, "");
    return /^[\s,;'"[\]]*$/.test(between) ? bracketed : cell;
  }
  // Ids without angle brackets.
  const words = text.replace(/^\[|\]$/g, "").split(/[\s,;]+/);
  return words.map((word) => word.replace(/^['"]|['"]$/g, "")).filter((word) => word !== "");
}

const stringsSchema = z.array(z.string());

function jsonStrings(text: string): string[] | null {
  return text.startsWith("[") ? (stringsSchema.safeParse(parseJsonOrNull(text)).data ?? null) : null;
}

/** Returns the rows of a JSON array or of a rows API response, `{rows:[{row_idx, row}]}`, or null for anything else. */
function jsonRows(document: unknown): RawRow[] | null {
  const list: unknown[] | null = Array.isArray(document) ? document : hasRows(document) ? document.rows : null;
  return list?.map((item: unknown, i) => ({ where: `row ${i + 1}`, value: isWrapped(item) ? item.row : item })) ?? null;
}

/**
 * Returns the rows in a JSON Lines text. Skips empty lines.
 * @throws SyntaxError that names the line
 */
export function jsonLinesRows(text: string): RawRow[] {
  return text.split("\n").flatMap((line, i) => {
    if (line.trim() === "") return [];
    const where = `line ${i + 1}`;
    try {
      return [{ where, value: JSON.parse(line) as unknown }];
    } catch (cause) {
      throw new SyntaxError(`${where} is not JSON: ${cause instanceof Error ? cause.message : cause}`, { cause });
    }
  });
}

function hasRows(document: unknown): document is { rows: unknown[] } {
  return typeof document === "object" && document !== null && "rows" in document && Array.isArray(document.rows);
}

function isWrapped(item: unknown): item is { row: unknown } {
  return typeof item === "object" && item !== null && "row" in item && "row_idx" in item;
}

/**
 * Detects the format of a question file from its content, and from its extension if the content is ambiguous.
 * @param text null if the content is not UTF-8
 * @returns null for an unknown format
 */
function detectQuestionFormat(path: string, bytes: Uint8Array, text: string | null): QuestionFormat | null {
  if (Buffer.from(bytes.subarray(0, 4)).toString("latin1") === "PAR1") return "parquet";
  if (text === null) return null;
  const extension = extname(path).toLowerCase();
  if (/^\s*\[/.test(text)) return "json";
  if (/^\s*\{/.test(text)) return jsonOrLines(text, extension);
  const header = text.trimStart().split("\n", 1)[0] ?? "";
  return extension === ".csv" || header.includes("question") ? "csv" : null;
}

/** Returns `jsonl` if the first line is an object, unless it is the only line and contains all the rows. */
function jsonOrLines(text: string, extension: string): QuestionFormat {
  const lines = text.split("\n").filter((line) => line.trim() !== "");
  const first = parseJsonOrNull(lines[0] ?? "");
  if (first === null) return extension === ".jsonl" ? "jsonl" : "json";
  if (lines.length > 1) return "jsonl";
  return typeof first === "object" && "rows" in first ? "json" : "jsonl";
}
