import { createReadStream } from "node:fs";
import { stat } from "node:fs/promises";
import { basename } from "node:path";
import { z } from "zod";
import { UserError } from "../../platform/errors.js";
import { parseJsonOrNull } from "../../platform/json.js";
import type { CorpusFormat, CorpusSource, Email } from "../email.js";
import { parseTableDate } from "../mail-date.js";
import { buildEmailFromRow, type EmailFields } from "../mime.js";
import { parseEmail, TOO_LARGE } from "../mime-body.js";
import { batchMails, fileEmail, isSystemError, locateMail, type ReadResult, readHead, unreadable } from "./batches.js";

/**
 * Parsed mails, one per row: `message_id,inbox,subject,sender,recipients,date,body` in any order. `recipients` (a
 * JSON array or a comma list) become `to`; columns cc and bcc are optional.
 */
export async function openParsedCsv(path: string): Promise<CorpusSource> {
  const names = (await readCsvHeader(path)) ?? [];
  const columns = mailColumns(names, path);
  const positions = new Map([...columns].map(([column, name]) => [column, names.indexOf(name)]));
  return openCsv("parsed-csv", path, (csv) => readParsedMails(csv, positions, names.length));
}

async function openCsv(
  format: CorpusFormat,
  path: string,
  read: (csv: CsvFile) => AsyncIterable<ReadResult | readonly ReadResult[]>,
): Promise<CorpusSource> {
  const { size } = await stat(path);
  return {
    format,
    totalBytes: size,
    batches(signal) {
      const csv = new CsvFile(path);
      return batchMails(read(csv), () => csv.bytesRead, signal);
    },
  };
}

async function* readParsedMails(
  csv: CsvFile,
  positions: ReadonlyMap<MailColumn, number>,
  width: number,
): AsyncGenerator<ReadResult[]> {
  for await (const rows of csv.rows()) yield rows.map((row) => readMail(row, csv.name, positions, width));
}

function readMail(
  { row, fields }: CsvRow,
  file: string,
  positions: ReadonlyMap<MailColumn, number>,
  width: number,
): ReadResult {
  const text = (column: MailColumn) => fields[positions.get(column) ?? -1]?.toString("utf8") ?? "";
  const email = fields.includes(null)
    ? TOO_LARGE
    : fields.length === width
      ? buildEmailFromRow(fieldsOf(text))
      : `it has ${fields.length} fields where the header has ${width}`;
  if (typeof email === "string") return { bad: { where: `${file} row ${row}`, reason: email } };
  return { email: fileEmail(email, locateMail(text("path")), text("inbox").trim().toLowerCase() || null) };
}

function fieldsOf(text: (column: MailColumn) => string): EmailFields {
  return {
    messageId: text("messageId"),
    subject: text("subject"),
    from: text("from"),
    to: addressList(text("to")),
    cc: addressList(text("cc")),
    bcc: addressList(text("bcc")),
    date: parseTableDate(text("date")),
    body: text("body"),
  };
}

const jsonList = z.array(z.string());

/** A comma list from a JSON list, a Python list (`['a', 'b']`) or a comma list. */
function addressList(text: string): string {
  const list = text.trim();
  if (!list.startsWith("[")) return list;
  const parsed = jsonList.safeParse(parseJsonOrNull(list));
  if (parsed.success) return parsed.data.map((address) => address.toWellFormed()).join(", ");
  const items = list.replace(/^\[|\]$/g, "").split(",");
  return items.map((item) => item.trim().replace(/^(['"])(.*)\1$/, "$2")).join(", ");
}

/** Kaggle's form (`wcukierski/enron-email-dataset`): `file` is the path under maildir, `message` the raw mail. */
export async function openKaggleCsv(path: string): Promise<CorpusSource> {
  const names = (await readCsvHeader(path)) ?? [];
  if (!isKaggleHeader(names)) {
    throw new UserError(
      "not_mail",
      `${path} is not a CSV with the columns file and message: its columns are ${names.join(", ") || "none"}`,
      "Leave --format out to have the form recognised.",
    );
  }
  return openCsv("kaggle-csv", path, (csv) => readMails(csv, names));
}

export function isKaggleHeader(names: readonly string[]): boolean {
  return names.includes("file") && names.includes("message");
}

async function* readMails(csv: CsvFile, names: readonly string[]): AsyncGenerator<ReadResult | ReadResult[]> {
  const fileColumn = names.indexOf("file");
  const messageColumn = names.indexOf("message");
  const toFound = (email: Email | string, { row, fields }: CsvRow): ReadResult =>
    typeof email === "string"
      ? { bad: { where: `${csv.name} row ${row}`, reason: email } }
      : { email: fileEmail(email, locateMail(fields[fileColumn]?.toString("utf8") ?? ""), null) };
  for await (const rows of csv.rows()) {
    let ready: ReadResult[] = [];
    for (const row of rows) {
      const message = row.fields[messageColumn];
      const email =
        message === undefined || row.fields.length !== names.length
          ? `it has ${row.fields.length} fields where the header has ${names.length}`
          : message === null
            ? TOO_LARGE
            : parseEmail(message);
      if (email instanceof Promise) {
        yield ready;
        ready = [];
        yield toFound(await email, row);
      } else {
        ready.push(toFound(email, row));
      }
    }
    yield ready;
  }
}

/** Accepted column names by field, normalized: lower-case letters and digits. */
const NAMES = {
  messageId: ["messageid"],
  subject: ["subject"],
  from: ["from", "sender", "fromaddress"],
  to: ["to", "recipients"],
  cc: ["cc"],
  bcc: ["bcc"],
  date: ["date", "sentat", "timestamp"],
  body: ["body", "text", "content"],
  path: ["filename", "file", "path"],
  inbox: ["inbox"],
} as const;

export type MailColumn = keyof typeof NAMES;

export type Columns = ReadonlyMap<MailColumn, string>;

const REQUIRED: readonly MailColumn[] = ["messageId", "from", "body"];

/** Maps fields to columns, ignoring case, punctuation and order. */
export function findColumns(names: readonly string[]): Columns {
  const found = new Map<MailColumn, string>();
  for (const [column, known] of Object.entries(NAMES) as [MailColumn, readonly string[]][]) {
    const name = known.map((k) => names.find((n) => normalizeName(n) === k)).find((n) => n !== undefined);
    if (name !== undefined) found.set(column, name);
  }
  return found;
}

export function isMailTable(columns: Columns): boolean {
  return REQUIRED.every((column) => columns.has(column));
}

/** As `findColumns`. @throws UserError where required columns are missing */
export function mailColumns(names: readonly string[], file: string): Columns {
  const columns = findColumns(names);
  if (isMailTable(columns)) return columns;
  throw new UserError(
    "not_mail",
    `${file} does not hold mail: its columns are ${names.join(", ") || "none"}`,
    "A table of mails has at least the columns message_id, from (or sender) and body.",
  );
}

function normalizeName(name: string): string {
  return name.toLowerCase().replace(/[^a-z0-9]/g, "");
}

interface CsvRow {
  /** Counted in records; the header is row 1. */
  readonly row: number;
  /** Null for fields over 64 MB. */
  readonly fields: CsvRecord;
}

/** A CSV file with a header, read as a stream. Throws a `UserError` where the file is cut off. */
class CsvFile {
  readonly name: string;
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

const QUOTE = 0x22;
const COMMA = 0x2c;
const LF = 0x0a;
const CR = 0x0d;

/** Longer fields are dropped: they are no mail, and may be an unclosed quote. */
export const MAX_FIELD_BYTES = 64 * 1024 * 1024;

/** A record's fields, views into the chunk unless quotes were unescaped; null for one over 64 MB. */
export type CsvRecord = (Buffer | null)[];

/** Replaces the dropped start of a field. */
const DROPPED_FIELD_START = Buffer.from('"');

/**
 * A streaming CSV parser (RFC 4180). Records end with LF or CRLF; a quote that neither opens nor closes a field is
 * text; empty lines and a byte order mark are skipped.
 *
 * `end` yields the last records, then throws a `UserError` with the row (the header is row 1) for an unclosed quote.
 */
export class CsvRecords {
  /** Unparsed bytes, from the start of the current field. */
  private rest: Buffer = Buffer.alloc(0);
  private fields: CsvRecord = [];
  /** Where in `rest` the search continues. */
  private searched = 0;
  private hasDoubled = false;
  /** The kind of an oversized field whose bytes are dropped; null for a normal field. */
  private dropping: "quoted" | "plain" | null = null;
  private row = 1;
  private atStart = true;

  constructor(private readonly name: string) {}

  *push(chunk: Buffer): Generator<CsvRecord> {
    this.rest = this.rest.length === 0 ? chunk : Buffer.concat([this.rest, chunk]);
    if (this.atStart && this.rest.length >= 3) this.skipByteOrderMark();
    if (!this.atStart) yield* this.split(false);
  }

  *end(): Generator<CsvRecord> {
    if (this.atStart) this.skipByteOrderMark();
    yield* this.split(true);
  }

  private skipByteOrderMark(): void {
    this.atStart = false;
    if (this.rest[0] === 0xef && this.rest[1] === 0xbb && this.rest[2] === 0xbf) this.rest = this.rest.subarray(3);
  }

  private *split(last: boolean): Generator<CsvRecord> {
    const bytes = this.rest;
    let at = 0;
    while (at < bytes.length || (last && this.fields.length > 0)) {
      const quoted = this.dropping === null ? bytes[at] === QUOTE : this.dropping === "quoted";
      const end = quoted ? this.quotedEnd(bytes, at, last) : this.plainEnd(bytes, at, last);
      if (end === null) break;
      this.fields.push(this.dropping === null ? end.field : null);
      this.dropping = null;
      at = end.next;
      if (!end.endsRecord) continue;
      const record = this.fields;
      this.fields = [];
      if (record.length === 1 && end.field.length === 0 && !end.quoted) continue;
      yield record;
      this.row++;
    }
    this.rest = bytes.subarray(at);
    if (this.dropping !== null || this.rest.length > MAX_FIELD_BYTES) this.drop();
  }

  /** Drops the searched part of an oversized field. */
  private drop(): void {
    this.dropping ??= this.rest[0] === QUOTE ? "quoted" : "plain";
    this.rest = Buffer.concat([DROPPED_FIELD_START, this.rest.subarray(Math.max(this.searched, 1))]);
    this.searched = 1;
  }

  /** The unquoted field at `at`; null where it is incomplete. */
  private plainEnd(bytes: Buffer, at: number, last: boolean): FieldEnd | null {
    let i = at + this.searched;
    while (i < bytes.length && bytes[i] !== COMMA && bytes[i] !== LF) i++;
    if (i === bytes.length && !last) {
      this.searched = i - at;
      return null;
    }
    this.searched = 0;
    const endsRecord = bytes[i] !== COMMA;
    const end = endsRecord && i > at && bytes[i - 1] === CR ? i - 1 : i;
    return { field: bytes.subarray(at, end), next: Math.min(i + 1, bytes.length), endsRecord, quoted: false };
  }

  /** The quoted field at `at`; null where it is incomplete. */
  private quotedEnd(bytes: Buffer, at: number, last: boolean): FieldEnd | null {
    let from = at + Math.max(this.searched, 1);
    for (;;) {
      const quote = bytes.indexOf(QUOTE, from);
      if (quote === -1) {
        if (last) throw this.unclosed();
        this.searched = bytes.length - at;
        return null;
      }
      const after = bytes[quote + 1];
      const undecided = after === undefined || (after === CR && quote + 2 === bytes.length);
      if (undecided && !last) {
        this.searched = quote - at;
        return null;
      }
      if (after === QUOTE) {
        this.hasDoubled = true;
        from = quote + 2;
        continue;
      }
      const next = afterClosing(bytes, quote + 1);
      if (next === null) {
        from = quote + 1;
        continue;
      }
      const field = bytes.subarray(at + 1, quote);
      const undoubled = this.hasDoubled ? undouble(field) : field;
      this.searched = 0;
      this.hasDoubled = false;
      return { field: undoubled, next, endsRecord: after !== COMMA, quoted: true };
    }
  }

  private unclosed(): UserError {
    return new UserError(
      "broken_source",
      `${this.name} is cut off in row ${this.row}: a quoted field never ends`,
      "Fetch the file again, or close the quote.",
    );
  }
}

interface FieldEnd {
  readonly field: Buffer;
  readonly next: number;
  readonly endsRecord: boolean;
  readonly quoted: boolean;
}

/** Where the next field begins if the quote before `at` closes its field; null if it does not. */
function afterClosing(bytes: Buffer, at: number): number | null {
  const byte = bytes[at];
  if (byte === undefined) return at;
  if (byte === COMMA || byte === LF) return at + 1;
  if (byte !== CR) return null;
  if (at + 1 === bytes.length) return at + 1;
  return bytes[at + 1] === LF ? at + 2 : null;
}

function undouble(field: Buffer): Buffer {
  return Buffer.from(field.toString("latin1").replaceAll('""', '"'), "latin1");
}
