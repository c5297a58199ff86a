import { execFileSync } from "node:child_process";
import { closeSync, mkdtempSync, openSync, rmSync, writeFileSync, writeSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { crc32, deflateRawSync } from "node:zlib";
import { parse } from "csv-parse/sync";
import { parquetMetadataAsync, parquetReadObjects } from "hyparquet";
import { afterAll, describe, expect, it } from "vitest";
import {
  directoryEnd,
  directoryEntry,
  dosTime,
  localHeader,
  ZipWriter,
} from "../../src/trace-formats/inspect/zip-writer.js";
import type { CellValue, Column, Table, TableSource } from "../../src/trace-formats/table-types.js";
import { parquetBytes } from "../../src/trace-formats/tables/parquet-writer.js";
import { csvRows, jsonLines, tasksTable, toolCallsTable, turnsTable } from "../../src/trace-formats/tables.js";
import { finished } from "../traces/saved-runs.js";
import { openDuckdb, rowsOf } from "./duckdb.js";
import { ANSWERED } from "./traces.js";

describe("table formats", () => {
  interface Row {
    readonly text: string | null;
    readonly integer: number | null;
    readonly number: number | null;
    readonly boolean: boolean | null;
    readonly timestamp: string | null;
    readonly date: string | null;
    readonly texts: readonly string[] | null;
  }

  const COLUMNS: readonly Column<Row>[] = [
    { name: "text", type: "text", read: ({ text }) => text },
    { name: "integer", type: "integer", read: ({ integer }) => integer },
    { name: "number", type: "number", read: ({ number }) => number },
    { name: "boolean", type: "boolean", read: ({ boolean }) => boolean },
    { name: "timestamp", type: "timestamp", read: ({ timestamp }) => timestamp },
    { name: "date", type: "date", read: ({ date }) => date },
    { name: "texts", type: "texts", read: ({ texts }) => texts },
  ];

  const FULL: Row = {
    text: 'Zoë said "no, never",\r\nשלום 日本 😀',
    integer: 9_007_199_254_740_991,
    number: -1e-7,
    boolean: true,
    timestamp: "2026-01-02T03:04:05.678Z",
    date: "2001-05-14",
    texts: ["<1@x>", "<2@x>"],
  };

  const EMPTY: Row = {
    text: null,
    integer: null,
    number: null,
    boolean: null,
    timestamp: null,
    date: null,
    texts: null,
  };

  const ZERO: Row = { ...FULL, text: "", integer: 0, number: 0, boolean: false, texts: [] };
  const folder = mkdtempSync(join(tmpdir(), "art-e-test-"));

  afterAll(() => rmSync(folder, { recursive: true }));

  function parquetFile(name: string, rows: Iterable<Row>): { path: string; bytes: Buffer } {
    const path = join(folder, name);
    const bytes = Buffer.concat([...parquetBytes("tasks", COLUMNS, rows)]);
    writeFileSync(path, bytes);
    return { path, bytes };
  }

  function toArrayBuffer(bytes: Buffer): ArrayBuffer {
    return new Uint8Array(bytes).buffer;
  }

  describe("a Parquet table", () => {
    it("opens in hyparquet with every value and type", async () => {
      const { bytes } = parquetFile("all.parquet", [FULL, EMPTY, ZERO]);
      const read = await parquetReadObjects({ file: toArrayBuffer(bytes) });
      expect(read).toEqual([
        {
          ...FULL,
          integer: 9_007_199_254_740_991n,
          timestamp: new Date("2026-01-02T03:04:05.678Z"),
          date: new Date("2001-05-14"),
        },
        // hyparquet returns undefined for a null list. DuckDB, below, returns null.
        { ...EMPTY, texts: undefined },
        expect.objectContaining({ text: "", integer: 0n, number: 0, boolean: false, texts: [] }),
      ]);
    });

    it("opens in DuckDB with usable types", async () => {
      const { path } = parquetFile("types.parquet", [FULL, EMPTY]);
      const duckdb = await openDuckdb();
      const types = await rowsOf(duckdb, `SELECT column_name, column_type FROM (DESCRIBE '${path}')`);
      expect(types.map(({ column_name, column_type }) => [column_name, column_type])).toEqual([
        ["text", "VARCHAR"],
        ["integer", "BIGINT"],
        ["number", "DOUBLE"],
        ["boolean", "BOOLEAN"],
        ["timestamp", "TIMESTAMP WITH TIME ZONE"],
        ["date", "DATE"],
        ["texts", "VARCHAR[]"],
      ]);
      const [row, empty] = await rowsOf(
        duckdb,
        `SELECT text, integer, epoch_ms(timestamp) AS ms, date, len(texts) AS texts FROM '${path}'`,
      );
      expect(row).toEqual({
        text: FULL.text,
        integer: "9007199254740991",
        ms: String(Date.parse("2026-01-02T03:04:05.678Z")),
        date: "2001-05-14",
        texts: "2",
      });
      expect(empty).toEqual({ text: null, integer: null, ms: null, date: null, texts: null });
    });

    it("contains its columns even if it has no rows", async () => {
      const { path, bytes } = parquetFile("empty.parquet", []);
      expect(await parquetReadObjects({ file: toArrayBuffer(bytes) })).toEqual([]);
      expect(await rowsOf(await openDuckdb(), `SELECT text, texts FROM '${path}'`)).toEqual([]);
    });

    it("consists of row groups, each written before the next one is read", async () => {
      const long = "x".repeat(9_000_000);
      let readRows = 0;
      function* rows(): Generator<Row> {
        for (const integer of [1, 2, 3, 4, 5]) {
          readRows = integer;
          yield { ...FULL, text: long, integer };
        }
      }
      const readAtPiece: number[] = [];
      const pieces: Uint8Array[] = [];
      for (const piece of parquetBytes("tasks", COLUMNS, rows())) {
        readAtPiece.push(readRows);
        pieces.push(piece);
      }
      expect(readAtPiece).toEqual([2, 4, 5, 5]);
      const file = toArrayBuffer(Buffer.concat(pieces));
      const { row_groups } = await parquetMetadataAsync(file);
      expect(row_groups.map(({ num_rows }) => num_rows)).toEqual([2n, 2n, 1n]);
      const read = await parquetReadObjects({ file, columns: ["integer"] });
      expect(read.map(({ integer }) => integer)).toEqual([1n, 2n, 3n, 4n, 5n]);
    });

    it("replaces surrogate halves, and omits an invalid time", async () => {
      const { bytes } = parquetFile("broken.parquet", [{ ...FULL, text: "cut \ud83d", timestamp: "yesterday" }]);
      const [row] = await parquetReadObjects({ file: toArrayBuffer(bytes) });
      expect(row).toMatchObject({ text: "cut \ufffd", timestamp: null });
    });
  });

  describe("a JSON lines table", () => {
    it("contains one object per row, with every column", () => {
      const lines = [...jsonLines(COLUMNS, [FULL, EMPTY])].map((line) => JSON.parse(line));
      expect(lines).toEqual([FULL, EMPTY]);
    });

    it("contains no surrogate halves, which readers reject", () => {
      const [line = ""] = jsonLines(COLUMNS, [{ ...FULL, text: "cut \ud83d" }]);
      expect(JSON.parse(line).text).toBe("cut \ufffd");
    });
  });

  describe("a CSV table", () => {
    const rowsOfCsv = (rows: readonly Row[]): Record<string, string>[] =>
      parse([...csvRows(COLUMNS, rows)].join(""), { columns: true, record_delimiter: "\r\n" });

    it("contains one line per row, several values in one cell, and empty cells for missing values", () => {
      expect(rowsOfCsv([FULL, EMPTY])).toEqual([
        {
          ...FULL,
          integer: "9007199254740991",
          number: "-1e-7",
          boolean: "TRUE",
          texts: "<1@x> <2@x>",
        },
        { text: "", integer: "", number: "", boolean: "", timestamp: "", date: "", texts: "" },
      ]);
    });

    it.each(["=1+1", '=HYPERLINK("http://x")', "@SUM(A1)", "+49", "-cmd|' /C calc'!A0"])(
      "prevents a spreadsheet from computing %j",
      (text) =>
        expect(rowsOfCsv([{ ...FULL, text, texts: [text] }])[0]).toMatchObject({ text: `'${text}`, texts: `'${text}` }),
    );
  });
});

const result = { ...finished("run_1", 7, 0.5).result, scores: { semanticScore: 0.5 } };

const RUN: TableSource = {
  head: { runId: "run_1", agentId: "email-search", model: "acme/best" },
  results: () => [result],
  traces: () => [ANSWERED],
};

function objects<Row>({ columns, rows }: Table<Row>, run = RUN): Record<string, CellValue>[] {
  return [...rows(run)].map((row) => Object.fromEntries(columns.map(({ name, read }) => [name, read(row)])));
}

describe("the task table", () => {
  it("contains the fields of the results file and one column per score", () => {
    const [row] = objects(tasksTable(["semanticScore", "eval:cites"]));
    expect(row).toMatchObject({
      runId: "run_1",
      taskId: "7",
      traceId: result.traceId,
      question: result.question,
      failed: false,
      sources: result.sources,
      inputTokens: result.usage.inputTokens,
      suite: null,
      semanticScore: 0.5,
      "eval:cites": null,
    });
  });

  it("separates a score from a column with the same name", () => {
    const results = () => [{ ...result, scores: { Turns: 0.25 } }];
    const [row] = objects(tasksTable(["Turns"]), { ...RUN, results });
    expect(row).toMatchObject({ turns: result.turns, "score:Turns": 0.25 });
  });
});

describe("the turn table", () => {
  it("contains one row per model call, with the number of its tool calls", () => {
    const rows = objects(turnsTable);
    expect(rows.map(({ turn, toolCalls, taskId }) => ({ turn, toolCalls, taskId }))).toEqual(
      ANSWERED.turns.map((_, turn) => ({
        turn,
        toolCalls: ANSWERED.toolCalls.filter((call) => call.turn === turn).length,
        taskId: "7",
      })),
    );
    expect(rows[0]).toMatchObject({ inputTokens: 100, cacheWriteTokens: 0, cached: false, waitedMs: null });
  });

  it("omits tokens if the server did not count them", () => {
    const turns = ANSWERED.turns.map((turn) => ({ ...turn, usage: null }));
    const [row] = objects(turnsTable, { ...RUN, traces: () => [{ ...ANSWERED, turns }] });
    expect(row).toMatchObject({ inputTokens: null, cacheWriteTokens: null, outputTokens: null });
  });
});

describe("the table of tool calls", () => {
  it("shows arguments and results as JSON, and no result if a call failed", () => {
    const rows = objects(toolCallsTable);
    expect(rows).toHaveLength(ANSWERED.toolCalls.length);
    expect(rows[0]).toMatchObject({
      call: 0,
      tool: "email_search",
      arguments: '{"query":"call"}',
      result: '{"total":1}',
    });
    expect(rows[1]).toMatchObject({ call: 1, result: null, error: ANSWERED.toolCalls[1]?.error });
  });

  it("stays empty if it comes from a results file", () => {
    expect(objects(toolCallsTable, { ...RUN, traces: null })).toEqual([]);
  });
});

describe("a zip file", () => {
  const folder = mkdtempSync(join(tmpdir(), "art-e-"));

  afterAll(() => rmSync(folder, { recursive: true }));

  const LIST = `
import json, sys, zipfile
with zipfile.ZipFile(sys.argv[1]) as file:
    entries = file.infolist()
    some = [entries[0], entries[len(entries) // 2], entries[-1]]
    print(json.dumps([len(entries), [[e.filename, file.read(e).decode(), e.date_time] for e in some]]))
`;

  /** Number of entries that Python's zipfile finds, with the first, middle and last one, whose CRC it checks. */
  function readByPython(path: string): unknown {
    return JSON.parse(execFileSync("/usr/bin/python3", ["-c", LIST, path], { encoding: "utf8" }));
  }

  const TIME = [2026, 1, 2, 3, 4, 4];
  const TEXT = '{"text":"é"}';

  function zipOf(count: number): string {
    const zip = new ZipWriter("2026-01-02T03:04:05.000Z");
    const text = Buffer.from(TEXT);
    const deflated = { size: text.length, crc: crc32(text), chunks: [deflateRawSync(text)] };
    for (let i = 1; i < count; i++) zip.add(`samples/é${i}.json`, deflated);
    zip.addText("header.json", TEXT);
    zip.end();
    const path = join(folder, `${count}.zip`);
    writeFileSync(path, Buffer.concat(zip.take()));
    return path;
  }

  it.each([2, 65_534, 65_535, 65_600])("opens in Python if it has %d entries", (count) => {
    const [found, [first, , last]] = readByPython(zipOf(count)) as [number, unknown[]];
    expect([found, first, last]).toEqual([count, ["samples/é1.json", TEXT, TIME], ["header.json", TEXT, TIME]]);
  });

  it("opens in Python if an entry starts after 4 GB", () => {
    const path = join(folder, "large.zip");
    const text = Buffer.from("far away");
    const data = deflateRawSync(text);
    const entry = { name: Buffer.from("far.txt"), crc: crc32(text), size: text.length, deflatedSize: data.length };
    const placed = { ...entry, offset: 5_000_000_000, time: dosTime(new Date("2026-01-02T03:04:05Z")) };
    const [head, line] = [localHeader(placed), directoryEntry(placed)];
    const start = placed.offset + head.length + data.length;
    const file = openSync(path, "w");
    // The file has a hole before the entry, which does not use disk space.
    writeSync(
      file,
      Buffer.concat([head, data, line, directoryEnd(1, start, line.length)]),
      0,
      undefined,
      placed.offset,
    );
    closeSync(file);
    expect(readByPython(path)).toEqual([1, Array(3).fill(["far.txt", "far away", TIME])]);
  });
});
