import { parquetMetadata } from "hyparquet";
import { parquetHeader } from "hyparquet/src/column.js";
import { parquetWriteBuffer } from "hyparquet-writer";
import { describe, expect, it } from "vitest";
import yargs, { type Argv } from "yargs";

/** Private parts of libraries, which a minor release may change (docs/dependencies.md). */

describe("the internals of a library", () => {
  it("let the parser replace the method by which yargs caches the help of a command", async () => {
    let renderings = 0;
    const parser = yargs(["go"]).command("go", "Goes", {}, () => undefined);
    const { getInternalMethods } = parser as Argv & {
      getInternalMethods(): { getUsageInstance(): { cacheHelpMessage(): void } };
    };
    getInternalMethods.call(parser).getUsageInstance().cacheHelpMessage = () => {
      renderings++;
    };
    await parser.parseAsync();
    expect(renderings).toBe(1);
  });

  it("let hyparquet read the header of a page", () => {
    const columnData = [{ name: "id", data: [1, 2, 3], type: "INT32" as const }];
    const file = parquetWriteBuffer({ columnData, codec: "UNCOMPRESSED" });
    const meta = parquetMetadata(file).row_groups[0]?.columns[0]?.meta_data;
    const start = Number(meta?.dictionary_page_offset ?? meta?.data_page_offset);
    const reader = { view: new DataView(file, start), offset: 0 };
    const header = parquetHeader(reader);
    expect(header).toMatchObject({ type: expect.stringMatching(/_PAGE/), compressed_page_size: expect.any(Number) });
    expect(reader.offset).toBeGreaterThan(0);
    expect(reader.offset + header.compressed_page_size).toBeLessThanOrEqual(file.byteLength);
  });
});
