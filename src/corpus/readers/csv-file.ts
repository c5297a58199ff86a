import { createReadStream } from "node:fs";
import { stat } from "node:fs/promises";
import { basename } from "node:path";
import { readHead } from "../magic-bytes.js";
import { isSystemError, unreadable } from "../source-errors.js";
import { type CsvRecord, CsvRecords } from "./csv-records.js";

export interface CsvRow {
  /** Counted in records; the header is row 1. */
  readonly row: number;
  /** Null for fields over 64 MB. */
  readonly fields: CsvRecord;
}

/** A CSV file with a header, read as a stream. Throws a `UserError` where the file is cut off. */
export class CsvFile {
  readonly name: string;
  /** Bytes read so far. */
  bytesRead = 0;

  constructor(private readonly path: string) {
    this.name = basename(path);
  }

  /** The rows below the header, one list per chunk of the file. Complete rows are yielded before an error. */
  async *rows(): AsyncGenerator<CsvRow[]> {
    const records = new CsvRecords(this.name);
    let row = 0;
    function* gather(found: Iterable<CsvRecord>): Generator<CsvRow[]> {
      const rows: CsvRow[] = [];
      try {
        for (const fields of found) if (++row > 1) rows.push({ row, fields });
      } catch (error) {
        yield rows;
        throw error;
      }
      yield rows;
    }
    for await (const chunk of this.chunks()) yield* gather(records.push(chunk));
    yield* gather(records.end());
  }

  private async *chunks(): AsyncGenerator<Buffer> {
    try {
      for await (const chunk of createReadStream(this.path, { highWaterMark: 1024 * 1024 })) {
        this.bytesRead += chunk.length;
        yield chunk;
      }
    } catch (error) {
      throw isSystemError(error) ? unreadable(this.path, error) : error;
    }
  }
}

const HEADER_BYTES = 64 * 1024;

/** The column names; null where the file does not begin with a row of text. */
export async function readCsvHeader(path: string): Promise<string[] | null> {
  const head = await readHead(path, HEADER_BYTES);
  if (head.length === 0) return null;
  const records = new CsvRecords(basename(path));
  for (const record of records.push(head)) return namesOf(record);
  // A file with only a header may lack the line end.
  if ((await stat(path)).size > HEADER_BYTES) return null;
  for (const record of records.end()) return namesOf(record);
  return null;
}

function namesOf(record: CsvRecord): string[] | null {
  if (record.some((field) => field?.includes(0) ?? true)) return null;
  return record.map((field) => field?.toString("utf8").trim() ?? "");
}
