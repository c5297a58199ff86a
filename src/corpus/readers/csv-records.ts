import { UserError } from "../../domain/errors.js";

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

  /** `name` is the file as the user knows it. */
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
