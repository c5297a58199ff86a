import { parse } from "csv-parse/sync";
import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { type CsvRecord, CsvRecords, MAX_FIELD_BYTES } from "../../src/mail/readers/csv.js";
import { UserError } from "../../src/platform/errors.js";

/** The records of a text that comes in pieces of the given size, and the error it ended with. */
function split(text: string | Buffer, pieceSize = Number.MAX_SAFE_INTEGER): { records: string[][]; error: unknown } {
  const bytes = Buffer.from(text);
  const splitter = new CsvRecords("emails.csv");
  const records: string[][] = [];
  const keep = (fields: CsvRecord) => records.push(fields.map((field) => field?.toString("utf8") ?? "(too large)"));
  try {
    for (let at = 0; at < bytes.length; at += pieceSize) {
      for (const fields of splitter.push(bytes.subarray(at, at + pieceSize))) keep(fields);
    }
    for (const fields of splitter.end()) keep(fields);
  } catch (error) {
    return { records, error };
  }
  return { records, error: null };
}

const byLibrary = (text: string): string[][] =>
  parse(text, { relax_column_count: true, skip_empty_lines: true, bom: true, record_delimiter: ["\r\n", "\n"] });

describe("CsvRecords refuses", () => {
  it("a quote that is never closed, after the rows before it, naming the row", () => {
    const { records, error } = split('file,message\na,"one"\nb,"two\nthree');
    expect(records).toEqual([
      ["file", "message"],
      ["a", "one"],
    ]);
    expect(error).toBeInstanceOf(UserError);
    expect(error).toMatchObject({ message: "emails.csv is cut off in row 3: a quoted field never ends" });
  });

  it("a quote that never closes behind more than 64 MB, in little memory", () => {
    const piece = Buffer.from('x""y,\n'.repeat(1_000_000));
    const splitter = new CsvRecords("emails.csv");
    expect([...splitter.push(Buffer.from('a,b\n1,2\n"'))]).toHaveLength(2);
    for (let size = 0; size <= 3 * MAX_FIELD_BYTES; size += piece.length) {
      expect([...splitter.push(piece)]).toEqual([]);
    }
    expect(() => [...splitter.end()]).toThrow("emails.csv is cut off in row 3: a quoted field never ends");
  });
});

describe("a field of more than 64 MB", () => {
  it.each([
    ["quoted", '"', '"'],
    ["plain", "", ""],
  ])("that is %s is passed over, and what stands around it is not", (_how, open, close) => {
    const splitter = new CsvRecords("emails.csv");
    const piece = Buffer.alloc(8 * 1024 * 1024, "x");
    const records = [...splitter.push(Buffer.from(`a,b\n1,${open}`))];
    for (let size = 0; size <= MAX_FIELD_BYTES; size += piece.length) records.push(...splitter.push(piece));
    records.push(...splitter.push(Buffer.from(`${close}\n3,"4 ""5"""\n6,7`)), ...splitter.end());
    expect(records.map((record) => record.map((field) => field?.toString() ?? null))).toEqual([
      ["a", "b"],
      ["1", null],
      ["3", '4 "5"'],
      ["6", "7"],
    ]);
  });
});

describe("CsvRecords splits", () => {
  it.each([
    [
      "plain fields",
      "a,b\nc,d\n",
      [
        ["a", "b"],
        ["c", "d"],
      ],
    ],
    [
      "CRLF and a last line without end",
      "a,b\r\nc,d",
      [
        ["a", "b"],
        ["c", "d"],
      ],
    ],
    ["line ends, commas and doubled quotes in quotes", '"a\r\n,b","say ""hi"""\n', [["a\r\n,b", 'say "hi"']]],
    [
      "empty fields, quoted and not",
      ',""\n"",\n',
      [
        ["", ""],
        ["", ""],
      ],
    ],
    ["a field that is empty at the end of the file", "a,", [["a", ""]]],
    ["empty lines, which say nothing", "a\n\n\r\nb\n", [["a"], ["b"]]],
    ["a quoted empty field alone in its line", 'a\n""\n', [["a"], [""]]],
    ["a byte order mark", '\ufeff"a",b\n', [["a", "b"]]],
    ["nothing", "", []],
    ["only a byte order mark", "\ufeff", []],
  ])("%s", (_what, text, records) => {
    for (const pieceSize of [1, 2, 3, 1000]) expect(split(text, pieceSize)).toEqual({ records, error: null });
  });

  it.each([
    ["a quote within a plain field", 'a"b,c\n', [['a"b', "c"]]],
    ["a quote within a quoted field that does not end it", '"a "b" c",d\n', [['a "b" c', "d"]]],
    ["a lone CR", "a\rb,c\n", [["a\rb", "c"]]],
  ])("as text: %s", (_what, text, records) => {
    for (const pieceSize of [1, 2, 1000]) expect(split(text, pieceSize)).toEqual({ records, error: null });
  });
});

describe("CsvRecords agrees with csv-parse", () => {
  const field = fc.string({ unit: fc.constantFrom("a", "é", ",", '"', "\n", "\r\n", " ", "\ud83d\ude00") });
  const written = fc.tuple(field, fc.boolean()).map(([text, quoted]) => {
    return quoted || /[",\r\n]/.test(text) ? `"${text.replaceAll('"', '""')}"` : text;
  });

  it("on well-formed files, field by field, however they are cut into pieces", () => {
    fc.assert(
      fc.property(
        fc.array(fc.array(written, { minLength: 1, maxLength: 4 }), { maxLength: 6 }),
        fc.constantFrom("\n", "\r\n"),
        fc.boolean(),
        fc.integer({ min: 1, max: 40 }),
        (rows, lineEnd, lastEnd, pieceSize) => {
          const text = rows.map((row) => row.join(",")).join(lineEnd) + (lastEnd ? lineEnd : "");
          expect(split(text, pieceSize)).toEqual({ records: byLibrary(text), error: null });
        },
      ),
      { numRuns: 500 },
    );
  });

  it("on any text that csv-parse accepts", () => {
    let accepted = 0;
    fc.assert(
      fc.property(
        fc.string({ unit: fc.constantFrom("a", ",", '"', "\n", "\r\n"), maxLength: 12 }),
        fc.integer({ min: 1, max: 13 }),
        (text, pieceSize) => {
          let records: string[][];
          try {
            records = byLibrary(text);
          } catch {
            return;
          }
          accepted++;
          expect(split(text, pieceSize)).toEqual({ records, error: null });
        },
      ),
      { numRuns: 1000 },
    );
    expect(accepted).toBeGreaterThan(100);
  });
});
