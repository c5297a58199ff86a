import type { Readable } from "node:stream";
import { PYTHON_LIMITS } from "./sandbox-limits.js";

/** The first bytes of a program's output. The rest is discarded, up to a limit that stops the program. */
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

  /** Decoded as UTF-8; invalid bytes become U+FFFD. */
  text(): string {
    return Buffer.concat(this.#kept).toString("utf8");
  }
}
