/**
 * The records of a CSV as the C parser of pandas splits them (comma, double quotes, default settings): quotes count
 * only at the start of a field, blank lines and lines of blanks vanish, CR, LF and CRLF end a line. Fields of short
 * lines are filled up with empty ones; a line with more fields than the one before is an error, save the first of data.
 */
export function tokenizeCsv(text: string): string[][] {
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

/** Where the next line starts if this one is empty or has only blanks and tabs; null if not. */
function skipBlankLine(text: string, start: number): number | null {
  let at = start;
  while (text[at] === " " || text[at] === "\t") at++;
  if (at >= text.length) return at;
  return text[at] === "\n" || text[at] === "\r" ? skipLineEnd(text, at) : null;
}

function skipLineEnd(text: string, at: number): number {
  return text[at] === "\r" && text[at + 1] === "\n" ? at + 2 : at + 1;
}

/** Reads to the end of the record, and returns where the next one starts. */
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

/** After the closing quote a field goes on as a plain one: `"a"b` is ab. */
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
