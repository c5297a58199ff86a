import { isUtf8 } from "node:buffer";
import { nameColumns } from "./column-names.js";
import type { Frame, FrameCell } from "./frame.js";
import { inferColumn, joinChunks, type TypedValues } from "./infer-column.js";
import { tokenizeCsv } from "./tokenize.js";

/** Cells that pandas infers the types of at once. */
const CHUNK_CELLS = 2 ** 20;

/**
 * `pandas.read_csv(path)` of pandas 2.3 with its default settings. Where the first row of data has more fields than the
 * header, the surplus ones on the left are the labels of the rows. Throws where pandas does: an empty file, bytes that
 * are not UTF-8, an open quote, a row with too many fields.
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

/** The largest power of two rows below some million cells. */
function chunkRows(width: number): number {
  const limit = Math.floor(CHUNK_CELLS / width);
  let rows = 1;
  while (rows * 2 < limit) rows *= 2;
  return rows;
}
