import { crc32 } from "node:zlib";
import { Deflate } from "fflate";
import type { JsonObject } from "../../domain/json.js";
import { toWellFormedJson } from "../well-formed-json.js";
import type { Deflated } from "./zip-writer.js";

/** A list as JSON, compressed as it comes, for what may be written only when all else is. */
export class DeflatedList implements Deflated {
  size = 0;
  crc = 0;
  readonly chunks: Uint8Array[] = [];
  private readonly deflate = new Deflate((chunk) => this.chunks.push(chunk));
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
