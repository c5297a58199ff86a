import { UserError } from "../domain/errors.js";
import type { ImportSource } from "./imported-trace.js";
import { readOtlp } from "./otlp/read-otlp.js";
import { notUsable, parseLine } from "./parse-line.js";
import { readJsonl } from "./read-jsonl.js";
import { type FileLine, LineTooLong, readLines } from "./read-lines.js";

/** Formats that traces are read from. */
const READERS = { jsonl: readJsonl, otlp: readOtlp } as const;

export type ImportFormat = keyof typeof READERS;

/** Characters of a line: some hundred times a usual trace. */
const MAX_LINE = 128_000_000;

/** Tells a file's format by its first line. Throws a UserError where it cannot be read. */
export async function openImport(path: string): Promise<ImportSource & { readonly format: ImportFormat }> {
  for await (const { text, number } of linesOf(path)) {
    const where = `${path}, line ${number}`;
    const value = parseLine(text, where);
    const has = (key: string) => typeof value === "object" && value !== null && key in value;
    const format = has("resourceSpans") ? "otlp" : has("traceId") ? "jsonl" : null;
    if (format === null) throw notUsable(where, "is neither a trace nor OTLP's TracesData");
    return { format, ...READERS[format](path, linesOf(path)) };
  }
  throw notUsable(path, "there is nothing in it");
}

async function* linesOf(path: string): AsyncGenerator<FileLine> {
  try {
    yield* readLines(path, MAX_LINE);
  } catch (error) {
    if (error instanceof LineTooLong) throw notUsable(path, error.message);
    if (!(error instanceof Error && "syscall" in error)) throw error;
    throw new UserError("import_unreadable", `${path} cannot be read: ${error.message}`, "Check the path.", 2, {
      cause: error,
    });
  }
}
