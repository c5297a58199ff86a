import { createReadStream } from "node:fs";

export interface FileLine {
  readonly text: string;
  /** From 1. */
  readonly number: number;
}

/** A line that is longer than was allowed. */
export class LineTooLong extends Error {
  override readonly name = "LineTooLong";

  constructor(readonly number: number) {
    super(`line ${number} is too long`);
  }
}

/** A file's text, some of it at a time. */
export function readChunks(path: string): AsyncIterable<string> {
  return createReadStream(path, { encoding: "utf8" });
}

/** The lines of a file that are not blank, one at a time. Throws `LineTooLong`, and what reading the file throws. */
export async function* readLines(path: string, maxLength: number): AsyncGenerator<FileLine> {
  let pieces: string[] = [];
  let length = 0;
  let number = 1;
  for await (const chunk of readChunks(path)) {
    const parts = chunk.split("\n");
    for (const [i, part] of parts.entries()) {
      if (i > 0) {
        const text = pieces.join("");
        if (text.trim() !== "") yield { text, number };
        [pieces, length] = [[], 0];
        number++;
      }
      pieces.push(part);
      length += part.length;
      if (length > maxLength) throw new LineTooLong(number);
    }
  }
  const text = pieces.join("");
  if (text.trim() !== "") yield { text, number };
}
