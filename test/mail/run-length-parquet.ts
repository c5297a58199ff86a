import { ByteWriter } from "hyparquet-writer/src/bytewriter.js";
import { writeMetadata } from "hyparquet-writer/src/metadata.js";
import { serializeTCompactProtocol } from "hyparquet-writer/src/thrift.js";

interface Claims {
  readonly columns: readonly string[];
  /** Number of rows according to the footer. */
  readonly rows: number;
  /** Number of values per page according to its header. */
  readonly values: number;
}

/** A Parquet file of a few hundred bytes: each column has one page with a single run of nulls. */
export function runLengthParquet({ columns, rows, values }: Claims): Buffer {
  const writer = new ByteWriter();
  const magic = () => {
    for (const byte of Buffer.from("PAR1")) writer.appendUint8(byte);
  };
  magic();
  const chunks = columns.map((name) => {
    const start = writer.offset;
    const levels = new ByteWriter();
    levels.appendVarInt(values * 2);
    levels.appendUint8(0);
    const page = Buffer.alloc(4 + levels.index);
    page.writeUInt32LE(levels.index);
    page.set(levels.getBytes(), 4);
    serializeTCompactProtocol(writer, {
      field_1: 0,
      field_2: page.length,
      field_3: page.length,
      field_5: { field_1: values, field_2: 0, field_3: 3, field_4: 3 },
    });
    writer.appendBytes(page);
    return { name, start, size: BigInt(writer.offset - start) };
  });
  writeMetadata(writer, {
    version: 1,
    schema: [
      { name: "schema", num_children: columns.length },
      ...columns.map((name) => ({
        name,
        type: "BYTE_ARRAY" as const,
        converted_type: "UTF8" as const,
        repetition_type: "OPTIONAL" as const,
      })),
    ],
    num_rows: BigInt(rows),
    row_groups: [
      {
        num_rows: BigInt(rows),
        total_byte_size: chunks.reduce((sum, { size }) => sum + size, 0n),
        columns: chunks.map(({ name, start, size }) => ({
          file_offset: BigInt(start),
          meta_data: {
            type: "BYTE_ARRAY" as const,
            encodings: ["PLAIN" as const],
            path_in_schema: [name],
            codec: "UNCOMPRESSED" as const,
            num_values: BigInt(rows),
            total_uncompressed_size: size,
            total_compressed_size: size,
            data_page_offset: BigInt(start),
          },
        })),
      },
    ],
    metadata_length: 0,
  });
  magic();
  return Buffer.from(writer.getBuffer());
}
