import { createReadStream } from "node:fs";
import { gunzip } from "./gunzip.js";

const BLOCK = 512;

/** The bytes of a tar archive, decompressed where need be, and what became of reading them. */
export class TarBytes {
  /** Bytes of the file read so far, as it lies on the disk. */
  bytesRead = 0;
  /** What stopped the reading; null while nothing has. */
  failure: unknown = null;
  private tail: Buffer = Buffer.alloc(0);

  constructor(
    private readonly file: string,
    private readonly gzipped: boolean,
  ) {}

  /** Ends, instead of throwing, at a fault, so that the entries before it can still be read; see `failure`. */
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

  /** Throws where the bytes broke off. An archive ends in blocks of zeros; one that is cut between two entries lacks them. */
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
