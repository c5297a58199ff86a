import type { ImportSource } from "./imported-trace.js";
import { parseLine } from "./parse-line.js";
import { parseTrace } from "./parse-trace.js";
import type { FileLine } from "./read-lines.js";

/** Our own JSON lines, which hold all that a trace has. */
export function readJsonl(file: string, lines: AsyncIterable<FileLine>): ImportSource {
  return {
    async *traces() {
      for await (const { text, number } of lines) {
        const where = `${file}, line ${number}`;
        yield { where, trace: parseTrace(parseLine(text, where), where) };
      }
    },
    tools: () => [],
    run: () => ({}),
    lacking: () => ({}),
  };
}
