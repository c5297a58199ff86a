// Reads CSV like pandas, for suite functions that compare data frames.
import { isUtf8 } from "node:buffer";
import { type Frame, type FrameCell, inferColumn, joinChunks, type TypedValues } from "./pandas-frame.js";

/** Number of cells per chunk. pandas infers types per chunk. */
const CHUNK_CELLS = 2 ** 20;

/**
 * Reads a CSV like `pandas.read_csv(path)` in pandas 2.3 with its default settings. If the first data row has more
 * fields than the header, the extra fields on the left are row labels. Throws where pandas raises: an empty file, bytes
 * that are not UTF-8, an open quote, a row with too many fields.
 */
export function readCsv(bytes: Buffer): Frame {
  if (!isUtf8(bytes)) throw new Error("the file is not UTF-8");
  const [header, ...records] = tokenizeCsv(bytes.toString("utf8"));
  if (header === undefined) throw new Error("no columns to parse from file");
  const names = nameColumns(header);
  const labels = Math.max((records[0]?.length ?? 0) - names.length, 0);
  const width = names.length + labels;
  const columns = Array.from({ length: width }, (_, i) => readColumn(records, i, width));
  return {
    columns: columns.slice(labels).map((column, i) => ({ name: names[i] as FrameCell, ...column })),
    rows: records.length,
    index: labels === 0 ? null : columns.slice(0, labels).map(({ values }) => values),
  };
}

function readColumn(records: readonly string[][], column: number, width: number): TypedValues {
  const texts = records.map((fields) => fields[column] ?? "");
  if (texts.length === 0) return { type: "object", values: [] };
  const size = chunkRows(width);
  const chunks: TypedValues[] = [];
  for (let at = 0; at < texts.length; at += size) chunks.push(inferColumn(texts.slice(at, at + size)));
  return joinChunks(chunks);
}

/** Returns the number of rows per chunk: the largest power of two below about a million cells. */
function chunkRows(width: number): number {
  const limit = Math.floor(CHUNK_CELLS / width);
  let rows = 1;
  while (rows * 2 < limit) rows *= 2;
  return rows;
}

/**
 * Splits a CSV into records like the C parser of pandas (comma, double quotes, default settings). Quotes have a meaning
 * only at the start of a field. Empty lines and lines of blanks are skipped. CR, LF and CRLF end a line. Short lines
 * are padded with empty fields. A line with more fields than the previous one is an error, except for the first data
 * line.
 */
function tokenizeCsv(text: string): string[][] {
  const records: string[][] = [];
  let at = text.startsWith("\ufeff") ? 1 : 0;
  while (at < text.length) {
    const blank = skipBlankLine(text, at);
    if (blank !== null) {
      at = blank;
      continue;
    }
    const fields: string[] = [];
    at = readRecord(text, at, fields);
    addRecord(records, fields);
  }
  return records;
}

function addRecord(records: string[][], fields: string[]): void {
  const width = records.at(-1)?.length ?? fields.length;
  if (records.length > 1 && fields.length > width) {
    throw new Error(`expected ${width} fields in record ${records.length + 1}, saw ${fields.length}`);
  }
  while (fields.length < width) fields.push("");
  records.push(fields);
}

/** Returns the start of the next line if this one contains only blanks and tabs, otherwise null. */
function skipBlankLine(text: string, start: number): number | null {
  let at = start;
  while (text[at] === " " || text[at] === "\t") at++;
  if (at >= text.length) return at;
  return text[at] === "\n" || text[at] === "\r" ? skipLineEnd(text, at) : null;
}

function skipLineEnd(text: string, at: number): number {
  return text[at] === "\r" && text[at + 1] === "\n" ? at + 2 : at + 1;
}

/** Reads to the end of the record and returns the start of the next one. */
function readRecord(text: string, start: number, fields: string[]): number {
  let at = start;
  for (;;) {
    let field = "";
    if (text[at] === '"') {
      const quoted = readQuoted(text, at);
      field = quoted.text;
      at = quoted.end;
    }
    const end = findFieldEnd(text, at);
    fields.push(field + text.slice(at, end));
    if (end >= text.length) return end;
    if (text[end] !== ",") return skipLineEnd(text, end);
    at = end + 1;
  }
}

/** Reads a quoted field. After the closing quote it continues as a plain one: `"a"b` is ab. */
function readQuoted(text: string, start: number): { text: string; end: number } {
  let at = start + 1;
  let read = "";
  for (;;) {
    const quote = text.indexOf('"', at);
    if (quote < 0) throw new Error("the file ends inside a quoted field");
    read += text.slice(at, quote);
    if (text[quote + 1] !== '"') return { text: read, end: quote + 1 };
    read += '"';
    at = quote + 2;
  }
}

function findFieldEnd(text: string, start: number): number {
  for (let at = start; at < text.length; at++) {
    const unit = text.charCodeAt(at);
    if (unit === 0x2c || unit === 0x0a || unit === 0x0d) return at;
  }
  return text.length;
}

/**
 * Returns the column labels for a header. An empty label is named after its position, and a repeated one gets `.1`,
 * `.2`. Named columns take precedence over unnamed ones.
 */
export function nameColumns(header: readonly FrameCell[]): FrameCell[] {
  const unnamed = header.flatMap((name, i) => (name === "" ? [i] : []));
  const names = header.map((name, i) => (name === "" ? `Unnamed: ${i}` : name));
  const counts = new Map<FrameCell, number>();
  const order = [...names.keys()].filter((i) => !unnamed.includes(i)).concat(unnamed);
  for (const i of order) {
    const original = names[i] as FrameCell;
    let name = original;
    let count = counts.get(name) ?? 0;
    while (count > 0) {
      counts.set(original, count + 1);
      name = `${String(original)}.${count}`;
      count = names.includes(name) ? count + 1 : (counts.get(name) ?? 0);
    }
    names[i] = name;
    counts.set(name, count + 1);
  }
  return names;
}
