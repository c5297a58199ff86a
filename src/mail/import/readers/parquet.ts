// Reads mail from Parquet files.
import { basename, dirname } from "node:path";
import {
  type AsyncBuffer,
  asyncBufferFromFile,
  type FileMetaData,
  parquetMetadataAsync,
  parquetReadObjects,
  type RowGroup,
} from "hyparquet";
import { parquetHeader } from "hyparquet/src/column.js";
import { compressors } from "hyparquet-compressors";
import { messageOf, UserError } from "../../../platform/errors.js";
import { compact } from "../../../platform/optional-values.js";
import { checkColumns, checkRowCount, rethrowParquetError } from "../../../platform/parquet-checks.js";
import { readMailFields } from "../../mime/email-fields.js";
import { parseEmail } from "../../mime/parse-email.js";
import type { ReadResult } from "./batch-mails.js";
import { type Columns, findColumns, findMessageColumn, isMailTable, readRow } from "./csv.js";
import { fileEmail, locateRow } from "./filed-email.js";
import { sourceFolders } from "./mailbox-layout.js";
import { BrokenSource, brokenSource } from "./source-errors.js";
import { cellText, TableReport } from "./table-cells.js";

/** Maximum number of rows in memory. A lower limit would read more pages twice, at the borders. */
const ROWS_PER_READ = 100_000;

const NO_MAIL = "No mail file looks like this. Pass another one.";

/** A Parquet file with a parsed footer. */
interface ParquetShard {
  readonly name: string;
  /** The file with its parent folders. */
  readonly place: string;
  readonly file: AsyncBuffer;
  readonly metadata: FileMetaData;
  readonly columns: Columns;
  /** Names of all columns. */
  readonly names: readonly string[];
  /** Column of raw emails, or null if the table has columns of parsed emails. */
  readonly messageColumn: string | null;
}

/** Returns the number of emails in a file. */
export async function countParquetRows(path: string): Promise<number> {
  return Number((await openParquetFile(path)).metadata.num_rows);
}

/** @throws UserError if the file is truncated or its mail columns are missing */
export async function openParquetFile(path: string, name = basename(path)): Promise<ParquetShard> {
  const place = [...sourceFolders(dirname(path)), basename(path)].join("/");
  return openShard(name, path, place, await asyncBufferFromFile(path));
}

/** Like `openParquetFile`, but for a file in memory. */
export async function openParquetBytes(name: string, place: string, bytes: Buffer): Promise<ParquetShard> {
  const { buffer, byteOffset, length } = bytes;
  const slice = (start: number, end = length) => buffer.slice(byteOffset + start, byteOffset + end) as ArrayBuffer;
  return openShard(name, name, place, { byteLength: length, slice });
}

async function openShard(name: string, where: string, place: string, file: AsyncBuffer): Promise<ParquetShard> {
  const metadata = await parquetMetadataAsync(file)
    .catch(rethrowParquetError)
    .catch((cause: unknown) => {
      throw new BrokenSource(
        where,
        `(${file.byteLength} bytes) is not a complete Parquet file: ${messageOf(cause)}`,
        "Download the file again. The footer is missing if the file was truncated.",
        cause,
      );
    });
  try {
    checkRowCount(Number(metadata.num_rows), file.byteLength);
  } catch (cause) {
    throw new BrokenSource(where, `cannot be read: ${(cause as Error).message}.`, NO_MAIL, cause);
  }
  const [root] = metadata.schema;
  const names = topLevelNames(metadata, root?.num_children ?? 0);
  const messageColumn = await rawMailColumn(file, metadata, names);
  const columns = findColumns(names);
  if (messageColumn === null && !isMailTable(columns)) {
    throw new UserError(
      "source_not_mail",
      `${where} does not contain mail: its columns are ${names.join(", ") || "none"}`,
      "A mail table requires at least the columns message_id, from (or sender) and body, or from, to, subject and body.",
    );
  }
  return { name, place, file, metadata, names, columns, messageColumn };
}

/**
 * Returns the column of raw emails, or null if the table has columns of parsed emails. If both are possible, the first
 * row decides.
 */
async function rawMailColumn(file: AsyncBuffer, metadata: FileMetaData, names: string[]): Promise<string | null> {
  const column = findMessageColumn(names);
  if (column === null) return null;
  const isParsed = isMailTable(findColumns(names));
  // A damaged page is reported when the rows are read.
  const read = parquetReadObjects({ file, metadata, compressors, columns: [column], rowEnd: 1, utf8: false });
  const [row] = await read.catch(() => []);
  if (row === undefined) return isParsed ? null : column;
  return typeof readMailFields(rawBytes(row[column])) === "string" ? null : column;
}

/** Returns the column names. The schema is a flat list, depth first, and only the root's children are table columns. */
function topLevelNames({ schema }: FileMetaData, count: number): string[] {
  const names: string[] = [];
  let at = 1;
  while (names.length < count && at < schema.length) {
    names.push(schema[at]?.name ?? "");
    for (let open = 1; open > 0 && at < schema.length; at++) open += (schema[at]?.num_children ?? 0) - 1;
  }
  return names;
}

/**
 * Reads the layout of `corbt/enron-emails` (strings, `to`, `cc`, `bcc` as lists, with `['']` for an empty one, and
 * `date` as a timestamp), or a column of raw emails.
 * @param onRead receives the average number of file bytes per row
 */
export async function* readParquet(
  shards: readonly ParquetShard[],
  onRead: (bytes: number) => void,
): AsyncGenerator<ReadResult> {
  for (const shard of shards) {
    const rows = Number(shard.metadata.num_rows);
    const report = new TableReport(shard.name, shard.names, shard.columns);
    let rowStart = 0;
    for (const group of shard.metadata.row_groups) {
      const rowEnd = rowStart + Number(group.num_rows);
      await checkGroup(shard, group);
      for (let row = rowStart; row < rowEnd; ) {
        for (const values of await readRows(shard, row, Math.min(rowEnd, row + ROWS_PER_READ))) {
          onRead(shard.file.byteLength / rows);
          const place = { where: `${shard.name} row ${++row}`, table: shard.place };
          yield shard.messageColumn === null
            ? readRow((column) => decoded(values[shard.columns.get(column) ?? ""], report), report, place, "parquet")
            : await readRawMail(values, shard, shard.messageColumn, place.where);
        }
      }
      rowStart = rowEnd;
    }
    if (shard.messageColumn === null) yield { table: report.result() };
  }
}

function readColumns({ columns, messageColumn }: ParquetShard): string[] {
  return compact([...columns.values(), messageColumn]);
}

async function checkGroup(shard: ParquetShard, { columns: chunks }: RowGroup): Promise<void> {
  try {
    await checkColumns(chunks, new Set(readColumns(shard)), shard.file, parquetHeader);
  } catch (error) {
    throw brokenSource(shard.name, "in one of its pages", error);
  }
}

async function readRows(shard: ParquetShard, rowStart: number, rowEnd: number): Promise<Record<string, unknown>[]> {
  const { file, metadata } = shard;
  const columns = readColumns(shard);
  try {
    const read = parquetReadObjects({ file, metadata, compressors, columns, rowStart, rowEnd, utf8: false });
    return await read.catch(rethrowParquetError);
  } catch (error) {
    throw brokenSource(shard.name, `between rows ${rowStart + 1} and ${rowEnd} of ${metadata.num_rows}`, error);
  }
}

async function readRawMail(
  row: Record<string, unknown>,
  { columns, place }: ParquetShard,
  messageColumn: string,
  where: string,
): Promise<ReadResult> {
  const email = await parseEmail(rawBytes(row[messageColumn]));
  if (typeof email === "string") return { bad: { where, reason: email } };
  return { email: fileEmail(email, locateRow(cellText(decoded(row[columns.get("path") ?? ""])), place), "parquet") };
}

/** Decodes the texts of a binary column, which can be in a list. */
function decoded(value: unknown, report = new TableReport("", [], new Map())): unknown {
  if (value instanceof Uint8Array) return report.decode(Buffer.from(value.buffer, value.byteOffset, value.length));
  return Array.isArray(value) && value.some((item) => item instanceof Uint8Array)
    ? value.map((item) => decoded(item, report))
    : value;
}

function rawBytes(value: unknown): Buffer {
  return value instanceof Uint8Array
    ? Buffer.from(value.buffer, value.byteOffset, value.length)
    : Buffer.from(cellText(value));
}
