import { crc32, deflateRawSync } from "node:zlib";
import { Deflate, Zip, type ZipInputFile } from "fflate";
import { UserError } from "../../domain/errors.js";
import type { JsonObject } from "../../domain/json.js";
import { toWellFormedJson } from "../well-formed-json.js";

const DEFLATE = 8;

type Bytes = Uint8Array<ArrayBuffer>;

/** What a zip can say, with a day at each end for the zone. */
const EARLIEST = Date.UTC(1980, 0, 2);
const LATEST = Date.UTC(2099, 11, 30);

/** More need zip64, which neither this writer nor all readers have. */
const MAX_ENTRIES = 65_000;

/** A zip file in the making: bytes of it are taken by `take` after each entry. */
export class ZipWriter {
  private chunks: Uint8Array[] = [];
  private entries = 0;
  private readonly zip = new Zip((error, chunk) => {
    if (error) throw error;
    this.chunks.push(chunk);
  });

  private readonly modified: Date;

  /** All entries get this time (ISO 8601), so that equal content gives equal bytes. */
  constructor(modified: string) {
    const time = Date.parse(modified);
    this.modified = new Date(time >= EARLIEST && time <= LATEST ? time : EARLIEST);
  }

  /** The bytes since the last time. */
  take(): Uint8Array[] {
    const taken = this.chunks;
    this.chunks = [];
    return taken;
  }

  addText(name: string, text: string): void {
    const bytes = Buffer.from(text);
    this.add(name, { size: bytes.length, crc: crc32(bytes), chunks: [deflateRawSync(bytes)] });
  }

  add(name: string, { size, crc, chunks }: Deflated): void {
    if (++this.entries > MAX_ENTRIES) {
      throw new UserError(
        "too_many_traces",
        `An .eval file holds at most ${MAX_ENTRIES} samples.`,
        "Choose fewer with --limit or --ids, or give --format inspect-json.",
      );
    }
    const file: ZipInputFile = { filename: name, size, crc, compression: DEFLATE, mtime: this.modified };
    this.zip.add(file);
    for (const chunk of chunks) file.ondata?.(null, chunk, false);
    file.ondata?.(null, new Uint8Array(), true);
  }

  end(): void {
    this.zip.end();
  }
}

interface Deflated {
  readonly size: number;
  readonly crc: number;
  readonly chunks: readonly Bytes[];
}

/** A list as JSON, compressed as it comes, for what may be written only when all else is. */
export class DeflatedList implements Deflated {
  size = 0;
  crc = 0;
  readonly chunks: Bytes[] = [];
  private readonly deflate = new Deflate((chunk) => this.chunks.push(chunk as Bytes));
  private separator = "[";

  push(item: JsonObject): void {
    this.write(`${this.separator}${toWellFormedJson(item)}`, false);
    this.separator = ",";
  }

  end(): void {
    this.write(this.separator === "[" ? "[]" : "]", true);
  }

  private write(text: string, isLast: boolean): void {
    const bytes = Buffer.from(text);
    this.size += bytes.length;
    this.crc = crc32(bytes, this.crc);
    this.deflate.push(bytes, isLast);
  }
}
