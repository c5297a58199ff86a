import type { Readable } from "node:stream";

const MOST_CHARS = 4096;

/** The beginning of a program's output, as far as it has come. */
export function keepStart(stream: Readable): () => string {
  let text = "";
  stream.setEncoding("utf8").on("data", (part: string) => {
    if (text.length < MOST_CHARS) text = (text + part).slice(0, MOST_CHARS);
  });
  stream.on("error", () => undefined);
  return () => text;
}
