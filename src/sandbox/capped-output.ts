import type { Readable } from "node:stream";
import { PYTHON_LIMITS } from "./limits.js";

/** The beginning of what a program prints. What comes after is read and dropped, until it is too much of it. */
export class KeptOutput {
  readonly #kept: Buffer[] = [];
  #keptBytes = 0;
  #bytes = 0;

  constructor(stream: Readable, onTooMuch: () => void) {
    stream.on("data", (chunk: Buffer) => {
      this.#bytes += chunk.length;
      const room = PYTHON_LIMITS.outputBytes - this.#keptBytes;
      if (room > 0) {
        const part = chunk.subarray(0, room);
        this.#kept.push(part);
        this.#keptBytes += part.length;
      }
      if (this.#bytes > PYTHON_LIMITS.printedBytes) onTooMuch();
    });
    stream.on("error", () => undefined);
  }

  get truncated(): boolean {
    return this.#bytes > this.#keptBytes;
  }

  /** As UTF-8; bytes that are none show as U+FFFD. */
  text(): string {
    return Buffer.concat(this.#kept).toString("utf8");
  }
}
