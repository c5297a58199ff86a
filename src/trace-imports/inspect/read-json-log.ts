import type { ImportSource } from "../imported-trace.js";
import { BrokenDocument, readMembers } from "../json-members.js";
import { notUsable, parseLine } from "../parse-line.js";
import { type LogPart, readLog } from "./read-log.js";

/** An Inspect log as one JSON document, whose header stands before its samples. */
export function readJsonLog(file: string, chunks: AsyncIterable<string>): ImportSource {
  return readLog(partsOf(file, chunks));
}

/** Characters of a sample, or of another member. */
const MAX_LENGTH = 128_000_000;

async function* partsOf(file: string, chunks: AsyncIterable<string>): AsyncGenerator<LogPart> {
  const header: Record<string, unknown> = {};
  let samples = 0;
  try {
    for await (const { key, text } of readMembers(chunks, { itemsOf: "samples", maxLength: MAX_LENGTH })) {
      if (key !== "samples") {
        if (samples === 0) header[key] = parseLine(text, `${file}, ${key}`);
        continue;
      }
      if (!("eval" in header)) throw notUsable(file, "has its samples before its header");
      if (samples++ === 0) yield { header, where: file };
      yield { sample: parseLine(text, `${file}, sample ${samples}`), where: `${file}, sample ${samples}` };
    }
    if (samples === 0) yield { header, where: file };
  } catch (error) {
    throw error instanceof BrokenDocument ? notUsable(file, error.message) : error;
  }
}
