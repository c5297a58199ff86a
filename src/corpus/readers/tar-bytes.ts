import { createReadStream } from "node:fs";
import { gunzip } from "./gunzip.js";

const BLOCK = 512;

/** The decompressed bytes of a tar archive, and how reading them ended. */
export class TarBytes {
  /** Bytes read so far from the file on disk. */
  bytesRead = 0;
  /** The error that ended the reading, if any. */
  failure: unknown = null;
  private tail: Buffer = Buffer.alloc(0);

  constructor(
    private readonly file: string,
    private readonly gzipped: boolean,
  ) {}

  /** Ends at an error instead of throwing, so that the entries before it are read; see `failure`. */
  async *chunks(): AsyncGenerator<Buffer> {
    try {
      for await (const chunk of this.gzipped ? gunzip(this.raw()) : this.raw()) {
        this.tail = Buffer.concat([this.tail, chunk.subarray(-BLOCK)]).subarray(-BLOCK);
        yield chunk;
      }
    } catch (error) {
      this.failure = error;
    }
  }

  /**
   * Throws where the archive is truncated. The zero blocks at its end are missing if it is cut between two entries.
   */
  checkEnd(): void {
    if (this.failure !== null) throw this.failure;
    if (this.tail.length < BLOCK || this.tail.some((byte) => byte !== 0)) throw new Error("the end mark is missing");
  }

  private async *raw(): AsyncGenerator<Buffer> {
    for await (const chunk of createReadStream(this.file, { highWaterMark: 128 * 1024 })) {
      this.bytesRead += chunk.length;
      yield chunk;
    }
  }
}
