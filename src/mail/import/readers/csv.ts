// Reads mail from CSV files, by record views into the chunk, because most of the time goes into copies.
import type { Email, MailForm } from "../../email.js";
import { buildEmailFromRow, readMailFields } from "../../mime/email-fields.js";
import { parseEmail, TOO_LARGE } from "../../mime/parse-email.js";
import type { ReadResult } from "./batch-mails.js";
import { fileEmail, locateRow } from "./filed-email.js";
import { inLargeChunks, type MailFile } from "./mail-file.js";
import { BrokenSource } from "./source-errors.js";
import { addressesOf, cellText, TableReport, textOrEmpty } from "./table-cells.js";

/** A CSV file with one email per row, either raw (Kaggle's form) or in columns. */
export interface CsvTable {
  readonly form: "kaggle-csv" | "parsed-csv";
  readonly names: readonly string[];
  /** Byte between two fields. */
  readonly delimiter: number;
  readonly encoding: "utf-8" | "utf-16le" | "utf-16be";
  /** `cr` in Excel's format "CSV (Macintosh)". */
  readonly lineEnd: "lf" | "cr";
}

export type Columns = ReadonlyMap<MailColumn, string>;

interface CsvRow {
  /** Record number. The header is row 1. */
  readonly row: number;
  /** Fields of the row. A field over 64 MB is null. */
  readonly fields: CsvRecord;
}

/** A record's fields, which are views into the chunk unless quotes were unescaped. A field over 64 MB is null. */
export type CsvRecord = (Buffer | null)[];

interface FieldEnd {
  readonly field: Buffer;
  readonly next: number;
  readonly endsRecord: boolean;
  readonly quoted: boolean;
}

/** Accepted column names per field, best first, in the form of `normalizeName`. */
const NAMES = {
  messageId: ["messageid"],
  subject: ["subject"],
  from: ["from", "sender"],
  to: ["to", "recipients", "recipient", "receivers", "receiver"],
  cc: ["cc"],
  bcc: ["bcc"],
  date: ["date", "sentat", "timestamp", "datetime", "datesent", "sentdate", "senton", "sent"],
  body: ["body", "text", "content", "plaintext", "message"],
  path: ["filename", "file", "path"],
  inbox: ["inbox"],
} as const;

/** Every accepted name. */
const ALL_NAMES: ReadonlySet<string> = new Set(Object.values(NAMES).flat());

export type MailColumn = keyof typeof NAMES;

export function readCsv(
  file: MailFile,
  content: AsyncIterable<Buffer>,
  table: CsvTable,
): AsyncGenerator<ReadResult | ReadResult[]> {
  const text = table.encoding === "utf-8" ? content : transcode(content, table.encoding);
  const rows = readRows(file, table.lineEnd === "lf" ? text : endLinesWithLf(text), table);
  return table.form === "kaggle-csv" ? readMails(rows, file, table) : readParsedMails(rows, file, table);
}

async function* transcode(content: AsyncIterable<Buffer>, encoding: string): AsyncGenerator<Buffer> {
  const decoder = new TextDecoder(encoding);
  for await (const chunk of content) yield Buffer.from(decoder.decode(chunk, { stream: true }));
  yield Buffer.from(decoder.decode());
}

async function* endLinesWithLf(content: AsyncIterable<Buffer>): AsyncGenerator<Buffer> {
  for await (const chunk of content) yield withLineFeeds(chunk);
}

function withLineFeeds(text: Buffer): Buffer {
  return Buffer.from(text.toString("latin1").replaceAll("\r", "\n"), "latin1");
}

/** Excel writes `;` if the decimal separator is a comma, and writes tabs in its format "Unicode text". */
const DELIMITERS = [",", ";", "\t", "|"].map((text) => text.charCodeAt(0));

/**
 * Returns the table at the start of a file, or null if it is not a mail table.
 * @param form null to detect the form
 */
export function findCsvTable(head: Buffer, isWhole: boolean, form: CsvTable["form"] | null): CsvTable | null {
  const { text, encoding, lineEnd } = textOf(head);
  for (const delimiter of DELIMITERS) {
    const [header, first] = firstRecords(text, isWhole, delimiter);
    const names = header === undefined ? null : namesOf(header);
    if (names === null) return null;
    const table = { names, delimiter, encoding, lineEnd };
    if (form !== "parsed-csv" && hasRawMail(names, first)) return { ...table, form: "kaggle-csv" };
    if (form !== "kaggle-csv" && isMailTable(findColumns(names))) return { ...table, form: "parsed-csv" };
  }
  return null;
}

/** Returns the column names of a file that is not a mail table, for messages. */
export function csvNames(head: Buffer): readonly string[] {
  const { text } = textOf(head);
  const split = DELIMITERS.map((delimiter) => namesOf(firstRecords(text, true, delimiter)[0] ?? []) ?? []);
  return split.reduce((most, names) => (names.length > most.length ? names : most));
}

/** Returns the start of a file as UTF-8 whose lines end with LF. */
function textOf(head: Buffer): Pick<CsvTable, "encoding" | "lineEnd"> & { readonly text: Buffer } {
  const encoding = encodingOf(head);
  const text = encoding === "utf-8" ? head : Buffer.from(new TextDecoder(encoding).decode(head));
  const end = firstLineEnd(text);
  const isCr = text[end] === CR && end + 1 < text.length && text[end + 1] !== LF;
  return isCr ? { text: withLineFeeds(text), encoding, lineEnd: "cr" } : { text, encoding, lineEnd: "lf" };
}

/** Returns the position of the first line end outside quotes. Excel ends the lines within a cell with LF. */
function firstLineEnd(text: Buffer): number {
  let isQuoted = false;
  return text.findIndex((byte) => {
    if (byte === QUOTE) isQuoted = !isQuoted;
    return !isQuoted && (byte === LF || byte === CR);
  });
}

function encodingOf(head: Buffer): CsvTable["encoding"] {
  const mark = head.toString("hex", 0, 2);
  return mark === "fffe" ? "utf-16le" : mark === "feff" ? "utf-16be" : "utf-8";
}

/** Returns the header and the first row. */
function firstRecords(head: Buffer, isWhole: boolean, delimiter: number): CsvRecord[] {
  const records = new CsvRecords("", delimiter);
  const pair: CsvRecord[] = [];
  const take = (more: Iterable<CsvRecord>) => {
    for (const record of more) if (pair.push(record) === 2) return;
  };
  try {
    take(records.push(head));
    // If a file only contains a header, the line end might be missing. If a row extends beyond the head, only its start
    // is checked.
    if (isWhole ? pair.length < 2 : pair.length === 1) take(records.end());
  } catch (error) {
    if (!(error instanceof BrokenSource)) throw error;
    const start = records.unfinished();
    if (pair.length === 1 && start !== null) pair.push(start);
  }
  return pair;
}

/** Whether the table has the columns `file` and `message`, or a message column whose first row is an email. */
function hasRawMail(names: readonly string[], first: CsvRecord | undefined): boolean {
  const message = findName(names, MESSAGE_NAMES);
  if (message === -1) return false;
  if (findName(names, NAMES.path) !== -1 && normalizeName(names[message] ?? "") === "message") return true;
  const raw = first?.[message];
  return raw !== undefined && raw !== null && typeof readMailFields(raw) !== "string";
}

const MESSAGE_NAMES = ["message", "rawmessage", "rawemail", "raw", "email", "eml", "source", "mime"];

/** Returns the column of raw emails in a table without other mail columns. Its rows show whether they are emails. */
export function findMessageColumn(names: readonly string[]): string | null {
  return names[findName(names, MESSAGE_NAMES)] ?? null;
}

function findName(names: readonly string[], candidates: readonly string[]): number {
  const plain = names.map(normalizeName);
  return candidates.map((candidate) => plain.indexOf(candidate)).find((i) => i !== -1) ?? -1;
}

async function* readParsedMails(
  batches: AsyncIterable<CsvRow[]>,
  file: MailFile,
  { names }: CsvTable,
): AsyncGenerator<ReadResult[]> {
  const columns = findColumns(names);
  // A joined table can contain a column twice, once empty.
  const positions = new Map(
    [...columns].map(([column, name]) => [column, names.flatMap((other, i) => (other === name ? [i] : []))]),
  );
  const required = REQUIRED.find((set) => set.every((column) => columns.has(column))) ?? [];
  const least = Math.max(...required.map((column) => positions.get(column)?.[0] ?? 0)) + 1;
  const report = new TableReport(file.where, names, columns);
  const table = { file, positions, least, width: names.length, report };
  for await (const rows of batches) yield rows.map((row) => readMail(row, table));
  yield [{ table: report.result() }];
}

interface OpenTable {
  readonly file: MailFile;
  readonly positions: ReadonlyMap<MailColumn, readonly number[]>;
  /** Number of fields that include all required ones. Spreadsheets omit empty cells at the end of a row. */
  readonly least: number;
  readonly width: number;
  readonly report: TableReport;
}

function readMail({ row, fields }: CsvRow, { file, positions, least, width, report }: OpenTable): ReadResult {
  const cell = (column: MailColumn) => {
    for (const at of positions.get(column) ?? []) {
      const field = fields[at];
      if (field !== undefined && field !== null && field.length > 0) return report.decode(field);
    }
    return "";
  };
  const place = { where: `${file.where} row ${row}`, table: file.place.full };
  if (fields.includes(null)) return { bad: { where: place.where, reason: TOO_LARGE } };
  if (fields.length >= least && fields.length <= width) return readRow(cell, report, place, "parsed-csv");
  const reason = `it has ${fields.length} fields, but the header has ${width}`;
  return { bad: { where: place.where, reason } };
}

/**
 * Reads the email in a row of a table.
 * @param cell returns the decoded cell of a column
 * @param place the row as shown in messages, and the table with its parent folders
 */
export function readRow(
  cell: (column: MailColumn) => unknown,
  report: TableReport,
  place: { readonly where: string; readonly table: string },
  form: MailForm,
): ReadResult {
  const text = (column: MailColumn) => cellText(cell(column));
  const email = buildEmailFromRow({
    messageId: textOrEmpty(text("messageId")),
    subject: text("subject"),
    from: addressesOf(cell("from")),
    to: addressesOf(cell("to")),
    cc: addressesOf(cell("cc")),
    bcc: addressesOf(cell("bcc")),
    date: report.dateOf(cell("date")),
    body: text("body"),
  });
  if (typeof email === "string") return { bad: { where: place.where, reason: email } };
  const inbox = textOrEmpty(text("inbox")).toLowerCase() || null;
  return { email: fileEmail(email, locateRow(textOrEmpty(text("path")), place.table), form, inbox) };
}

async function* readMails(
  batches: AsyncIterable<CsvRow[]>,
  file: MailFile,
  { names }: CsvTable,
): AsyncGenerator<ReadResult | ReadResult[]> {
  const fileColumn = findName(names, NAMES.path);
  const messageColumn = findName(names, MESSAGE_NAMES);
  const toFound = (email: Email | string, { row, fields }: CsvRow): ReadResult =>
    typeof email === "string"
      ? { bad: { where: `${file.where} row ${row}`, reason: email } }
      : {
          email: fileEmail(email, locateRow(fields[fileColumn]?.toString("utf8") ?? "", file.place.full), "kaggle-csv"),
        };
  for await (const rows of batches) {
    let ready: ReadResult[] = [];
    for (const row of rows) {
      const message = row.fields[messageColumn];
      const email =
        message === undefined || row.fields.length !== names.length
          ? `it has ${row.fields.length} fields, but the header has ${names.length}`
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

/**
 * Alternative sets of required columns. A table without Message-IDs needs more columns, because chat logs also contain
 * senders and texts.
 */
const REQUIRED_WITHOUT_IDS: readonly MailColumn[] = ["from", "to", "subject", "body"];
const REQUIRED: readonly (readonly MailColumn[])[] = [["messageId", "from", "body"], REQUIRED_WITHOUT_IDS];

/** Maps fields to columns, ignoring case, punctuation and order. */
export function findColumns(names: readonly string[]): Columns {
  const columnNames = new Map<MailColumn, string>();
  for (const [column, candidates] of Object.entries(NAMES) as [MailColumn, readonly string[]][]) {
    const name = names[findName(names, candidates)];
    if (name !== undefined) columnNames.set(column, name);
  }
  return columnNames;
}

export function isMailTable(columns: Columns): boolean {
  return REQUIRED.some((set) => set.every((column) => columns.has(column)));
}

/** Returns the missing columns of a mail table without Message-IDs. */
export function missingColumns(names: readonly string[]): readonly MailColumn[] {
  const found = findColumns(names);
  return REQUIRED_WITHOUT_IDS.filter((column) => !found.has(column));
}

/**
 * Returns a name in lower-case letters and digits. If that is not an accepted name, removes what the column belongs to
 * (`email_from`, `message_body`) and what it contains (`sender_address`, `recipient_emails`, `subject line`).
 */
function normalizeName(name: string): string {
  const plain = name.toLowerCase().replace(/[^a-z0-9]/g, "");
  if (ALL_NAMES.has(plain)) return plain;
  const own = plain.replace(/^(?:e?mail|message|msg)(?=.)/, "");
  if (own === "id" && own !== plain) return "messageid";
  const short = [plain, own]
    .flatMap((one) => [one, one.replace(CONTENT, ""), one.replace(CONTENT, "").replace(CONTENT, "")])
    .find((one) => ALL_NAMES.has(one));
  return short ?? plain;
}

const CONTENT = /(?<=.)(?:address(?:es)?|e?mails?|line|list|text|body)$/;

/** Yields the rows below the header, one list per chunk of the file. Complete rows are yielded before an error. */
async function* readRows(
  file: MailFile,
  content: AsyncIterable<Buffer>,
  { delimiter }: CsvTable,
): AsyncGenerator<CsvRow[]> {
  const records = new CsvRecords(file.where, delimiter);
  let row = 0;
  function* gather(records: Iterable<CsvRecord>): Generator<CsvRow[]> {
    const rows: CsvRow[] = [];
    try {
      for (const fields of records) if (++row > 1) rows.push({ row, fields });
    } catch (error) {
      yield rows;
      throw error;
    }
    yield rows;
  }
  for await (const chunk of inLargeChunks(content)) yield* gather(records.push(chunk));
  yield* gather(records.end());
}

function namesOf(record: CsvRecord): string[] | null {
  if (record.some((field) => field?.includes(0) ?? true)) return null;
  return record.map((field) => field?.toString("utf8").trim() ?? "");
}

const QUOTE = 0x22;
const COMMA = 0x2c;
const LF = 0x0a;
const CR = 0x0d;

/** Longer fields are dropped. They are not mail, and might be caused by an unclosed quote. */
export const MAX_FIELD_BYTES = 64 * 1024 * 1024;

/** A byte order mark, and the line that tells Excel the delimiter. */
const SKIPPED_START = /^(?:\xef\xbb\xbf)?(?:sep=[^\r\n]\r?\n)?/i;
const MAX_START_BYTES = 10;
/** First bytes of both. */
const CAN_BE_SKIPPED: ReadonlySet<number> = new Set([0xef, 0x73, 0x53]);

/** Placeholder for the dropped start of a field. */
const DROPPED_FIELD_START = Buffer.from('"');

/**
 * A streaming CSV parser (RFC 4180). Records end with LF or CRLF. A quote that neither opens nor closes a field is
 * text. Empty lines, a byte order mark and Excel's first line `sep=;` are skipped. `delimiter` is the byte between two
 * fields. `end` yields the last records. If a quote is unclosed, it then throws a `UserError` with the row (the header
 * is row 1).
 */
export class CsvRecords {
  /** Unparsed bytes, from the start of the current field. */
  private rest: Buffer = Buffer.alloc(0);
  private fields: CsvRecord = [];
  /** Position in `rest` at which the search continues. */
  private searched = 0;
  private hasDoubled = false;
  /** Kind of an oversized field whose bytes are being dropped, or null for a normal field. */
  private dropping: "quoted" | "plain" | null = null;
  private row = 1;
  private atStart = true;

  constructor(
    private readonly name: string,
    private readonly delimiter = COMMA,
  ) {}

  *push(chunk: Buffer): Generator<CsvRecord> {
    this.rest = this.rest.length === 0 ? chunk : Buffer.concat([this.rest, chunk]);
    if (this.atStart && (this.rest.length >= MAX_START_BYTES || !CAN_BE_SKIPPED.has(this.rest[0] ?? 0xef)))
      this.skipStart();
    if (!this.atStart) yield* this.split(false);
  }

  *end(): Generator<CsvRecord> {
    if (this.atStart) this.skipStart();
    yield* this.split(true);
  }

  private skipStart(): void {
    this.atStart = false;
    const start = this.rest.toString("latin1", 0, MAX_START_BYTES);
    this.rest = this.rest.subarray(SKIPPED_START.exec(start)?.[0].length ?? 0);
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

  /** Returns the unquoted field at `at`, or null if it is incomplete. */
  private plainEnd(bytes: Buffer, at: number, last: boolean): FieldEnd | null {
    const { delimiter } = this;
    let i = at + this.searched;
    while (i < bytes.length && bytes[i] !== delimiter && bytes[i] !== LF) i++;
    if (i === bytes.length && !last) {
      this.searched = i - at;
      return null;
    }
    this.searched = 0;
    const endsRecord = bytes[i] !== delimiter;
    const end = endsRecord && i > at && bytes[i - 1] === CR ? i - 1 : i;
    return { field: bytes.subarray(at, end), next: Math.min(i + 1, bytes.length), endsRecord, quoted: false };
  }

  /** Returns the quoted field at `at`, or null if it is incomplete. */
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
      const next = afterClosing(bytes, quote + 1, this.delimiter);
      if (next === null) {
        from = quote + 1;
        continue;
      }
      const field = bytes.subarray(at + 1, quote);
      const undoubled = this.hasDoubled ? undouble(field) : field;
      this.searched = 0;
      this.hasDoubled = false;
      return { field: undoubled, next, endsRecord: after !== this.delimiter, quoted: true };
    }
  }

  private unclosed(): BrokenSource {
    const problem = `is truncated in row ${this.row}: a quoted field is not closed`;
    return new BrokenSource(this.name, problem, "Download the file again, or close the quote.", undefined);
  }

  /** Returns the incomplete record whose last field is an unclosed quoted one, or null if all records are complete. */
  unfinished(): CsvRecord | null {
    return this.rest[0] === QUOTE ? [...this.fields, undouble(this.rest.subarray(1))] : null;
  }
}

/** Returns the start of the next field if the quote before `at` closes its field, otherwise null. */
function afterClosing(bytes: Buffer, at: number, delimiter: number): number | null {
  const byte = bytes[at];
  if (byte === undefined) return at;
  if (byte === delimiter || byte === LF) return at + 1;
  if (byte !== CR) return null;
  if (at + 1 === bytes.length) return at + 1;
  return bytes[at + 1] === LF ? at + 2 : null;
}

function undouble(field: Buffer): Buffer {
  return Buffer.from(field.toString("latin1").replaceAll('""', '"'), "latin1");
}
