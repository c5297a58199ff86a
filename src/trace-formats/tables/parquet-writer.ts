// Writes Parquet files, row group by row group.
import type { SchemaElement } from "hyparquet";
import { ByteWriter, ParquetWriter } from "hyparquet-writer";
import { type CellValue, type Column, type ColumnType, PARQUET_TABLE_KEY } from "../table-types.js";

/** Maximum rows and characters per row group. Only one row group is in memory at a time. */
const MAX_ROWS = 50_000;
const MAX_CHARACTERS = 16_000_000;

/** Writes row groups with Snappy compression, then the footer. */
export function* parquetBytes<Row>(
  table: string,
  columns: readonly Column<Row>[],
  rows: Iterable<Row>,
): Generator<Uint8Array> {
  const buffer = new ByteWriter();
  const writer = new ParquetWriter({
    writer: buffer,
    schema: [{ name: "root", num_children: columns.length }, ...columns.flatMap(schemaOf)],
    kvMetadata: [{ key: PARQUET_TABLE_KEY, value: table }],
    createdBy: "art-e",
  });
  for (const group of rowGroups(columns, rows)) {
    const size = group[0]?.length ?? 0;
    void writer.write({
      columnData: columns.map(({ name }, i) => ({ name, data: group[i] ?? [] })),
      rowGroupSize: size,
    });
    yield takeBytes(buffer);
  }
  void writer.finish();
  yield takeBytes(buffer);
}

/** Yields row groups, each as one list of values per column. */
function* rowGroups<Row>(columns: readonly Column<Row>[], rows: Iterable<Row>): Generator<readonly unknown[][]> {
  const empty = () => columns.map((): unknown[] => []);
  let group = empty();
  let size = 0;
  let characters = 0;
  for (const row of rows) {
    for (const [i, { read, type }] of columns.entries()) {
      const value = read(row);
      group[i]?.push(toParquet(value, type));
      if (typeof value === "string") characters += value.length;
    }
    size++;
    if (size < MAX_ROWS && characters < MAX_CHARACTERS) continue;
    yield group;
    group = empty();
    size = 0;
    characters = 0;
  }
  if (size > 0) yield group;
}

function toParquet(value: CellValue, type: ColumnType): unknown {
  if (value === null) return null;
  if (type === "integer") return BigInt(value as number);
  if (type !== "timestamp" && type !== "date") return value;
  const time = new Date(value as string);
  return Number.isNaN(time.getTime()) ? null : time;
}

/** The schema elements of one column, depth first. */
function schemaOf({ name, type }: { readonly name: string; readonly type: ColumnType }): SchemaElement[] {
  const optional = { name, repetition_type: "OPTIONAL" } as const;
  if (type !== "texts") return [{ ...optional, ...PHYSICAL[type] }];
  return [
    { ...optional, converted_type: "LIST", num_children: 1 },
    { name: "list", repetition_type: "REPEATED", num_children: 1 },
    { ...optional, ...PHYSICAL.text, name: "element" },
  ];
}

const PHYSICAL: Readonly<Record<Exclude<ColumnType, "texts">, Partial<SchemaElement>>> = {
  text: { type: "BYTE_ARRAY", converted_type: "UTF8" },
  integer: { type: "INT64" },
  number: { type: "DOUBLE" },
  boolean: { type: "BOOLEAN" },
  timestamp: {
    type: "INT64",
    converted_type: "TIMESTAMP_MILLIS",
    logical_type: { type: "TIMESTAMP", isAdjustedToUTC: true, unit: "MILLIS" },
  },
  date: { type: "INT32", converted_type: "DATE" },
};

/** Returns the bytes written since the last call, without resetting the writer's offset. */
function takeBytes(buffer: ByteWriter): Uint8Array {
  const bytes = buffer.getBytes().slice();
  buffer.index = 0;
  return bytes;
}
