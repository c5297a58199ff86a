import { stat } from "node:fs/promises";
import { basename } from "node:path";
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
import { UserError } from "../../platform/errors.js";
import { checkPages, checkRowCount } from "../../platform/parquet-checks.js";
import type { CorpusSource } from "../email.js";
import { dateOfEpoch, isoSeconds, parseTableDate } from "../mail-date.js";
import { buildEmailFromRow } from "../mime.js";
import { batchMails, brokenSource, fileEmail, locateMail, type ReadResult } from "./batches.js";
import { type Columns, type MailColumn, mailColumns } from "./csv.js";

/** Rows in memory at once. Fewer would read more pages twice, at the borders. */
const ROWS_PER_READ = 100_000;

const NO_MAIL = "No file of mail is like that; name another.";

interface Shard {
  readonly name: string;
  readonly file: AsyncBuffer;
  readonly metadata: FileMetaData;
  readonly columns: Columns;
}

/**
 * The layout of `corbt/enron-emails` in one or more files: strings, `to`, `cc`, `bcc` as lists (`['']` is an empty
 * one), `date` a timestamp. All footers are read first, to detect a truncated shard before any mail is read.
 */
export async function openParquet(paths: readonly string[]): Promise<CorpusSource> {
  const shards: Shard[] = [];
  for (const path of paths) shards.push(await openShard(path));
  return {
    format: "parquet",
    totalBytes: shards.reduce((sum, { file }) => sum + file.byteLength, 0),
    batches(signal) {
      const progress = { bytes: 0 };
      return batchMails(readShards(shards, progress), () => Math.round(progress.bytes), signal);
    },
  };
}

/** How many mails a file holds. */
export async function countParquetRows(path: string): Promise<number> {
  return Number((await openShard(path)).metadata.num_rows);
}

async function openShard(path: string): Promise<Shard> {
  const name = basename(path);
  const { size } = await stat(path);
  const file = await asyncBufferFromFile(path);
  const metadata = await parquetMetadataAsync(file).catch((cause: unknown) => {
    throw new UserError(
      "broken_source",
      `${path} (${size} bytes) is not a whole Parquet file: ${cause instanceof Error ? cause.message : String(cause)}`,
      "Fetch the file again; a cut-off Parquet file has lost its table of contents.",
      undefined,
      { cause },
    );
  });
  try {
    checkRowCount(Number(metadata.num_rows), size);
  } catch (cause) {
    throw new UserError("broken_source", `${path} cannot be read: ${(cause as Error).message}.`, NO_MAIL, undefined, {
      cause,
    });
  }
  const [root] = metadata.schema;
  return { name, file, metadata, columns: mailColumns(topLevelNames(metadata, root?.num_children ?? 0), path) };
}

/** The schema is a flat list, depth first; only the children of the root are columns of the table. */
function topLevelNames({ schema }: FileMetaData, count: number): string[] {
  const names: string[] = [];
  let at = 1;
  while (names.length < count && at < schema.length) {
    names.push(schema[at]?.name ?? "");
    for (let open = 1; open > 0 && at < schema.length; at++) open += (schema[at]?.num_children ?? 0) - 1;
  }
  return names;
}

async function* readShards(shards: readonly Shard[], progress: { bytes: number }): AsyncGenerator<ReadResult> {
  for (const shard of shards) {
    const rows = Number(shard.metadata.num_rows);
    let rowStart = 0;
    for (const group of shard.metadata.row_groups) {
      const rowEnd = rowStart + Number(group.num_rows);
      await checkGroup(shard, group);
      for (let row = rowStart; row < rowEnd; ) {
        for (const values of await readRows(shard, row, Math.min(rowEnd, row + ROWS_PER_READ))) {
          progress.bytes += shard.file.byteLength / rows;
          yield readMail(values, shard.columns, `${shard.name} row ${++row}`);
        }
      }
      rowStart = rowEnd;
    }
  }
}

async function checkGroup({ name, file, columns }: Shard, { columns: chunks }: RowGroup): Promise<void> {
  const wanted = new Set(columns.values());
  try {
    for (const { meta_data: meta } of chunks) {
      if (meta === undefined || !wanted.has(meta.path_in_schema[0] ?? "")) continue;
      const start = Number(meta.dictionary_page_offset || meta.data_page_offset);
      const chunk = { name: meta.path_in_schema.join("."), start, end: start + Number(meta.total_compressed_size) };
      await checkPages(chunk, (from, to) => file.slice(from, to), parquetHeader);
    }
  } catch (error) {
    throw brokenSource(name, "in one of its pages", error);
  }
}

async function readRows(shard: Shard, rowStart: number, rowEnd: number): Promise<Record<string, unknown>[]> {
  const { file, metadata, columns } = shard;
  try {
    return await parquetReadObjects({ file, metadata, compressors, columns: [...columns.values()], rowStart, rowEnd });
  } catch (error) {
    throw brokenSource(shard.name, `between rows ${rowStart + 1} and ${rowEnd} of ${metadata.num_rows}`, error);
  }
}

function readMail(row: Record<string, unknown>, columns: Columns, where: string): ReadResult {
  const value = (column: MailColumn) => row[columns.get(column) ?? ""];
  const text = (column: MailColumn) => textOf(value(column));
  const email = buildEmailFromRow({
    messageId: text("messageId"),
    subject: text("subject"),
    from: text("from"),
    to: text("to"),
    cc: text("cc"),
    bcc: text("bcc"),
    date: dateOf(value("date")),
    body: text("body"),
  });
  if (typeof email === "string") return { bad: { where, reason: email } };
  return { email: fileEmail(email, locateMail(text("path")), text("inbox").trim().toLowerCase() || null) };
}

/** Null becomes empty, a list a comma list. */
function textOf(value: unknown): string {
  if (typeof value === "string") return value;
  return Array.isArray(value) ? value.map(textOf).join(", ") : "";
}

function dateOf(value: unknown): string | null {
  if (value instanceof Date) return isoSeconds(value);
  if (typeof value === "number" || typeof value === "bigint") return dateOfEpoch(Number(value));
  return typeof value === "string" ? parseTableDate(value) : null;
}
