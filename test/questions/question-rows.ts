import { parquetWriteBuffer } from "hyparquet-writer";

/** Authored rows in the columns of the dataset. */
export function questionRows(count: number, firstId = 1) {
  return Array.from({ length: count }, (_, i) => ({
    id: firstId + i,
    question: `What did "Kim", of Gas Desk ${i}, promise?`,
    answer: `${i} units, by Friday`,
    message_ids: [`<${i}.1@example.com>`, `<${i}.2@example.com>`],
    how_realistic: 0.7,
    inbox_address: i % 2 === 0 ? "kim.doe@example.com" : "lee.roe@example.com",
    query_date: `2001-05-${String((i % 28) + 1).padStart(2, "0")}`,
  }));
}

export type Row = ReturnType<typeof questionRows>[number];

type WriteOptions = Parameters<typeof parquetWriteBuffer>[0];

interface ParquetOptions extends Pick<WriteOptions, "codec" | "compressors"> {
  readonly idType?: "INT32" | "INT64";
}

/** Returns a Parquet file with the dataset's column types: int32 id, float32 realism, list of strings. */
export function parquetOf(rows: readonly Row[], { idType = "INT32", ...options }: ParquetOptions = {}): Buffer {
  const text = (name: string) =>
    ({ name, type: "BYTE_ARRAY", converted_type: "UTF8", repetition_type: "OPTIONAL" }) as const;
  const column = <K extends keyof Row>(name: K) => ({ name, data: rows.map((row) => row[name]) as unknown[] });
  const buffer = parquetWriteBuffer({
    columnData: [
      { name: "id", data: rows.map((row) => (idType === "INT64" ? BigInt(row.id) : row.id)) },
      column("question"),
      column("answer"),
      column("message_ids"),
      column("how_realistic"),
      column("inbox_address"),
      column("query_date"),
    ],
    schema: [
      { name: "schema", num_children: 7 },
      { name: "id", type: idType, repetition_type: "OPTIONAL" },
      text("question"),
      text("answer"),
      { name: "message_ids", converted_type: "LIST", repetition_type: "OPTIONAL", num_children: 1 },
      { name: "list", repetition_type: "REPEATED", num_children: 1 },
      text("element"),
      { name: "how_realistic", type: "FLOAT", repetition_type: "OPTIONAL" },
      text("inbox_address"),
      text("query_date"),
    ],
    ...options,
  });
  return Buffer.from(buffer);
}
